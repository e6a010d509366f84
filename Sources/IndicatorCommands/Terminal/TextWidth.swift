/// How many columns texts take in a terminal.
package enum TextWidth {
    /// The columns of a text.
    package static func columns(of text: String) -> Int {
        text.reduce(0) { $0 + columns(of: $1) }
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
            let columns = columns(of: character)
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
                while let character = line.first, columns(of: head) + columns(of: character) <= width {
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

    /// The wide characters of Unicode Standard Annex 11, as ranges that are coarse on the safe side.
    private static func columns(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        let emojiSelector: Unicode.Scalar = "\u{FE0F}"
        if character.unicodeScalars.contains(emojiSelector) { return 2 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default:
            return scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }
}
