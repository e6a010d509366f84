/// The arguments of a test in a text: sentences, each with the indented lines of its script below it. Lines that begin
/// with `//` are comments.
package struct Table: ExpressibleByStringLiteral, RandomAccessCollection, Sendable {
    private var rows: [(sentence: String, lines: [String])] = []

    package init(stringLiteral text: String) {
        for line in text.split(separator: "\n") where !line.hasPrefix("//") {
            if line.first != " " {
                rows.append((String(line), []))
            } else {
                rows[rows.endIndex - 1].lines.append(String(line))
            }
        }
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { rows.count }
    package subscript(index: Int) -> (sentence: String, script: String) {
        let lines = rows[index].lines.map { $0.trimmingCharacters(in: .whitespaces) }
        return (rows[index].sentence, lines.joined(separator: "\n"))
    }
}
