import DisplayText
import Foundation
import Yams

/// The YAML of a config file: maps, lists and scalars with their positions, not interpreted yet.
///
/// JSON is a subset of YAML, so a `.json` file is read the same way.
///
/// Aliases are looked up only when a value is read. Yams would expand them all, and compare what they expand to where
/// they are in keys: billions of values, if aliases refer to each other ("billion laughs"). So it reads ``asterisk`` in
/// place of every `*`, and aliases are plain scalars.
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
    /// Replaces `*`: a noncharacter, which Unicode reserves for internal use, but YAML allows.
    private static let asterisk: Unicode.Scalar = "\u{10FFFF}"

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
    /// What the aliases refer to, by their positions.
    private var targets: [TextPosition: Node] = [:]

    /// Reads a text. If it has several documents, all but the first are ignored, or are a problem. Only tests set the
    /// limit, in bytes.
    init(_ text: String, ignoresLaterDocuments: Bool = false, limit: Int = Self.largestTotalSize) {
        lines = TextLines(text)
        checkJSON()
        var text = problems.isEmpty ? text : lines.text
        while true {
            bytesRead += text.utf8.count
            do {
                let yaml = text.replacing("*", with: Self.asterisk)
                // Without Yams' tag resolution and constructors, which are slow: this module interprets scalars itself.
                let constructor = Constructor([:], [:], [:])
                let parser = try Parser(yaml: yaml, resolver: .basic, constructor: constructor, encoding: .utf8)
                let root = ignoresLaterDocuments ? try parser.nextRoot() : try parser.singleRoot()
                var anchors: [String: Node] = [:]
                // Nodes refer weakly to their anchors, which the parser owns.
                withExtendedLifetime(parser) { root.map { findTargets(in: $0, &anchors) } }
                self.root = root.map(resolved)
                return
            } catch {
                guard recover(from: error, isLast: bytesRead + text.utf8.count > limit) else { return }
                text = lines.text
            }
        }
    }

    /// Finds what the aliases refer to: the last node with that anchor that ends above the alias.
    private mutating func findTargets(in node: Node, _ anchors: inout [String: Node]) {
        if let name = resolved(node).aliasName { return targets[node.position] = anchors[name] }
        // Not `node.sequence ?? []`: a literal of Yams' types compiles its regular expressions, which takes 2 ms.
        let children = node.sequence.map(Array.init) ?? node.mapping?.flatMap { [$0.key, $0.value] }
        for child in children ?? [] { findTargets(in: child, &anchors) }
        if let anchor = node.anchor { anchors[anchor.rawValue] = node }
    }

    /// A scalar with the asterisks of the file, or what it refers to if it is an alias. Other nodes are unchanged.
    func resolved(_ node: Node) -> Node {
        guard case .scalar(let scalar) = node else { return node }
        if let target = targets[node.position] { return resolved(target) }
        let text = scalar.string.replacing(Self.asterisk, with: "*")
        return .scalar(.init(text, scalar.tag, scalar.style, scalar.mark))
    }

    /// The entries of a map, the first of each name, with problems for keys that are not plain names.
    func entries(of mapping: Node.Mapping) -> (entries: [Entry], problems: [Problem]) {
        var entries: [Entry] = []
        var problems: [Problem] = []
        var firstLines: [String: Int] = [:]
        for (key, value) in mapping {
            let position = key.position
            let (key, value) = (resolved(key), resolved(value))
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
        if case YamlError.duplicatedKeysInMapping(let names, let context) = error {
            let position = TextPosition(context.mark)
            if !isLast, rename(names.first ?? "", at: position) { return true }
            report(position, "the key '\(QuotedText.shortened(names.first ?? ""))' is duplicated")
            return false
        }
        let problem = YAMLSyntaxProblem(error, in: lines)
        report(problem.position, problem.message)
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
        guard lines.firstCharacter == "{" else { return }
        let token =
            /"(?:\\.|[^"\\])*"?|'[^']*'?|#.*|\w+:\/\/[^\s,\[\]{}"]*|(?<comment>\/\/.*|\/\*(?:.*?\*\/|.*))|[^\s,:\[\]{}"]+|\S/
            .matchingSemantics(.unicodeScalar)
        var comma: TextPosition?
        for number in 1...lines.count {
            let line = lines.text(ofLine: number)
            var (position, rest) = (TextPosition(line: number, column: 1), line[...])
            while let match = rest.firstMatch(of: token) {
                let text = match.0
                position.column += rest.unicodeScalars.distance(from: rest.startIndex, to: text.startIndex)
                defer { position.column += text.unicodeScalars.count }
                rest = rest[text.endIndex...]
                if let comment = match.comment {
                    let found = "a comment begins with '#', not with '\(comment.prefix(2))'"
                    if problems.isEmpty { report(position, found) }
                    let columns = position.column..<position.column + comment.unicodeScalars.count
                    lines.blank(number...number, columns: columns)
                } else if text == "," {
                    comma = comma ?? position
                } else if !text.hasPrefix("#") {
                    if let comma, text == "}" || text == "]" {
                        let message = "a comma before '\(text)' is not valid JSON; other programs reject it"
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
        text(ofLine: number).prefix { $0 != ":" }.trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'"))
    }
}

extension String {
    fileprivate func replacing(_ scalar: Unicode.Scalar, with other: Unicode.Scalar) -> String {
        guard unicodeScalars.contains(scalar) else { return self }
        return String(UnicodeScalarView(unicodeScalars.map { $0 == scalar ? other : $0 }))
    }
}

extension Node {
    package var position: TextPosition { TextPosition(mark) }

    /// What messages call it.
    package var kind: String {
        switch self {
        case .scalar(let scalar):
            if isNothing { return "nothing" }
            if let name = aliasName.map(QuotedText.shortened) {
                return "the alias '*\(name)', but no '&\(name)' was read above it"
            }
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

    /// The name in an alias. Plain scalars cannot begin with an asterisk.
    var aliasName: String? {
        guard case .scalar(let scalar) = self, scalar.style == .plain else { return nil }
        return scalar.string.unicodeScalars.first == "*" ? String(scalar.string.unicodeScalars.dropFirst()) : nil
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
