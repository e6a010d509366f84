import IndicatorCore
import Foundation
import Yams

/// What a config file, a variable or code has for a setting or a section, and where: not interpreted yet.
struct ConfigurationNode: Sendable {
    typealias Location = ConfigurationMistake.Location

    enum Content: Sendable {
        /// Nothing at all, or one of the spellings of null, without quotes.
        case nothing
        case text(String)
        case list([ConfigurationNode])
        case section([String: ConfigurationNode])
    }

    var content: Content
    var place: Location
    /// Where its key is, and whether in the same line: then a text that looks like something else may lack its quotes.
    var keyPlace: Location
    var isInline = false

    init(_ content: Content, at place: Location) {
        (self.content, self.place, keyPlace) = (content, place, place)
    }

    /// What a variable or code has.
    init(_ value: SettingValue, at place: Location) {
        switch value {
        case .string(let text): self.init(.text(text), at: place)
        case .list(let texts): self.init(.list(texts.map { Self(.text($0), at: place) }), at: place)
        }
    }

    var isNothing: Bool { if case .nothing = content { true } else { false } }

    var text: String? { if case .text(let text) = content { text } else { nil } }

    /// What a section has.
    var entries: [String: Self]? { if case .section(let entries) = content { entries } else { nil } }

    /// What messages call it: without its text, which may be a secret.
    var kind: String {
        switch content {
        case .nothing: "nothing"
        case .text: "a text"
        case .list: "a list"
        case .section: "a section ('key: value')"
        }
    }
}

/// A position in a text. Lines and columns count from 1; columns count Unicode scalars, as in YAML's own positions.
package struct TextPosition: Sendable, Hashable {
    var line = 1
    var column = 1
}

extension ConfigurationNode {
    /// There are no aliases, which may stand for billions of values ("billion laughs"): Yams reads this in place of
    /// every `*`, a noncharacter, which Unicode reserves for internal use.
    private static let asterisk: Unicode.Scalar = "\u{10FFFF}"
    private typealias Names = [TextPosition: String]  // of keys that have another one meanwhile

    /// JSON, as YAML has it: there, a character beyond U+FFFF is one escape, not two.
    private static func yaml(ofJSON text: String) -> String {
        guard text.contains("\\u") else { return text }
        return text.replacing(#/\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)|\\./#) { match in
            let units = [match.1, match.2].compactMap { $0.flatMap { UInt16($0, radix: 16) } }
            return units.count == 2 ? String(decoding: units, as: UTF16.self) : String(match.0)
        }
    }

    /// Reads a text in YAML, or in JSON if its file is named so; `nil` if it is empty.
    ///
    /// Throws a syntax error, or that a key is duplicated: then it is the only problem of its file.
    static func root(of text: String, path: String) throws(ConfigurationError) -> Self? {
        let text = path.hasSuffix(".json") ? yaml(ofJSON: text) : text
        // Without Yams' tag resolution and constructors, which are slow: this module interprets scalars itself.
        let constructor = Constructor([:], [:], [:])
        var yaml = replacing("*", with: asterisk, in: text)
        var renamed: Names = [:]
        var duplicate: ConfigurationError?
        while true {
            let root: Node?
            do {
                root = try Parser(yaml: yaml, resolver: .basic, constructor: constructor, encoding: .utf8).singleRoot()
            } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
                // Yams has only the first place of a key. With another name there, it goes on, and `read` finds the
                // second.
                let name = replacing(asterisk, with: "*", in: keys.first ?? "")
                let place = TextPosition(context.mark)
                let first = ConfigurationError.duplicate(name, at: .file(path: path, place))
                guard renamed.count < 20, rename(place, in: &yaml, number: renamed.count) else { throw first }
                (renamed[place], duplicate) = (name, first)
                continue
            } catch {
                throw duplicate ?? ConfigurationError(error, in: text, path: path)
            }
            return try root.map { node throws(ConfigurationError) in try read(node, path, renamed) }
        }
    }

    /// Not Foundation's, which takes half a MiB at its first use.
    private static func replacing(_ old: Unicode.Scalar, with new: Unicode.Scalar, in text: String) -> String {
        guard text.unicodeScalars.contains(old) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == old ? new : $0 }))
    }

    /// Gives a key another name: a noncharacter, too, in place of its first character. Returns `false` if it has none.
    private static func rename(_ place: TextPosition, in yaml: inout String, number: Int) -> Bool {
        var lines = yaml.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .map { Array($0.unicodeScalars) }
        let (line, first) = (place.line - 1, place.column - 1)
        guard lines.indices.contains(line), first < lines[line].count else { return false }
        let index = ["\"", "'"].contains(lines[line][first]) ? first + 1 : first
        guard index < lines[line].count, let name = Unicode.Scalar(0xFDD0 + UInt32(number)) else { return false }
        lines[line][index] = name
        yaml = lines.map { String(String.UnicodeScalarView($0)) }.joined(separator: "\n")
        return true
    }

    private static func read(_ node: Node, _ path: String, _ renamed: Names) throws(ConfigurationError) -> Self {
        let place = Location.file(path: path, TextPosition(node.mark))
        switch node {
        case .scalar(let scalar):
            // As a text, it would be a path or a password that nobody means. Yams gives quotes the tag of strings.
            let isAlias = scalar.style == .plain && scalar.string.unicodeScalars.first == asterisk
            if isAlias || !["", Tag.Name.str.rawValue].contains(scalar.tag.rawValue) {
                throw ConfigurationError(place, "a value cannot begin with '*' or '!'; put quotes around it")
            }
            let text = replacing(asterisk, with: "*", in: scalar.string)
            let isNothing = scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(text)
            return Self(isNothing ? .nothing : .text(text), at: place)
        case .sequence(let sequence):
            var items: [Self] = []
            for item in sequence { items.append(try read(item, path, renamed)) }
            return Self(.list(items), at: place)
        case .mapping(let mapping):
            var entries: [String: Self] = [:]
            for (key, node) in mapping {
                let position = TextPosition(key.mark)
                let keyPlace = Location.file(path: path, position)
                let written = try read(key, path, renamed).text ?? key.scalar?.string
                guard let name = renamed[position] ?? written else {
                    throw ConfigurationError(keyPlace, "expected a name before ':'")
                }
                var value = try read(node, path, renamed)
                // Nothing at all has no position of its own.
                let isEmpty = value.isNothing && node.scalar?.string == ""
                if isEmpty { value.place = keyPlace }
                (value.keyPlace, value.isInline) = (keyPlace, !isEmpty && key.mark?.line == node.mark?.line)
                if entries.updateValue(value, forKey: name) != nil { throw .duplicate(name, at: keyPlace) }
            }
            return Self(.section(entries), at: place)
        case .alias: preconditionFailure("the text has no asterisk")
        }
    }
}

