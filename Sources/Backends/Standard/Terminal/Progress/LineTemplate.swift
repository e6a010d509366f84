public import BackendConfiguration
import IndicatorCore

/// The columns of a line of progress, as a text: `{label:30}  {bar:40.cyan}  {progress}  {remaining} left`.
///
/// The article "Live progress" has the placeholders, their options, and how text belongs to columns. A column without a
/// value in any line is left out, and so are columns for which a window has no room.
public struct LineTemplate: Sendable, Hashable, CustomStringConvertible {
    /// The values that a template can contain.
    enum Field: String, Sendable, Hashable, CaseIterable {
        case label, bar, spinner, progress, amount, done, total, rate, elapsed, remaining, detail
    }

    enum Alignment: Character {
        case left = "<"
        case center = "^"
        case right = ">"

        /// Adds spaces to a line's end, which begins at a column.
        func pad(_ line: inout LiveLine, by spaces: Int, from column: Int) {
            let before = self == .left ? 0 : self == .right ? spaces : spaces / 2
            line.insertSpaces(before, at: column)
            line.insertSpaces(spaces - before, at: line.columns)
        }
    }

    /// A field with its options.
    struct Placeholder: Sendable, Hashable {
        var field: Field
        var alignment: Alignment?
        var width: Int?
        var style: TextStyle?
        /// The style of the rest of a bar.
        var restStyle: TextStyle?

        /// Texts are on the left of their column, and numbers on the right.
        var effectiveAlignment: Alignment {
            alignment ?? ([.label, .bar, .spinner, .detail].contains(field) ? .left : .right)
        }
    }

    enum Piece: Sendable, Hashable {
        case literal(String)
        case placeholder(Placeholder)
    }

    /// A part that is left out as a whole.
    struct Column: Sendable, Hashable {
        /// The number of spaces before it.
        var gap = 0
        var pieces: [Piece] = []

        var placeholders: [Placeholder] {
            pieces.compactMap { if case .placeholder(let placeholder) = $0 { placeholder } else { nil } }
        }

        /// Whether it has neither placeholders nor letters or digits.
        var isSeparator: Bool {
            pieces.allSatisfy { piece in
                guard case .literal(let text) = piece else { return false }
                return !text.contains { $0.isLetter || $0.isNumber }
            }
        }

        /// Replaces a field.
        mutating func replace(_ old: Field, with new: Field) {
            for (index, piece) in pieces.enumerated() {
                guard case .placeholder(var placeholder) = piece, placeholder.field == old else { continue }
                placeholder.field = new
                pieces[index] = .placeholder(placeholder)
            }
        }
    }

    /// The template as text.
    public let description: String
    let columns: [Column]
    /// The fields that it contains.
    let fields: Set<Field>

    /// `{label}  {bar}  {amount}  {rate}  {elapsed}  {remaining} left  {detail}`, in cyan where progress is made.
    public static let standard: Self = {
        do {
            return try Self("{label}  {bar:.cyan/dim}  {amount}  {rate}  {elapsed}  {remaining} left  {detail}")
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    /// Reads a template.
    ///
    /// - Throws: if the text is empty, has an unknown placeholder, option or style, or has an unmatched brace.
    public init(_ text: String) throws {
        description = text
        var columns = [Column()]
        for piece in try FormatReader<Field>(allowsOptions: true).pieces(of: text) {
            switch piece {
            case .placeholder(let field, let options, let column):
                var placeholder = Placeholder(field: field)
                if let options { try placeholder.read(options, at: column) }
                columns[columns.count - 1].pieces.append(.placeholder(placeholder))
            case .literal(let text):
                // Control characters would move the cursor.
                let text = text.filter { !$0.unicodeScalars.contains { $0.properties.generalCategory == .control } }
                for (index, word) in text.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
                    if index > 0 {
                        if columns[columns.count - 1].pieces.isEmpty {
                            columns[columns.count - 1].gap += 1
                        } else {
                            columns.append(Column(gap: 1))
                        }
                    }
                    if !word.isEmpty { columns[columns.count - 1].pieces.append(.literal(String(word))) }
                }
            }
        }
        self.columns = Self.joiningWords(columns)
        fields = Set(columns.flatMap(\.placeholders).map(\.field))
    }

    /// Joins words without a placeholder with the nearer column, or the one before; separators with the one after.
    private static func joiningWords(_ columns: [Column]) -> [Column] {
        let columns = columns.filter { !$0.pieces.isEmpty }
        var joined: [Column] = []
        var joinsNext = false
        for (index, column) in columns.enumerated() {
            let gapAfter = index + 1 < columns.count ? columns[index + 1].gap : .max
            let isWord = column.placeholders.isEmpty
            let isPrefix = isWord && gapAfter < column.gap + (column.isSeparator ? 1 : 0)
            if joined.isEmpty || !joinsNext && (!isWord || isPrefix) {
                joined.append(column)
            } else {
                joined[joined.count - 1].pieces += [.literal(String(repeating: " ", count: column.gap))] + column.pieces
            }
            joinsNext = isPrefix || joined.last?.placeholders.isEmpty == true
        }
        return joined
    }
}

extension SettingForm<LineTemplate> {
    /// A template of the bars' columns.
    public static var template: Self {
        text(
            read: { text in
                do {
                    return try LineTemplate(text)
                } catch {
                    throw SettingFault("a template with known placeholders (\(error))")
                }
            },
            text: \.description
        )
    }
}

extension LineTemplate.Placeholder {
    /// The styles by their names, as parameters of SGR (ECMA-48).
    private static let styles: KeyValuePairs = [
        "black": "30", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36",
        "white": "37", "bold": "1", "dim": "2", "italic": "3", "underlined": "4", "reverse": "7",
    ]

    /// Reads options such as `>40.cyan.bold/dim`, which begin at a column of the template.
    fileprivate mutating func read(_ options: String, at column: Int) throws(SnapshotFormatError) {
        let parts = options.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var size = parts[0].prefix { $0 != "." }
        let styleColumn = column + size.count
        let names = parts[0].dropFirst(size.count)
        if let alignment = size.first.flatMap(LineTemplate.Alignment.init) {
            self.alignment = alignment
            size.removeFirst()
        }
        if !size.isEmpty {
            width = size.allSatisfy(\.isASCII) ? Int(size).flatMap { (1...500).contains($0) ? $0 : nil } : nil
        }
        let isBar = field == .bar
        guard size.isEmpty || width != nil, !options.isEmpty, isBar || parts.count == 1 else {
            throw .invalidOptions(options, column: column)
        }
        style = try Self.style(names, at: styleColumn)
        if parts.count > 1 {
            let rest = parts[1].first == "." ? parts[1] : "." + parts[1]
            restStyle = try Self.style(rest, at: column + parts[0].count + (parts[1].first == "." ? 1 : 0))
        }
    }

    /// The style of names with a dot before each.
    private static func style(_ text: Substring, at column: Int) throws(SnapshotFormatError) -> TextStyle? {
        guard !text.isEmpty else { return nil }
        var parameters: [String] = []
        var column = column
        for name in text.dropFirst().split(separator: ".", omittingEmptySubsequences: false) {
            guard let style = styles.first(where: { $0.key == name }) else {
                throw .unknownStyle(String(name), known: styles.map(\.key), column: column + 1)
            }
            parameters.append(style.value)
            column += name.count + 1
        }
        return TextStyle(parameters: parameters.joined(separator: ";"))
    }
}
