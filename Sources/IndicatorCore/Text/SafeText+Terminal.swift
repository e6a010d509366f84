import Foundation

extension SafeText {
    /// An error message in the characters of the locale: if its encoding is not UTF-8, others are escaped, such as
    /// `\u{E4}`. Control characters are always escaped, except line breaks: the message may quote arguments, paths and
    /// files.
    package static func message(_ text: String) -> String {
        let text = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { QuotedText.escaped(String($0)) }
            .joined(separator: "\n")
        return Charset { name in getenv(name).map { String(cString: $0) } } == .utf8 ? text : escapingUnicode(text)
    }

    /// A text in ASCII, from which the original can be read.
    static func escapingUnicode(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.isASCII {
                result.unicodeScalars.append(scalar)
            } else {
                result += scalar == "…" ? "..." : "\\u{\(QuotedText.codePoint(scalar).dropFirst(2))}"
            }
        }
    }

    /// The width of a text in a terminal, in columns.
    public static func columns(of text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + columns(of: $1) }
    }

    /// The width of a character in a terminal: 0, 1 or 2 columns.
    ///
    /// Based on the wide characters of Unicode Standard Annex 11, as coarse ranges that err on the wide side.
    public static func columns(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.isASCII, character.utf8.count == 1 { return 1 }
        // Terminals show the soft hyphen. A mark that follows no character has no column of its own.
        if scalar == "\u{AD}" { return 1 }
        if [.nonspacingMark, .enclosingMark].contains(scalar.properties.generalCategory) { return 0 }
        let emojiSelector: Unicode.Scalar = "\u{FE0F}"
        if character.unicodeScalars.contains(emojiSelector) { return 2 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD, 0x1F1E6...0x1F1FF:
            return 2
        default:
            switch scalar.properties.generalCategory {
            case .format: return 0
            default: return scalar.properties.isEmojiPresentation ? 2 : 1
            }
        }
    }

    /// A text in at most this many columns, truncated between two characters.
    public static func fitted(_ text: String, to columns: Int, ellipsis: String = "…") -> String {
        guard Self.columns(of: text) > columns else { return text }
        var result = ""
        var used = Self.columns(of: ellipsis)
        guard used <= columns else { return String(ellipsis.prefix(max(columns, 0))) }
        for character in text {
            used += Self.columns(of: character)
            if used > columns { break }
            result.append(character)
        }
        while result.last == " " { result.removeLast() }
        return result + ellipsis
    }
}

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
