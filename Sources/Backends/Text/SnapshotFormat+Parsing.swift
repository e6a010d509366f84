extension SnapshotFormat {
    static func parse(_ text: String) throws(SnapshotFormatError) -> [Piece] {
        guard !text.isEmpty else { throw .empty }
        var pieces: [Piece] = []
        var literal = ""
        var rest = text[...]
        var column: Int { text.distance(from: text.startIndex, to: rest.startIndex) + 1 }
        while let character = rest.first {
            if rest.hasPrefix("{{") || rest.hasPrefix("}}") {
                literal.append(character)
                rest.removeFirst(2)
            } else if character == "{" {
                guard let end = rest.firstIndex(of: "}") else { throw .unclosedBrace(column: column) }
                let name = String(rest[rest.index(after: rest.startIndex)..<end])
                guard let placeholder = Placeholder(rawValue: name) else {
                    throw .unknownPlaceholder(name, nearest: Placeholder.nearest(to: name), column: column)
                }
                if !literal.isEmpty { pieces.append(.literal(literal)) }
                literal = ""
                pieces.append(.placeholder(placeholder))
                rest = rest[rest.index(after: end)...]
            } else if character == "}" {
                throw .strayBrace(column: column)
            } else {
                literal.append(character)
                rest.removeFirst()
            }
        }
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        return pieces
    }
}

/// Why a text is not a format.
package enum SnapshotFormatError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is empty: it would show nothing.
    case empty
    /// There is no placeholder with that name; `nearest` is a similar one, if any. Columns count from 1.
    case unknownPlaceholder(String, nearest: SnapshotFormat.Placeholder?, column: Int)
    /// A `{` without a `}` after it.
    case unclosedBrace(column: Int)
    /// A `}` without a `{` before it.
    case strayBrace(column: Int)

    /// The problem, its position, and what to write instead.
    package var description: String {
        switch self {
        case .empty:
            "the format is empty; write a text, such as '{label} - {app}'"
        case .unknownPlaceholder(let name, let nearest?, let column):
            "unknown placeholder '{\(name)}' at character \(column), did you mean '{\(nearest.rawValue)}'?"
        case .unknownPlaceholder(let name, nil, let column):
            "unknown placeholder '{\(name)}' at character \(column); known are \(Self.knownPlaceholders)"
        case .unclosedBrace(let column):
            "'{' at character \(column) has no '}'; write '{{' for a literal brace"
        case .strayBrace(let column):
            "'}' at character \(column) has no '{'; write '}}' for a literal brace"
        }
    }

    private static var knownPlaceholders: String {
        SnapshotFormat.Placeholder.allCases.map { "{\($0.rawValue)}" }.joined(separator: " ")
    }
}

extension SnapshotFormat.Placeholder {
    /// The placeholder that was probably meant by `name`, if any.
    fileprivate static func nearest(to name: String) -> Self? {
        let name = name.lowercased().filter { !$0.isWhitespace }
        // Names are short: a long text is not a typo.
        guard name.count <= 20 else { return nil }
        let nearest = allCases.map { (placeholder: $0, edits: NearestName.distance(name, $0.rawValue)) }
            .min { $0.edits < $1.edits }
        guard let nearest, nearest.edits <= max(1, nearest.placeholder.rawValue.count / 2) else { return nil }
        return nearest.placeholder
    }
}
