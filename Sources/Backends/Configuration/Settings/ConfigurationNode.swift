import DisplayText
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
    /// There are no aliases: Yams would expand them to billions of values, if they refer to each other ("billion
    /// laughs"). So it reads this in place of every `*`: a noncharacter, which Unicode reserves for internal use, but
    /// YAML allows.
    private static let asterisk: Unicode.Scalar = "\u{10FFFF}"

    private static func replacing(_ scalar: Unicode.Scalar, with other: Unicode.Scalar, in text: String) -> String {
        guard text.unicodeScalars.contains(scalar) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == scalar ? other : $0 }))
    }

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
        var names: [String] = []
        var duplicate: ConfigurationError?
        while true {
            let root: Node?
            do {
                root = try Parser(yaml: yaml, resolver: .basic, constructor: constructor, encoding: .utf8).singleRoot()
            } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
                // Yams has only the first place of a key. With another name there, it goes on, and `read` finds the
                // second.
                let name = replacing(asterisk, with: "*", in: keys.first ?? "")
                let first = ConfigurationError.duplicate(name, at: .file(path: path, TextPosition(context.mark)))
                guard names.count < 20, rename(context.mark, in: &yaml, number: names.count) else { throw first }
                names.append(name)
                duplicate = first
                continue
            } catch {
                throw duplicate ?? ConfigurationError(error, in: text, path: path)
            }
            return try root.map { node throws(ConfigurationError) in try read(node, path, names) }
        }
    }

    /// The first of the names of keys that are duplicated: noncharacters, too.
    private static let firstName: UInt32 = 0xFDD0

    /// Gives a key another name, in place of its first character. Returns `false` if it has none.
    private static func rename(_ mark: Mark, in yaml: inout String, number: Int) -> Bool {
        let lines = yaml.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        var scalars = yaml.unicodeScalars
        guard let line = lines.dropFirst(mark.line - 1).first, let name = Unicode.Scalar(firstName + UInt32(number)),
            var index = scalars.index(line.startIndex, offsetBy: mark.column - 1, limitedBy: line.endIndex)
        else { return false }
        if index < line.endIndex, "\"'".unicodeScalars.contains(scalars[index]) { scalars.formIndex(after: &index) }
        guard index < line.endIndex else { return false }
        scalars.replaceSubrange(index...index, with: [name])
        yaml = String(scalars)
        return true
    }

    /// - Parameter names: those of the keys with another name.
    private static func read(_ node: Node, _ path: String, _ names: [String]) throws(ConfigurationError) -> Self {
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
            for item in sequence { items.append(try read(item, path, names)) }
            return Self(.list(items), at: place)
        case .mapping(let mapping):
            var entries: [String: Self] = [:]
            for (key, node) in mapping {
                let keyPlace = Location.file(path: path, TextPosition(key.mark))
                guard var name = try read(key, path, names).text ?? key.scalar?.string else {
                    throw ConfigurationError(keyPlace, "expected a name before ':'")
                }
                let number = name.unicodeScalars.first.map { Int($0.value) - Int(firstName) } ?? -1
                if names.indices.contains(number) { name = names[number] }
                var value = try read(node, path, names)
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
        func isAbout(_ parts: String...) -> Bool { parts.contains(where: problem.contains) }
        return if isAbout("quoted scalar: found unexpected") {
            "this string has no closing quote"
        } else if isAbout("flow sequence", "flow mapping") {
            "expected ',' or the end of what begins with a bracket in line \(opened.line), column \(opened.column)"
        } else if isAbout("expected node content") {
            "expected a value here"
        } else if isAbout("Maximum nesting level") {
            "nested too deeply; settings are at most one section deep"
        } else if isAbout("cannot start any token") {
            "a value cannot begin with this character; put quotes around it"
        } else if isAbout("mapping values are not allowed") {
            "unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is "
                + "none), the indentation is wrong, or a text with ': ' in it needs quotes"
        } else if isAbout("did not find expected key", "<document start>") {
            "expected 'key: value' here; check the indentation of the line, and put quotes around a text with "
                + "brackets or quotes in it"
        } else if isAbout("unknown escape character") {
            "unknown escape after '\\'; write '\\\\' for a backslash, or put the string in single quotes"
        } else {
            "syntax error: \(problem)"
        }
    }
}