// MARK: - Messages

extension TextPosition {
    fileprivate init(_ mark: Mark?) {
        self.init(line: max(mark?.line ?? 1, 1), column: max(mark?.column ?? 1, 1))
    }
}

extension ConfigurationError {
    fileprivate static func duplicate(_ name: String, at place: ConfigurationMistake.Location) -> Self {
        Self(place, "the key \(QuotedText.name(name)) is duplicated")
    }

    /// A syntax error of Yams, in terms that the author of a config file understands.
    ///
    /// libYAML's own messages describe states of its scanner ("mapping values are not allowed in this context"). Those
    /// that occur in practice are replaced, the others are passed on.
    fileprivate init(_ error: any Error, in text: String, path: String) {
        var (position, message) = (TextPosition(), "syntax error: \(error)")
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        switch error {
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _):
            position = TextPosition(mark)
            let opened = context.map { TextPosition($0.mark) } ?? position
            message = Self.message(context.map { "\($0.text): \(problem)" } ?? problem, opened: opened)
            let isAtEnd = position.line > lines.count
            if isAtEnd || problem.contains("could not find expected ':'") || message.contains("closing quote") {
                position = opened
            }
        default: break
        }
        position.line = min(position.line, lines.count)
        // libYAML reports it in several ways. In braces, as in JSON, tabs are allowed.
        let isInBraces = text.first { !$0.isWhitespace } == "{"
        let indentation = lines.dropFirst(position.line - 1).first?.prefix(while: \.isWhitespace) ?? ""
        if !isInBraces, let tab = indentation.firstIndex(of: "\t") {
            position.column = indentation[..<tab].count + 1
            message = "found a tab; YAML is indented with spaces"
        }
        self.init(.file(path: path, position), message)
    }

    private static func message(_ problem: String, opened: TextPosition) -> String {
        if let message = messages.first(where: { problem.contains($0.key) })?.value { return message }
        let isInBrackets = problem.contains("flow sequence") || problem.contains("flow mapping")
        let bracket = "what begins with a bracket in line \(opened.line), column \(opened.column)"
        return isInBrackets ? "expected ',' or the end of \(bracket)" : "syntax error: \(problem)"
    }

    private static let messages: KeyValuePairs = [
        "quoted scalar: found unexpected": "this string has no closing quote",
        "expected node content": "expected a value here",
        "Maximum nesting level": "nested too deeply; settings are at most one section deep",
        "cannot start any token": "a value cannot begin with this character; put quotes around it",
        "mapping values are not allowed":
            "unexpected ':'; in this line or the one above, a space after a ':' is missing "
            + "(a no-break space is none), the indentation is wrong, or a text with ': ' in it needs quotes",
        "did not find expected key": expectedKey,
        "<document start>": expectedKey,
        "unknown escape character":
            "unknown escape after '\\'; write '\\\\' for a backslash, or put the string in single quotes",
    ]
    private static let expectedKey =
        "expected 'key: value' here; check the indentation of the line, and put quotes around "
        + "a text with brackets or quotes in it"
}
