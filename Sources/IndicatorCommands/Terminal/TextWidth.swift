import IndicatorBackends

/// The width of texts in terminal columns.
package enum TextWidth {
    /// The number of columns of a text.
    package static func columns(of text: String) -> Int {
        SafeText.columns(of: text)
    }

    /// Truncates a text to a width, and pads it if `padded`. Control characters are replaced.
    package static func fitted(_ text: String, to width: Int, padded: Bool = false, usesUnicode: Bool = true) -> String
    {
        let ellipsis = usesUnicode ? "…" : "~"
        let clean = String(text.map { isPlain($0, usesUnicode: usesUnicode) ? $0 : "?" })
        var result = ""
        var used = 0
        let total = columns(of: clean)
        let room = total <= width ? width : width - 1
        for character in clean {
            let columns = SafeText.columns(of: character)
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
            } else if columns(of: line) + 1 + columns(of: String(word)) <= width {
                line += " \(word)"
            } else {
                lines.append(line)
                line = String(word)
            }
            while splitsWords, columns(of: line) > width {
                var head = ""
                while let character = line.first, columns(of: head) + SafeText.columns(of: character) <= width {
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
