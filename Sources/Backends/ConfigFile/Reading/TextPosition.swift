/// A place in a text. Lines and columns count from 1; columns count Unicode scalars, as YAML's own positions do.
struct TextPosition: Hashable, Comparable {
    var line: Int
    var column: Int

    static func < (lhs: Self, rhs: Self) -> Bool {
        (lhs.line, lhs.column) < (rhs.line, rhs.column)
    }

    mutating func advance(over scalar: Unicode.Scalar, endsLine: Bool) {
        if endsLine {
            line += 1
            column = 1
        } else {
            column += 1
        }
    }
}

/// A text by lines and columns: what it takes to look at, and to change, the character at a position.
struct PositionedText {
    private(set) var scalars: [Unicode.Scalar]
    private let lineStarts: [Int]

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
        var starts = [0]
        for (index, scalar) in scalars.enumerated() where Self.isLineBreak(scalar) {
            // A line break of two characters ends one line.
            if scalar == "\r", index + 1 < scalars.count, scalars[index + 1] == "\n" { continue }
            starts.append(index + 1)
        }
        lineStarts = starts
    }

    /// The line breaks of YAML 1.1, section 5.4.
    private static func isLineBreak(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": true
        default: false
        }
    }

    var text: String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    var lineCount: Int { lineStarts.count }

    /// The last place of the text: where its end is, or the line before when the text ends in a line break.
    var lastPosition: TextPosition {
        for line in stride(from: lineCount, through: 1, by: -1) {
            let content = self.line(line)
            if let last = content.lastIndex(where: { !$0.properties.isWhitespace }) {
                return TextPosition(line: line, column: last - content.startIndex + 2)
            }
        }
        return TextPosition(line: 1, column: 1)
    }

    /// The characters of a line, without its line break.
    func line(_ number: Int) -> ArraySlice<Unicode.Scalar> {
        guard lineStarts.indices.contains(number - 1) else { return [] }
        let start = lineStarts[number - 1]
        let end = number < lineStarts.count ? lineStarts[number] : scalars.count
        var content = scalars[start..<end]
        while let last = content.last, Self.isLineBreak(last) { content = content.dropLast() }
        return content
    }

    /// The index of a position; `nil` when there is no character there.
    func index(of position: TextPosition) -> Int? {
        let content = line(position.line)
        let index = content.startIndex + position.column - 1
        return content.indices.contains(index) ? index : nil
    }

    subscript(position: TextPosition) -> Unicode.Scalar? {
        get { index(of: position).map { scalars[$0] } }
        set {
            guard let newValue, let index = index(of: position) else { return }
            scalars[index] = newValue
        }
    }

    /// Replaces what is on these lines by spaces, so that the positions of everything else stay as they are.
    mutating func blank(lines: ClosedRange<Int>) {
        for number in lines {
            for index in line(number).indices { scalars[index] = " " }
        }
    }
}
