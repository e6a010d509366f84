import DisplayText
import Foundation
import JSONScanning
import Yams

/// A value in a config file, with its position: not interpreted yet.
struct ConfigurationNode {
    enum Content {
        /// A text; in quotes, it is always a string.
        case scalar(String, isQuoted: Bool)
        case list([ConfigurationNode])
        case section([Entry])
    }

    /// One `key: value`.
    struct Entry {
        var name: String
        var position: TextPosition
        var value: ConfigurationNode
    }

    var content: Content
    var position: TextPosition
    /// Whether it has a type, such as `!!str`.
    var hasTag = false

    /// The text of a scalar without quotes.
    private var plain: String? {
        if case .scalar(let text, isQuoted: false) = content { text } else { nil }
    }

    /// Whether there is nothing at all, which has no position of its own.
    var isEmpty: Bool { plain == "" }

    /// Whether there is no value: nothing at all, or one of the spellings of null.
    var isNothing: Bool { plain.map { ["", "~", "null", "Null", "NULL"].contains($0) } ?? false }

    /// Whether it is an alias: other scalars without quotes cannot begin with an asterisk.
    var isAlias: Bool { plain?.unicodeScalars.first == "*" }

    /// The text of a scalar that has one.
    var text: String? {
        guard case .scalar(let text, _) = content, !isNothing, !isAlias, !hasTag else { return nil }
        return text
    }

    /// The elements of a list.
    var items: [ConfigurationNode]? {
        if case .list(let items) = content, !hasTag { items } else { nil }
    }

    /// What messages call it: without its text, which may be a secret.
    var kind: String {
        if hasTag { return "a value with a type ('!')" }
        switch content {
        case .scalar where isNothing: return "nothing"
        case .scalar where isAlias: return "an alias ('*')"
        case .scalar: return "a text"
        case .list: return "a list"
        case .section: return "a section ('key: value')"
        }
    }
}

/// A config file as a tree of values.
///
/// A syntax error, or a key that is duplicated in YAML, is the only problem of its file: nothing else is read.
struct ConfigurationDocument {
    /// A problem at a position.
    struct Problem {
        var position: TextPosition
        var message: String
    }

    /// `nil` if the file is empty or could not be read.
    private(set) var root: ConfigurationNode?
    private(set) var problems: [Problem] = []

    /// Reads a text as JSON or as YAML.
    init(_ text: String, isJSON: Bool) {
        if isJSON {
            var text = text
            text.withUTF8 { readJSON($0) }
        } else {
            readYAML(text)
        }
    }

    private mutating func report(_ position: TextPosition, _ message: String) {
        problems.append(Problem(position: position, message: message))
    }

    // MARK: - YAML

    /// Yams would expand aliases, and compare what they expand to where they are in keys: billions of values, if they
    /// refer to each other ("billion laughs"). So it reads this in place of every `*`: a noncharacter, which Unicode
    /// reserves for internal use, but YAML allows.
    private static let asterisk: Unicode.Scalar = "\u{10FFFF}"

    private mutating func readYAML(_ text: String) {
        do {
            let yaml = Self.replacing("*", with: Self.asterisk, in: text)
            // Without Yams' tag resolution and constructors, which are slow: this module interprets scalars itself.
            let constructor = Constructor([:], [:], [:])
            let parser = try Parser(yaml: yaml, resolver: .basic, constructor: constructor, encoding: .utf8)
            root = try parser.singleRoot().map { read($0) }
        } catch YamlError.duplicatedKeysInMapping(let names, let context) {
            let name = Self.replacing(Self.asterisk, with: "*", in: names.first ?? "")
            report(TextPosition(context.mark), "the key '\(QuotedText.shortened(name))' is duplicated")
        } catch {
            let problem = YAMLSyntaxProblem(error, in: text)
            report(problem.position, problem.message)
        }
    }

