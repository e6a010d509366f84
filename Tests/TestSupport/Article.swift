/// An article of the documentation.
package struct Article: Sendable {
    package let text: String

    /// Reads one, by its path in `Sources`.
    package init(_ path: String) throws {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/\(path)")
        text = try String(contentsOf: url.standardized, encoding: .utf8)
    }

    /// The code of the first block that contains a text, such as "```make", its beginning.
    package func block(with text: String) throws -> String {
        let blocks = self.text.components(separatedBy: "```").enumerated().filter { !$0.offset.isMultiple(of: 2) }
        let block = try #require(blocks.first { "```\($0.element)".contains(text) }?.element, "no block with '\(text)'")
        return String(block.drop { $0 != "\n" }.dropFirst())
    }
}
