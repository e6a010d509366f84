public import IndicatorCore
import Foundation

/// How the value of a setting is written in a config file, in a variable and in code.
public struct SettingForm<Value: Sendable>: Sendable {
    /// What is written, whatever its meaning.
    enum Content {
        /// A number or a word.
        case word
        /// Any text, which may need quotes, and the path of a file, whose leading `~` is the home folder.
        case text, path
        /// A list of any texts, and of names, each at most once; in a text, with commas between them.
        case texts, names
    }

    /// What messages and the reference call a value, such as `a number of seconds, zero or more`.
    let expectation: String
    var content = Content.word
    /// The words that are possible; `nil`: any.
    var words: [String]?
    /// Whether it is the path of a file with a secret, which others should not be able to read.
    var isSecretFile = false
    /// Whether messages and tables must not show the value, such as a password. Default: `false`.
    public var isSecret = false
    /// Whether the default is no alternative to a value that is wrong: then the backend is not used. Default: `false`.
    public var isAddress = false
    /// Returns `nil` for a value of another form; throws what was expected.
    let read: @Sendable (SettingValue) throws -> Value?
    let write: @Sendable (Value) -> SettingValue

    var isList: Bool { content == .texts || content == .names }

    /// A text with a meaning of its own.
    ///
    /// - Parameters:
    ///   - read: makes the value. The text of an error that it throws, such as a ``SettingFault``, is what was
    ///     expected, such as `a color such as #ff8000`: the message is then `expected a color such as #ff8000, found
    ///     'rde'`.
    ///   - text: the text of a value.
    public static func text(
        read: @escaping @Sendable (String) throws -> Value,
        text: @escaping @Sendable (Value) -> String
    ) -> Self {
        Self(expectation: "a string", content: .text, read: { try $0.text.map(read) }, write: { .string(text($0)) })
    }

    /// A list of texts with a meaning of its own, or one text; `read` and `texts` as for a text.
    public static func texts(
        read: @escaping @Sendable ([String]) throws -> Value,
        texts: @escaping @Sendable (Value) -> [String]
    ) -> Self {
        Self(
            expectation: "a string or a list of strings",
            content: .texts,
            read: { try $0.list.map(read) },
            write: { .list(texts($0)) }
        )
    }
}

/// Why what is written is not the value of a setting: what was expected, as a noun with an article such as `a color
/// such as #ff8000`.
public struct SettingFault: Error, Hashable, CustomStringConvertible {
    /// What was expected.
    public let description: String

    /// Makes a fault.
    public init(_ expected: String) { description = expected }
}

extension SettingForm {
    /// The value of what a file, a variable or code has, and where its elements are. Of names and words, those that are
    /// right are the value.
    ///
    /// - Parameter report: called with what is wrong, and where.
    func value(
        of node: ConfigurationNode,
        in environment: [String: String],
        _ validate: (Value) -> String?,
        report: (_ place: ConfigurationMistake.Location, _ fault: String) -> Void
    ) -> (value: Value, places: [ConfigurationMistake.Location])? {
        var items = [node]
        switch node.content {
        case .list(let list) where isList: items = list
        case .text(let text) where isList:
            let parts = text.split(separator: ",", omittingEmptySubsequences: content == .texts || text.isEmpty)
            items = parts.map { ConfigurationNode(.text($0.trimmingCharacters(in: .whitespaces)), at: node.place) }
        case .text: break
        default:
            let mayNeedQuotes = node.isInline && content != .word && content != .names
            let hint = mayNeedQuotes ? "; put a text like this in quotes" : ""
            report(node.place, "expected \(expectation), found \(node.kind)\(hint)")
            return nil
        }
        var (texts, places): ([String], [ConfigurationMistake.Location]) = ([], [])
        var others: Set<String> = []
        for item in items {
            let (text, fault) = (item.text ?? "", fault(in: item, after: others))
            if let fault {
                report(item.place, fault)
                continue
            }
            texts.append(text)
            places.append(item.place)
            others.insert(text)
        }
        if texts.count < items.count, content != .names || texts.isEmpty { return nil }
        var expected = expectation
        do {
            let path = content == .path ? texts.first.map { HomeFolder.absolute($0, in: environment) } : nil
            if let value = try read(isList ? .list(texts) : .string(path ?? texts[0])) {
                guard let fault = validate(value) else { return (value, places) }
                expected = fault
            }
        } catch { expected = "\(error)" }
        report(node.place, unexpected(node.text ?? SettingValue.list(texts).configurationText, expected))
        return nil
    }

    /// What is not valid in a text, or in an element of a list, whatever the meaning of the value.
    private func fault(in item: ConfigurationNode, after others: Set<String>) -> String? {
        guard let text = item.text else { return "expected a text, found \(item.kind)" }
        if text.unicodeScalars.contains("\0") { return "the text contains a NUL character (U+0000); remove it" }
        if let words, !words.contains(text) {
            let suggestion = NearestName.find(for: text, among: words).map { ", did you mean '\($0)'?" } ?? ""
            return unexpected(text, "one of \(words.joined(separator: ", "))") + suggestion
        }
        guard content == .names else { return nil }
        if text.isEmpty { return "expected a name, found an empty string" }
        return others.contains(text) ? "'\(QuotedText.shortened(text))' is duplicated" : nil
    }

