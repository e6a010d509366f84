import Foundation
import Yams

/// A config file as YAML sees it: maps, lists and scalars with their positions, before anything asks what they mean.
///
/// JSON is a subset of YAML, so a `.json` file is read in the same way.
///
/// Yams stops at the first syntax error and at a duplicate key. Then the place is changed so that all positions stay,
/// and the text is read again, ``largestTotalSize`` in all:
///
/// - A syntax error costs the top-level entry that it is in: its lines are blanked.
/// - A duplicate key costs nothing: Yams says where the first one is; its first letter is replaced by a private-use
///   character, and ``entries(of:)`` puts the name back.
struct ConfigurationDocument {
    /// Something at a position.
    struct Problem {
        var position: TextPosition
        var message: String
        /// The name of a duplicate key.
        var key: String?
    }

    /// One `key: value` of a map.
    struct Entry {
        var name: String
        var position: TextPosition
        var value: Node

        /// Where a message about the value points to: to the name if nothing stands after it.
        var placeOfValue: TextPosition {
            value.isNothing && value.scalar?.string.isEmpty == true ? position : value.position
        }
    }

    /// How much is read again at most, in bytes: reading costs the same for each byte, whatever the file holds.
    static let largestTotalSize = 1 << 20
    /// How many aliases there may be. A few that refer to each other expand to billions of values ("billion laughs");
    /// this many expand to some ten thousand at most.
    static let largestNumberOfAliases = 24

    /// What is at the top; `nil` when the file is empty or could not be read at all.
    private(set) var root: Node?
    /// What is wrong with the YAML itself.
    private(set) var problems: [Problem] = []
    /// What is right here and wrong elsewhere.
    private(set) var warnings: [Problem] = []
    /// The keys of the parts that could not be read. What refers to them may well be right.
    private(set) var unreadableKeys: Set<String> = []
    /// The text, as far as it could be read.
    private(set) var lines: TextLines
    /// How many bytes were read, repetitions included.
    private(set) var bytesRead = 0
    /// The names of keys that had to be changed to get past Yams, by position.
    private var originalKeys: [TextPosition: String] = [:]

    init(_ text: String) {
        lines = TextLines(text)
        if let position = lines.excessAlias(limit: Self.largestNumberOfAliases) {
            report(position, "too many aliases ('*name'); write the values out")
            return
        }
        checkJSON()
        var text = problems.isEmpty ? text : lines.text
        while true {
            bytesRead += text.utf8.count
            do {
                // Without Yams' rules for tags, which cost most of the time: this module reads the texts itself.
                root = try Parser(yaml: text, resolver: .basic, encoding: .utf8).singleRoot()
                return
            } catch {
                guard recover(from: error, isLast: bytesRead + text.utf8.count > Self.largestTotalSize) else { return }
                text = lines.text
            }
        }
    }

    /// The entries of a map, the first of each name, with problems for keys that are not plain names.
    func entries(of mapping: Node.Mapping) -> (entries: [Entry], problems: [Problem]) {
        var entries: [Entry] = []
        var problems: [Problem] = []
        var firstLines: [String: Int] = [:]
        for (key, value) in mapping {
            let position = key.position
            guard case .scalar(let scalar) = key else {
                problems.append(Problem(position: position, message: "expected a name before ':', found \(key.kind)"))
                continue
            }
            let name = originalKeys[position] ?? scalar.string
            if let line = firstLines[name] {
                let place = line == position.line ? "on the same line" : "on line \(line)"
                let shown = QuotedText.shortened(name)
                let message = "duplicate key '\(shown)', which is there already \(place)"
                problems.append(Problem(position: position, message: message, key: name))
            } else if name == "<<", scalar.style == .plain {
                let message = "merge keys ('<<') are not supported; write the settings out"
                problems.append(Problem(position: position, message: message))
            } else {
                firstLines[name] = position.line
                entries.append(Entry(name: name, position: position, value: value))
            }
        }
        return (entries, problems)
    }

    private mutating func report(_ position: TextPosition, _ message: String) {
        problems.append(Problem(position: position, message: message))
    }

    /// Reports an error, and takes it out of the text. Returns `false` when the text is not to be read again.
    private mutating func recover(from error: any Error, isLast: Bool) -> Bool {
        guard let error = error as? YamlError else {
            report(TextPosition(line: 1, column: 1), "\(error)")
            return false
        }
        if case .duplicatedKeysInMapping(let names, let context) = error {
            let position = TextPosition(context.mark)
            if !isLast, rename(names.first ?? "", at: position) { return true }
            report(position, "the key '\(QuotedText.shortened(names.first ?? ""))' is there more than once")
            return false
        }
        let problem = YAMLSyntaxProblem(error, in: lines)
        // An alias of something that could not be read is not another mistake.
        if !problem.isUndefinedAlias || problems.isEmpty { report(problem.position, problem.message) }
        if problem.isSecondDocument {
            lines.blank(problem.position.line...max(problem.position.line, lines.count))
        } else if let block = lines.topLevelBlock(around: problem.position.line) {
            unreadableKeys.insert(lines.key(onLine: block.lowerBound))
            lines.blank(block)
        } else {
            return false
        }
        return !isLast
    }

