import DisplayText

/// A position in a text. Lines and columns count from 1; columns count Unicode scalars, as in YAML's own positions.
package struct TextPosition: Hashable, Comparable {
    var line: Int
    var column: Int

    package static func < (lhs: Self, rhs: Self) -> Bool {
        (lhs.line, lhs.column) < (rhs.line, rhs.column)
    }
}

/// A text as an array of lines, for access to the character at a position.
struct TextLines {
    private var lines: [[Unicode.Scalar]] = [[]]

    init(_ text: String) {
        var previous: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            // The line breaks of YAML 1.1, section 5.4. "\r\n" ends one line.
            switch scalar {
            case "\n" where previous == "\r": break
            case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": lines.append([])
            default: lines[lines.count - 1].append(scalar)
            }
            previous = scalar
        }
    }

    var count: Int { lines.count }

    /// The characters of a line, without its line break.
    subscript(number: Int) -> [Unicode.Scalar] {
        lines.indices.contains(number - 1) ? lines[number - 1] : []
    }

    subscript(position: TextPosition) -> Unicode.Scalar? {
        let line = self[position.line]
        return line.indices.contains(position.column - 1) ? line[position.column - 1] : nil
    }

    /// The position after the last character that is not white space.
    var lastPosition: TextPosition {
        for line in stride(from: count, through: 1, by: -1) {
            if let last = self[line].lastIndex(where: { !$0.properties.isWhitespace }) {
                return TextPosition(line: line, column: last + 2)
            }
        }
        return TextPosition(line: 1, column: 1)
    }
}
