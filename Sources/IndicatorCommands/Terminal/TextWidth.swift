import IndicatorBackends

/// Texts in the width of a terminal.
package enum TextWidth {
    /// Wraps a text between words. Returns at least one line.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - width: the columns of a line, at least 20.
    ///   - splitsWords: whether a longer word, such as a path, is split.
    package static func wrapped(_ text: String, to width: Int, splitsWords: Bool = false) -> [String] {
        let width = max(width, 20)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if line.isEmpty {
                line = String(word)
            } else if SafeText.columns(of: line) + 1 + SafeText.columns(of: String(word)) <= width {
                line += " \(word)"
            } else {
                lines.append(line)
                line = String(word)
            }
            while splitsWords, SafeText.columns(of: line) > width {
                var head = ""
                while let character = line.first, SafeText.columns(of: head) + SafeText.columns(of: character) <= width
                {
                    head.append(line.removeFirst())
                }
                lines.append(head)
            }
        }
        return lines + [line]
    }
}