    private mutating func read(_ node: Node) -> ConfigurationNode {
        let position = TextPosition(node.mark)
        switch node {
        case .scalar(let scalar):
            let text = Self.replacing(Self.asterisk, with: "*", in: scalar.string)
            let isQuoted = scalar.style != .plain
            // Yams gives every quoted scalar the tag of strings.
            let hasTag = !isQuoted && !scalar.tag.rawValue.isEmpty
            return ConfigurationNode(content: .scalar(text, isQuoted: isQuoted), position: position, hasTag: hasTag)
        case .sequence(let sequence):
            let items = sequence.map { read($0) }
            let hasTag = !sequence.tag.rawValue.isEmpty
            return ConfigurationNode(content: .list(items), position: position, hasTag: hasTag)
        case .mapping(let mapping):
            let entries = mapping.compactMap { entry($0.key, $0.value) }
            let hasTag = !mapping.tag.rawValue.isEmpty
            return ConfigurationNode(content: .section(entries), position: position, hasTag: hasTag)
        case .alias:
            return ConfigurationNode(content: .scalar("*", isQuoted: false), position: position)
        }
    }

    private mutating func entry(_ key: Node, _ value: Node) -> ConfigurationNode.Entry? {
        let key = read(key)
        guard case .scalar(let name, _) = key.content, !key.isAlias else {
            report(key.position, "expected a name before ':'")
            return nil
        }
        return ConfigurationNode.Entry(name: name, position: key.position, value: read(value))
    }

    private static func replacing(_ scalar: Unicode.Scalar, with other: Unicode.Scalar, in text: String) -> String {
        guard text.unicodeScalars.contains(scalar) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == scalar ? other : $0 }))
    }

    // MARK: - JSON

    private mutating func readJSON(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress else { return }
        var scanner = JSONScanner(base, count: bytes.count)
        var places = JSONPositions(bytes: bytes)
        do throws(JSONProblem) {
            if scanner.isAtEnd() { return }
            root = try value(&scanner, &places, depth: 0)
            guard scanner.isAtEnd() else { throw scanner.problem("expected the end, found \(scanner.found)") }
        } catch {
            root = nil
            problems = []
            report(places.position(of: error.offset), error.message)
        }
    }

    private mutating func value(
        _ scanner: inout JSONScanner,
        _ places: inout JSONPositions,
        depth: Int
    ) throws(JSONProblem) -> ConfigurationNode {
        guard depth < 100 else { throw scanner.problem("nested too deeply; settings are at most one section deep") }
        _ = scanner.isAtEnd()
        let position = places.position(of: scanner.position)
        let content: ConfigurationNode.Content
        if scanner.skip(UInt8(ascii: "{")) {
            var entries: [ConfigurationNode.Entry] = []
            var names: Set<String> = []
            try scanner.elements(until: UInt8(ascii: "}")) { scanner throws(JSONProblem) in
                _ = scanner.isAtEnd()
                let position = places.position(of: scanner.position)
                let name = try scanner.text(of: scanner.string())
                try scanner.expect(UInt8(ascii: ":"))
                let value = try value(&scanner, &places, depth: depth + 1)
                if names.insert(name).inserted {
                    entries.append(ConfigurationNode.Entry(name: name, position: position, value: value))
                } else {
                    report(position, "the key '\(QuotedText.shortened(name))' is duplicated")
                }
            }
            content = .section(entries)
        } else if scanner.skip(UInt8(ascii: "[")) {
            var items: [ConfigurationNode] = []
            try scanner.elements(until: UInt8(ascii: "]")) { scanner throws(JSONProblem) in
                items.append(try value(&scanner, &places, depth: depth + 1))
            }
            content = .list(items)
        } else if scanner.isAtString() {
            content = .scalar(try scanner.text(of: scanner.string()), isQuoted: true)
        } else if let word = (["true", "false", "null"] as [StaticString]).first(where: { scanner.skip($0) }) {
            content = .scalar("\(word)", isQuoted: false)
        } else {
            content = .scalar(try scanner.number(), isQuoted: false)
        }
        return ConfigurationNode(content: content, position: position)
    }
}

/// The positions of offsets in a JSON text. Their order is that of the text, so each byte is counted once.
private struct JSONPositions {
    let bytes: UnsafeBufferPointer<UInt8>
    private var counted = 0
    private var place = TextPosition(line: 1, column: 1)

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func position(of offset: Int) -> TextPosition {
        if offset < counted { self = JSONPositions(bytes: bytes) }
        for byte in bytes[counted..<min(offset, bytes.count)] {
            if byte == UInt8(ascii: "\n") {
                place = TextPosition(line: place.line + 1, column: 1)
            } else if byte & 0xC0 != 0x80 {
                place.column += 1
            }
        }
        counted = max(counted, offset)
        return place
    }
}