    /// Replaces the first letter of a key. Returns `false` when that cannot be done.
    private mutating func rename(_ name: String, at position: TextPosition) -> Bool {
        guard originalKeys[position] == nil, let first = name.unicodeScalars.first else { return false }
        var letter = position
        if let quote = lines[position], quote == "\"" || quote == "'" { letter.column += 1 }
        guard lines[letter] == first, let other = Unicode.Scalar(0xE000 + UInt32(originalKeys.count)) else {
            return false
        }
        lines[letter] = other
        originalKeys[position] = name
        return true
    }

    /// Looks for what people write into JSON and what JSON has not: comments, which YAML would take for texts, and
    /// commas before a bracket, which YAML allows.
    private mutating func checkJSON() {
        guard let first = lines.firstCharacter, first == "{" else { return }
        var comma: TextPosition?
        var quote: Unicode.Scalar?
        for number in 1...lines.count {
            let line = lines[number]
            var column = 1
            while column <= line.count {
                defer { column += 1 }
                let scalar = line[column - 1]
                let next = column < line.count ? line[column] : " "
                let isWordStart = column == 1 || " \t,:[]{}\"".unicodeScalars.contains(line[column - 2])
                if let open = quote {
                    if scalar == "\\", open == "\"" { column += 1 } else if scalar == open { quote = nil }
                } else if scalar == "#", isWordStart {
                    break
                } else if scalar == "/", next == "/" || next == "*", isWordStart {
                    let found = "a comment begins with '#', not with '/\(next)'"
                    if problems.isEmpty { report(TextPosition(line: number, column: column), found) }
                    let isBlock = next == "*"
                    let end = line.indices.first { $0 > column && isBlock && line[$0 - 1] == "*" && line[$0] == "/" }
                    let last = (end ?? line.count - 1) + 1
                    lines.blank(number...number, columns: column...max(column, last))
                    column = last
                } else if scalar == ",", comma == nil {
                    comma = TextPosition(line: number, column: column)
                } else if !scalar.properties.isWhitespace {
                    quote = isWordStart && (scalar == "\"" || scalar == "'") ? scalar : nil
                    if let comma, scalar == "}" || scalar == "]" {
                        let message = "a comma before '\(scalar)' is not JSON: other programs will refuse this file"
                        warnings.append(Problem(position: comma, message: message))
                    }
                    comma = nil
                }
            }
        }
    }
}

extension TextPosition {
    init(_ mark: Mark?) {
        self.init(line: max(mark?.line ?? 1, 1), column: max(mark?.column ?? 1, 1))
    }
}

extension TextLines {
    /// The lines of the top-level entry that a line belongs to; `nil` when the text has none, as in JSON.
    fileprivate func topLevelBlock(around number: Int) -> ClosedRange<Int>? {
        let number = min(max(number, 1), count)
        guard let start = (1...number).last(where: { beginsEntry(self[$0]) }) else { return nil }
        guard let first = self[start].first, first != "{", first != "[" else { return nil }
        let next = number < count ? (number + 1...count).first { beginsEntry(self[$0]) } : nil
        return start...((next ?? count + 1) - 1)
    }

    private func beginsEntry(_ line: [Unicode.Scalar]) -> Bool {
        guard let first = line.first else { return false }
        return ![" ", "\t", "#", "-", "}", "]", "%"].contains(first)
    }

    /// What stands before the colon of a line.
    fileprivate func key(onLine number: Int) -> String {
        var key = String.UnicodeScalarView()
        key.append(contentsOf: self[number].prefix { $0 != ":" })
        return String(key).trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'"))
    }

    /// The position of the first alias that is one too many. Counts too many rather than too few: in texts, too.
    fileprivate func excessAlias(limit: Int) -> TextPosition? {
        var aliases = 0
        for number in 1...count {
            let line = self[number]
            for (index, (previous, scalar)) in zip([" "] + line, line).enumerated() {
                if scalar == "#", previous == " " || previous == "\t" { break }
                guard scalar == "*", " \t[{,:-?".unicodeScalars.contains(previous) else { continue }
                aliases += 1
                if aliases > limit { return TextPosition(line: number, column: index + 1) }
            }
        }
        return nil
    }
}

extension Node {
    var position: TextPosition { TextPosition(mark) }

    /// What a message calls it.
    var kind: String {
        switch self {
        case .scalar(let scalar):
            if isNothing { return "nothing" }
            return scalar.string.isEmpty ? "an empty text" : "'\(QuotedText.shortened(scalar.string))'"
        case .sequence: return "a list"
        case .mapping: return "a section ('key: value')"
        case .alias: return "an alias"
        }
    }

    /// Whether there is no value: nothing at all, or one of YAML's spellings of it.
    var isNothing: Bool {
        guard case .scalar(let scalar) = self, scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    /// A type that was given explicitly, such as `!!str`.
    var explicitTag: String? {
        let tag: Tag? =
            switch self {
            // Yams gives every text in quotes the tag of texts.
            case .scalar(let scalar): scalar.style == .plain ? scalar.tag : nil
            case .sequence(let sequence): sequence.tag
            case .mapping(let mapping): mapping.tag
            case .alias: nil
            }
        guard let name = tag?.rawValue, !name.isEmpty else { return nil }
        let core = "tag:yaml.org,2002:"
        return QuotedText.shortened(name.hasPrefix(core) ? "!!" + name.dropFirst(core.count) : name)
    }
}
