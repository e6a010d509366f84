import Foundation
import Yams

/// Reads a text as YAML with Yams, and goes on after a mistake: Yams stops at the first, users want to hear of all.
///
/// - A syntax error costs the top-level entry that it is in: its lines are replaced by blanks, and the rest is read again,
///   with all positions as they were.
/// - A duplicate key costs nothing: Yams says where the first one is; its first letter is replaced by a private-use
///   character, the text is read again, and the document puts the name back.
struct ConfigurationDocumentParser {
    /// How often a text is read at most: a user who has made this many mistakes of syntax starts with these.
    static let largestNumberOfAttempts = 24
    /// How much is read at most, so that large files are not read as often.
    static let largestTotalSize = 4 << 20
    /// How many aliases there may be. A few that refer to each other expand to billions of values ("billion laughs"); this
    /// many expand to some ten thousand at most.
    static let largestNumberOfAliases = 24

    private var text: PositionedText
    private var document = ConfigurationDocument()

    private init(_ text: String) {
        self.text = PositionedText(text)
    }

    static func parse(_ text: String) -> ConfigurationDocument {
        var parser = Self(text)
        parser.parse()
        parser.document.text = parser.text
        return parser.document
    }

    private mutating func parse() {
        if let position = text.excessAlias(limit: Self.largestNumberOfAliases) {
            return stop(TextProblem(position: position, message: "too many aliases ('*name'); write the values out"))
        }
        let attempts = min(Self.largestNumberOfAttempts, max(2, Self.largestTotalSize / max(1, text.scalars.count)))
        for attempt in 1...attempts {
            do {
                document.root = try Parser(yaml: text.text, encoding: .utf8).singleRoot()
                return
            } catch YamlError.duplicatedKeysInMapping(let names, let context) {
                let position = TextPosition(line: context.mark.line, column: context.mark.column)
                guard attempt < attempts, rename(names.first ?? "", at: position) else {
                    let name = SettingText.shortened(names.first ?? "")
                    let position = position.line > 0 ? position : TextPosition(line: 1, column: 1)
                    return stop(TextProblem(position: position, message: "the key '\(name)' is there more than once"))
                }
            } catch let error as YamlError {
                guard recover(from: YAMLSyntaxProblem(error, in: text)) else { return }
            } catch {
                return stop(TextProblem(position: TextPosition(line: 1, column: 1), message: "\(error)"))
            }
        }
    }

    private mutating func stop(_ problem: TextProblem) {
        document.problems.append(problem)
    }

    /// Replaces the first letter of a key. Returns `false` when that cannot be done.
    private mutating func rename(_ name: String, at position: TextPosition) -> Bool {
        guard document.originalKeys[position] == nil, let first = name.unicodeScalars.first else { return false }
        var letter = position
        if let quote = text[position], quote == "\"" || quote == "'" { letter.column += 1 }
        guard text[letter] == first, let replacement = Unicode.Scalar(0xE000 + UInt32(document.originalKeys.count))
        else {
            return false
        }
        text[letter] = replacement
        document.originalKeys[position] = name
        return true
    }

    /// Reports a problem and blanks the entry that it is in. Returns `false` when there is nothing left to read.
    private mutating func recover(from problem: YAMLSyntaxProblem) -> Bool {
        // An alias of something that could not be read is not another mistake.
        if !(problem.isUndefinedAlias && !document.problems.isEmpty) {
            document.problems.append(TextProblem(position: problem.position, message: problem.message))
        }
        if problem.isSecondDocument {
            text.blank(lines: problem.position.line...max(problem.position.line, text.lineCount))
            return true
        }
        guard let block = text.topLevelBlock(around: problem.position.line) else { return false }
        document.unreadableKeys.insert(text.key(onLine: block.lowerBound))
        text.blank(lines: block)
        return true
    }
}

extension PositionedText {
    /// The lines of the top-level entry that a line belongs to; `nil` when the text has none, as in JSON.
    fileprivate func topLevelBlock(around number: Int) -> ClosedRange<Int>? {
        let number = min(max(number, 1), lineCount)
        guard let start = (1...number).last(where: { beginsEntry(line($0)) }) else { return nil }
        guard let first = line(start).first, first != "{", first != "[" else { return nil }
        let next = number < lineCount ? (number + 1...lineCount).first { beginsEntry(line($0)) } : nil
        return start...((next ?? lineCount + 1) - 1)
    }

    private func beginsEntry(_ line: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = line.first else { return false }
        return ![" ", "\t", "#", "-", "}", "]", "%"].contains(first)
    }

    /// What stands before the colon of a line.
    fileprivate func key(onLine number: Int) -> String {
        var key = String.UnicodeScalarView()
        key.append(contentsOf: line(number).prefix { $0 != ":" })
        return String(key).trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'"))
    }

    /// The position of the first alias that is one too many. Counts too many rather than too few: in texts, too.
    fileprivate func excessAlias(limit: Int) -> TextPosition? {
        var count = 0
        for number in 1...lineCount {
            var previous: Unicode.Scalar = " "
            for (column, scalar) in line(number).enumerated() {
                if previous == " " || previous == "\t", scalar == "#" { break }
                if scalar == "*", [" ", "\t", "[", "{", ",", ":", "-", "?"].contains(previous) {
                    count += 1
                    if count > limit { return TextPosition(line: number, column: column + 1) }
                }
                previous = scalar
            }
        }
        return nil
    }
}
