/// Reads texts with placeholders: `{label} - {app}`, and with options, `{bar:40.cyan}`.
package struct FormatReader<Name: RawRepresentable & CaseIterable & Sendable> where Name.RawValue == String {
    package enum Piece {
        case literal(String)
        /// The options are the text after a colon; `nil` without one. Their column counts from 1.
        case placeholder(Name, options: String?, column: Int)
    }

    /// Whether placeholders may have options.
    package var allowsOptions = false

    package init(allowsOptions: Bool = false) { self.allowsOptions = allowsOptions }

    package func pieces(of text: String) throws(SnapshotFormatError) -> [Piece] {
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
                let content = rest[rest.index(after: rest.startIndex)..<end]
                let colon = allowsOptions ? content.firstIndex(of: ":") : nil
                let name = String(content[..<(colon ?? end)])
                guard let placeholder = Name(rawValue: name) else {
                    let known = Name.allCases.map(\.rawValue)
                    throw .unknownPlaceholder(name, nearest: nearest(to: name), known: known, column: column)
                }
                if !literal.isEmpty { pieces.append(.literal(literal)) }
                literal = ""
                let options = colon.map { String(content[content.index(after: $0)...]) }
                pieces.append(.placeholder(placeholder, options: options, column: column + name.count + 2))
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

    /// The placeholder that was probably meant by `name`, if any.
    private func nearest(to name: String) -> String? {
        let names = Name.allCases.map(\.rawValue)
        let name = name.filter { !$0.isWhitespace }
        return names.contains(name) ? name : NearestName.find(for: name, among: names)
    }
}

extension SnapshotFormat {
    package static func parse(_ text: String) throws(SnapshotFormatError) -> [Piece] {
        try FormatReader<Placeholder>().pieces(of: text).map { piece in
            switch piece {
            case .literal(let text): .literal(text)
            case .placeholder(let placeholder, _, _): .placeholder(placeholder)
            }
        }
    }
}

/// Why a text is not a format.
package enum SnapshotFormatError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is empty: it would show nothing.
    case empty
    /// There is no placeholder with that name; `nearest` is a similar one, if any. Columns count from 1.
    case unknownPlaceholder(String, nearest: String?, known: [String], column: Int)
    /// A `{` without a `}` after it.
    case unclosedBrace(column: Int)
    /// A `}` without a `{` before it.
    case strayBrace(column: Int)
    /// The options of a placeholder are not a width and styles.
    case invalidOptions(String, column: Int)
    /// There is no style with that name.
    case unknownStyle(String, known: [String], column: Int)

    /// The problem, its position, and what to write instead.
    package var description: String {
        switch self {
        case .empty:
            "the format is empty; write a text, such as '{label} - {app}'"
        case .unknownPlaceholder(let name, let nearest?, _, let column):
            "unknown placeholder '{\(name)}' at character \(column), did you mean '{\(nearest)}'? "
                + "For a brace, write '{{'"
        case .unknownPlaceholder(let name, nil, let known, let column):
            "unknown placeholder '{\(name)}' at character \(column); known are "
                + known.map { "{\($0)}" }.joined(separator: " ") + "; write '{{' and '}}' for literal braces"
        case .unclosedBrace(let column):
            "'{' at character \(column) has no '}'; write '{{' for a literal brace"
        case .strayBrace(let column):
            "'}' at character \(column) has no '{'; write '}}' for a literal brace"
        case .invalidOptions(let options, let column):
            "'\(options)' at character \(column) is not a width and styles; "
                + "write '<', '^' or '>', a width from 1 to 500 and styles, such as '{bar:40.cyan}' or '{rate:>12}'"
        case .unknownStyle(let name, let known, let column):
            "unknown style '\(name)' at character \(column)"
                + NearestName.suggestion(for: name, among: known, listing: "known are")
        }
    }
}
