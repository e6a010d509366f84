import IndicatorBackends

/// How many columns texts take in a terminal.
package enum TextWidth {
    /// The columns of a text.
    package static func columns(of text: String) -> Int {
        DisplayText.columns(of: text)
    }

    /// A text in exactly or at most so many columns: without control characters, and cut where it is too long.
    package static func fitted(_ text: String, to width: Int, padded: Bool = false, usesUnicode: Bool = true) -> String
    {
        let ellipsis = usesUnicode ? "…" : "~"
        let clean = String(text.map { isPlain($0, usesUnicode: usesUnicode) ? $0 : "?" })
        var result = ""
        var used = 0
        let total = columns(of: clean)
        let room = total <= width ? width : width - 1
        for character in clean {
            let columns = DisplayText.columns(of: character)
            guard used + columns <= room else { break }
            result.append(character)
            used += columns
        }
        if total > width, width > 0 {
            result += ellipsis
            used += 1
        }
        return padded ? result + String(repeating: " ", count: max(width - used, 0)) : result
    }

    /// A text in lines of so many columns, broken between words. There is at least one line.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - width: the columns of a line; 20 at least.
    ///   - splitsWords: whether a word that is longer, such as a path, is split; otherwise it stays whole.
    package static func wrapped(_ text: String, to width: Int, splitsWords: Bool = false) -> [String] {
        let width = max(width, 20)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if line.isEmpty {
                line = String(word)
            } else if columns(of: line) + 1 + columns(of: String(word)) <= width {
                line += " \(word)"
            } else {
                lines.append(line)
                line = String(word)
            }
            while splitsWords, columns(of: line) > width {
                var head = ""
                while let character = line.first, columns(of: head) + DisplayText.columns(of: character) <= width {
                    head.append(line.removeFirst())
                }
                lines.append(head)
            }
        }
        return lines + [line]
    }

    private static func isPlain(_ character: Character, usesUnicode: Bool) -> Bool {
        character.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
            default: usesUnicode || scalar.isASCII
            }
        }
    }
}
