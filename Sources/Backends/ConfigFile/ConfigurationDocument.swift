import Foundation
import Yams

/// The YAML of a config file: maps, lists and scalars with their positions, not interpreted yet.
///
/// JSON is a subset of YAML, so a `.json` file is read the same way.
///
/// A text with aliases is read twice: first without expanding them, to limit what they expand to.
///
/// Yams stops at the first syntax error or duplicate key. The text is then changed there, without moving other
/// positions, and read again, up to ``largestTotalSize`` bytes in total:
///
/// - After a syntax error, the lines of the top-level entry around it are blanked: that entry is lost.
/// - After a duplicate key, the first letter of the first one, which Yams reports, is replaced by a private-use
///   character. ``entries(of:)`` restores the name, so nothing is lost.
struct ConfigurationDocument {
    /// A problem at a position.
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

        /// The position for a message about the value: the name's if the value is empty.
        var placeOfValue: TextPosition {
            value.isNothing && value.scalar?.string.isEmpty == true ? position : value.position
        }
    }

    /// The limit of all readings together, in bytes: the cost of reading is proportional to the size.
    static let largestTotalSize = 1 << 20
    /// The limit of what all aliases together expand to, in bytes.
    static let largestExpansion = 1 << 20

    /// The root node; `nil` if the file is empty or could not be read at all.
    private(set) var root: Node?
    /// The errors in the YAML itself.
    private(set) var problems: [Problem] = []
    /// What is valid here and rejected by other programs.
    private(set) var warnings: [Problem] = []
    /// The keys of the entries that could not be read. References to them are not reported.
    private(set) var unreadableKeys: Set<String> = []
    /// The text, without the parts that could not be read.
    private(set) var lines: TextLines
    /// How many bytes were read, all readings together.
    private(set) var bytesRead = 0
    /// The names of the duplicate keys that were changed for Yams, by position.
    private var originalKeys: [TextPosition: String] = [:]

    /// Reads a text. If it has several documents, all but the first are ignored, or are a problem.
    init(_ text: String, ignoresLaterDocuments: Bool = false) {
        // Nodes refer weakly to their anchors, which the parser owns.
        func read<Value>(_ text: String, _ use: (Node?) -> Value) throws -> Value {
            // Without Yams' tag resolution, which takes most of the time: this module interprets the scalars itself.
            let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
            let root = ignoresLaterDocuments ? try parser.nextRoot() : try parser.singleRoot()
            return withExtendedLifetime(parser) { use(root) }
        }
        lines = TextLines(text)
        checkJSON()
        var text = problems.isEmpty ? text : lines.text
        while true {
            let unaliased = lines.unaliasedText
            do {
                if let unaliased {
                    bytesRead += unaliased.utf8.count
                    let expansion = try read(unaliased, AliasExpansion.init)
                    if let excess = expansion.excess {
                        report(excess, "the aliases ('*name') expand to more than 1 MiB")
                        return
                    }
                }
                bytesRead += text.utf8.count
                root = try read(text) { $0 }
                return
            } catch {
                let cost = text.utf8.count * (unaliased == nil ? 1 : 2)
                guard recover(from: error, isLast: bytesRead + cost > Self.largestTotalSize) else { return }
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
                let message = "duplicate key '\(shown)', first used \(place)"
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

    /// Reports an error and removes it from the text. Returns whether to read the text again.
    private mutating func recover(from error: any Error, isLast: Bool) -> Bool {
        guard let error = error as? YamlError else {
            report(TextPosition(line: 1, column: 1), "\(error)")
            return false
        }
        if case .duplicatedKeysInMapping(let names, let context) = error {
            let position = TextPosition(context.mark)
            if !isLast, rename(names.first ?? "", at: position) { return true }
            report(position, "the key '\(QuotedText.shortened(names.first ?? ""))' is duplicated")
            return false
        }
        let problem = YAMLSyntaxProblem(error, in: lines)
        // An alias of something that could not be read is not a separate mistake.
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

    /// Replaces the first letter of a key. Returns whether that was possible.
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

    /// Checks for two common errors in JSON: comments, which are strings in YAML, and trailing commas, which YAML
    /// allows.
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
                        let message = "a comma before '\(scalar)' is not valid JSON; other programs reject it"
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
    /// The lines of the top-level entry that a line belongs to; `nil` if there is none, as in JSON.
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

    /// The text before the colon of a line.
    fileprivate func key(onLine number: Int) -> String {
        var key = String.UnicodeScalarView()
        key.append(contentsOf: self[number].prefix { $0 != ":" })
        return String(key).trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'"))
    }

    /// The text, with the `*` of everything that may be an alias replaced by ``AliasExpansion/mark``: aliases become
    /// plain scalars, and nothing is expanded. `nil` if there is none.
    fileprivate var unaliasedText: String? {
        var result: TextLines?
        for number in 1...count {
            let line = self[number]
            for (index, (previous, scalar)) in zip([" "] + line, line).enumerated() {
                guard scalar == "*", " \t[{,:".unicodeScalars.contains(previous) else { continue }
                if result == nil { result = self }
                result?[TextPosition(line: number, column: index + 1)] = AliasExpansion.mark
            }
        }
        return result?.text
    }
}

/// What the aliases of a document expand to. Aliases that refer to each other can expand to billions of values
/// ("billion laughs"). Yams shares the values in memory, but compares all of them in keys.
private struct AliasExpansion {
    /// Replaces the `*` of an alias. A scalar that begins with it and has the name of an anchor is counted as well.
    static let mark: Unicode.Scalar = "~"

    /// The position of the first alias beyond ``ConfigurationDocument/largestExpansion``.
    private(set) var excess: TextPosition?
    private var total = 0
    private var sizes: [String: Int] = [:]

    /// Measures a document that was read from ``TextLines/unaliasedText``.
    init(of root: Node?) {
        if let root { _ = size(of: root) }
    }

    /// The size of a node in bytes, with its aliases expanded.
    private mutating func size(of node: Node) -> Int {
        guard excess == nil else { return 0 }
        var size = 1
        switch node {
        case .scalar(let scalar):
            size += scalar.string.utf8.count
            guard scalar.style == .plain, scalar.string.unicodeScalars.first == Self.mark else { break }
            let expansion = sizes[Self.name(scalar.string)] ?? 0
            size += expansion
            total += expansion
            if total > ConfigurationDocument.largestExpansion { excess = node.position }
        case .sequence(let sequence):
            for item in sequence { size += self.size(of: item) }
        case .mapping(let mapping):
            for (key, value) in mapping {
                size += self.size(of: key)
                size += self.size(of: value)
            }
        case .alias: break
        }
        if let anchor = node.anchor { sizes[anchor.rawValue] = size }
        return size
    }

    /// The name after the mark: ASCII letters, digits, `-` and `_`, as in libYAML.
    private static func name(_ alias: String) -> String {
        let name = alias.unicodeScalars.dropFirst().prefix {
            $0 == "-" || $0 == "_" || ($0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil))
        }
        return String(name)
    }
}

extension Node {
    var position: TextPosition { TextPosition(mark) }

    /// What messages call it.
    var kind: String {
        switch self {
        case .scalar(let scalar):
            if isNothing { return "nothing" }
            return scalar.string.isEmpty ? "an empty string" : "'\(QuotedText.shortened(scalar.string))'"
        case .sequence: return "a list"
        case .mapping: return "a section ('key: value')"
        case .alias: return "an alias"
        }
    }

    /// Whether there is no value: nothing at all, or one of YAML's spellings of null.
    var isNothing: Bool {
        guard case .scalar(let scalar) = self, scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    /// A type that was given explicitly, such as `!!str`.
    var explicitTag: String? {
        let tag: Tag? =
            switch self {
            // Yams gives every quoted scalar the string tag.
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