    private func unexpected(_ text: String, _ expected: String) -> String {
        var found = text.isEmpty ? "an empty string" : isSecret ? "a hidden value" : "'\(QuotedText.shortened(text))'"
        // The user name and password of a URL.
        if !isSecret, let end = text.lastIndex(of: "@"), text[..<end].contains(":") {
            found = "'…\(QuotedText.shortened(String(text[end...])))'"
        }
        return "expected \(expected), found \(found)"
    }
}

// MARK: - The forms

extension SettingForm<String> {
    /// Any text.
    public static var text: Self { text(read: \.self, text: \.self) }

    /// A text that messages and tables do not show, such as a password.
    public static var secret: Self {
        var form = text
        form.isSecret = true
        return form
    }

    /// The path of a file, which becomes absolute; a leading `~` is replaced by the home folder.
    public static var path: Self {
        // A '~' that is left is another user's.
        Self(
            expectation: "the path of a file",
            content: .path,
            read: { $0.text.flatMap { $0.isEmpty || $0.hasPrefix("~") ? nil : $0 } },
            write: { .string($0) }
        )
    }

    /// The path of a file with a secret: the user is warned if others can read it.
    public static var secretFile: Self {
        var form = path
        form.isSecretFile = true
        return form
    }
}

extension SettingForm<[String]> {
    /// A list of texts, or one text with commas between them.
    public static var texts: Self { texts(read: \.self, texts: \.self) }

    /// A list of names, each at most once; of any, or of some.
    static func names(among words: [String]? = nil) -> Self {
        Self(expectation: "a list of names", content: .names, words: words, read: \.list, write: { .list($0) })
    }
}

extension SettingForm<Bool> {
    /// `true` or `false`, as YAML 1.1 and variables may spell it.
    public static var boolean: Self {
        Self(expectation: "true or false", read: \.boolean, write: { .string("\($0)") })
    }
}

extension SettingForm<Int> {
    /// A whole number within a range.
    public static func integer(in range: ClosedRange<Int>) -> Self {
        let (first, last) = (range.lowerBound, range.upperBound)
        return Self(
            expectation: "a whole number" + (last == .max ? ", \(first) or more" : " from \(first) to \(last)"),
            read: { $0.text.flatMap { Int($0) }.flatMap { range.contains($0) ? $0 : nil } },
            write: { .string("\($0)") }
        )
    }

    /// A number of bytes: `1048576`, `512 kB`, `1 MiB`.
    public static var size: Self {
        Self(expectation: "a number of bytes such as 1 MiB", read: \.bytes, write: { .string("\($0)") })
    }
}

extension SettingForm<Duration> {
    /// A number of seconds, zero or more; rounded to the nearest microsecond.
    public static var seconds: Self {
        Self(expectation: "a number of seconds, zero or more", read: \.seconds, write: { .string($0.secondsText) })
    }

    /// A number of seconds above zero.
    public static var time: Self {
        let read = { @Sendable (value: SettingValue) in value.seconds.flatMap { $0 > .zero ? $0 : nil } }
        return Self(expectation: "a number of seconds above zero", read: read, write: seconds.write)
    }
}

extension SettingForm where Value: RawRepresentable<String> & CaseIterable {
    /// One of the words of an enumeration.
    public static var choice: Self {
        let words = Value.allCases.map(\.rawValue)
        return Self(
            expectation: "one of \(words.joined(separator: ", "))",
            words: words,
            read: { $0.text.flatMap(Value.init) },
            write: { .string($0.rawValue) }
        )
    }
}

extension SettingForm {
    /// A list of some of the words of an enumeration, each at most once.
    public static func choices<Word>() -> Self
    where Value == Set<Word>, Word: RawRepresentable<String> & CaseIterable & Sendable {
        let words = Word.allCases.map(\.rawValue)
        return Self(
            expectation: "a list of some of \(words.joined(separator: ", "))",
            content: .names,
            words: words,
            read: { $0.list.map { Set($0.compactMap(Word.init)) } },
            write: { chosen in .list(words.filter { Word(rawValue: $0).map(chosen.contains) == true }) }
        )
    }
}

extension SettingForm<SnapshotFormat> {
    /// A format with placeholders.
    public static var format: Self { text(read: SnapshotFormat.init(setting:), text: \.description) }
}

extension SettingForm<SnapshotFormat?> {
    /// A format with placeholders; an empty text is a value, too: it stands for none.
    public static var formatOrNone: Self {
        text(read: { $0.isEmpty ? nil : try SnapshotFormat(setting: $0) }, text: { $0?.description ?? "" })
    }
}

extension SnapshotFormat {
    fileprivate init(setting text: String) throws(SettingFault) {
        do { try self.init(text) } catch { throw SettingFault("a format with known placeholders (\(error))") }
    }
}
