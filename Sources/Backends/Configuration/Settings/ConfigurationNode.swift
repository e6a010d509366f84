import DisplayText
import Yams

/// A value in a config file, with its position: not interpreted yet.
struct ConfigurationNode: Sendable {
    enum Content: Sendable {
        /// Nothing at all, or one of the spellings of null, without quotes.
        case nothing
        case text(String)
        case list([ConfigurationNode])
        case section([Entry])
    }

    /// One `key: value`.
    struct Entry: Sendable {
        var name: String
        var position: TextPosition
        var value: ConfigurationNode
    }

    var content: Content
    var position: TextPosition

    var isNothing: Bool { if case .nothing = content { true } else { false } }

    var text: String? { if case .text(let text) = content { text } else { nil } }

    /// The elements of a list.
    var items: [Self]? { if case .list(let items) = content { items } else { nil } }

    /// What a section has.
    var entries: [Entry]? { if case .section(let entries) = content { entries } else { nil } }

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

/// What is wrong at a position; without one, in the file as a whole.
struct TextProblem: Error {
    var position: TextPosition?
    var message: String

    init(position: TextPosition? = nil, _ message: String) {
        (self.position, self.message) = (position, message)
    }
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
    static func yaml(ofJSON text: String) -> String {
        guard text.contains("\\u") else { return text }
        return text.replacing(#/\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)|\\./#) { match in
            let units = [match.1, match.2].compactMap { $0.flatMap { UInt16($0, radix: 16) } }
            return units.count == 2 ? String(decoding: units, as: UTF16.self) : String(match.0)
        }
    }

    /// Reads a text in YAML; `nil` if it is empty.
    ///
    /// Throws a syntax error, or that a key is duplicated: then it is the only problem of its file.
    static func root(of text: String) throws(TextProblem) -> Self? {
        let root: Node?
        do {
            let yaml = replacing("*", with: asterisk, in: text)
            // Without Yams' tag resolution and constructors, which are slow: this module interprets scalars itself.
            let constructor = Constructor([:], [:], [:])
            root = try Parser(yaml: yaml, resolver: .basic, constructor: constructor, encoding: .utf8).singleRoot()
        } catch YamlError.duplicatedKeysInMapping(let names, let context) {
            let name = replacing(asterisk, with: "*", in: names.first ?? "")
            let position = secondPosition(of: name, after: TextPosition(context.mark), in: text)
            throw TextProblem(position: position, "the key \(QuotedText.name(name)) is duplicated")
        } catch {
            throw TextProblem(error, in: text)
        }
        return try root.map(read)
    }

    /// Where a key is for the second time: Yams reports the first position. Below it, or in the same line; the first
    /// one for a key with escapes, or one in braces whose line begins elsewhere.
    private static func secondPosition(of name: String, after first: TextPosition, in text: String) -> TextPosition {
        func isKey(_ text: Substring) -> Bool {
            let rest = text.drop { "\"'".contains($0) }
            return rest.hasPrefix(name) && rest.dropFirst(name.count).drop { "\"' ".contains($0) }.first == ":"
        }
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated().dropFirst(first.line - 1) {
            let start = line.unicodeScalars.index(
                line.startIndex,
                offsetBy: first.column - 1,
                limitedBy: line.endIndex
            )
            guard let start else { continue }
            if index > first.line - 1 {
                guard line[..<start].allSatisfy({ $0 == " " || $0 == "\t" }), isKey(line[start...]) else { continue }
                return TextPosition(line: index + 1, column: first.column)
            }
            let others = line[start...].indices.dropFirst(name.count)
            guard
                let second = others.first(where: { " ,".contains(line[line.index(before: $0)]) && isKey(line[$0...]) })
            else { continue }
            return TextPosition(line: first.line, column: line[..<second].unicodeScalars.count + 1)
        }
        return first
    }

    private static func read(_ node: Node) throws(TextProblem) -> Self {
        let content: Content
        switch node {
        case .scalar(let scalar):
            // As a text, it would be a path or a password that nobody means. Yams gives quotes the tag of strings.
            let isAlias = scalar.style == .plain && scalar.string.unicodeScalars.first == asterisk
            if isAlias || !["", Tag.Name.str.rawValue].contains(scalar.tag.rawValue) {
                let message = "a value cannot begin with '*' or '!'; put quotes around it"
                throw TextProblem(position: TextPosition(node.mark), message)
            }
            let text = replacing(asterisk, with: "*", in: scalar.string)
            let isNothing = scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(text)
            content = isNothing ? .nothing : .text(text)
        case .sequence(let sequence):
            var items: [Self] = []
            for item in sequence { items.append(try read(item)) }
            content = .list(items)
        case .mapping(let mapping):
            var entries: [Entry] = []
            for (key, value) in mapping {
                let position = TextPosition(key.mark)
                guard let name = try read(key).text ?? key.scalar?.string else {
                    throw TextProblem(position: position, "expected a name before ':'")
                }
                var entry = Entry(name: name, position: position, value: try read(value))
                // Nothing at all has no position of its own.
                if entry.value.isNothing, value.scalar?.string == "" { entry.value.position = position }
                entries.append(entry)
            }
            content = .section(entries)
        case .alias: preconditionFailure("the text has no asterisk")
        }
        return Self(content: content, position: TextPosition(node.mark))
    }
}

// MARK: - Messages

extension TextPosition {
    fileprivate init(_ mark: Mark?) {
        self.init(line: max(mark?.line ?? 1, 1), column: max(mark?.column ?? 1, 1))
    }
}

extension TextProblem {
    /// A syntax error of Yams, in terms that the author of a config file understands.
    ///
    /// libYAML's own messages describe states of its scanner ("mapping values are not allowed in this context"). Those
    /// that occur in practice are replaced, the others are passed on.
    fileprivate init(_ error: any Error, in text: String) {
        var position = TextPosition()
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
        default: message = "syntax error: \(error)"
        }
        position.line = min(position.line, lines.count)
        // libYAML reports it in several ways. In braces, as in JSON, tabs are allowed.
        let isInBraces = text.first { !$0.isWhitespace } == "{"
        let indentation = lines.dropFirst(position.line - 1).first?.prefix(while: \.isWhitespace) ?? ""
        if !isInBraces, let tab = indentation.firstIndex(of: "\t") {
            position.column = indentation[..<tab].count + 1
            message = "found a tab; YAML is indented with spaces"
        }
        self.position = position
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
