/// Texts in the width of a terminal.
package enum TextWidth {
    /// Wraps a text between words, to lines of at least 20 columns. A longer word, such as a path, has its own line.
    package static func wrapped(_ text: String, to width: Int) -> [String] {
        text.split(separator: " ", omittingEmptySubsequences: false).reduce(into: []) { lines, word in
            let columns = (lines.last.map { SafeText.columns(of: $0) + 1 } ?? 0) + SafeText.columns(of: String(word))
            if !lines.isEmpty, columns <= max(width, 20) {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }

    /// A text with spaces up to a width.
    package static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(width - SafeText.columns(of: text), 0))
    }

    /// Rows whose cells are below each other. A cell of more than 48 columns, or a third of the width, moves the rest
    /// of its own row only. What is too wide then continues on a line of its own.
    package static func aligned(_ rows: [[String]], width: Int = .max) -> [String] {
        let widths = (rows.first ?? []).indices.map { column in
            min(rows.map { SafeText.columns(of: $0[column]) }.max() ?? 0, 48, width / 3)
        }
        return rows.flatMap { row -> [String] in
            let cells = zip(row, widths).map { padded($0, to: $1) }
            let line = String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
            if SafeText.columns(of: line) <= width { return [line] }
            let lines = wrapped(line, to: width - 2)
            return [lines[0]] + lines.dropFirst().map { "  \($0)" }
        }
    }
}
