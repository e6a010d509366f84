package import DisplayText

/// How the value of a setting is written in a config file, in a variable and in code.
public struct SettingForm<Value: Sendable>: Sendable {
    let shape: SettingShape
    /// What messages and the reference call a value.
    let expectation: String
    /// Returns `nil` for a value of another form; throws what was expected.
    let read: @Sendable (BackendSettingValue) throws -> Value?
    let write: @Sendable (Value) -> BackendSettingValue?

    package init(
        _ shape: SettingShape,
        _ expectation: String,
        read: @escaping @Sendable (BackendSettingValue) throws -> Value?,
        write: @escaping @Sendable (Value) -> BackendSettingValue?
    ) {
        (self.shape, self.expectation, self.read, self.write) = (shape, expectation, read, write)
    }

    /// A text with a meaning of its own.
    ///
    /// - Parameters:
    ///   - read: makes the value. The text of an error that it throws is what was expected, such as `a color such as
    ///     #ff8000`: the message is then `expected a color such as #ff8000, found 'rde'`.
    ///   - text: the text of a value.
    public static func text(
        read: @escaping @Sendable (String) throws -> Value,
        text: @escaping @Sendable (Value) -> String
    ) -> Self {
        Self(.text, "a string", read: { try $0.text.map(read) }, write: { .string(text($0)) })
    }
}

/// What files and variables have for a value.
package enum SettingShape: Sendable, Hashable {
    /// A text, which may need quotes; the path of a file; a number, or `true` or `false`; one of these words.
    case text, path, word, choice([String])
    /// A list of texts; of names, each at most once; of some of these words, each at most once.
    case texts, names, choices([String])

    var isText: Bool { [.text, .path, .texts].contains(self) }

    var isList: Bool { if case .choices = self { true } else { self == .texts || self == .names } }

    var choices: [String]? {
        switch self {
        case .choice(let words), .choices(let words): words
        default: nil
        }
    }
}

extension SettingForm<String> {
    /// Any text.
    public static var text: Self { text(read: \.self, text: \.self) }

    /// The path of a file; a leading `~` is replaced by the home folder.
    public static var path: Self {
        Self(
            .path,
            "the path of a file",
            // A '~' that is left is another user's.
            read: { $0.text.flatMap { $0.isEmpty || $0.hasPrefix("~") ? nil : $0 } },
            write: { .string($0) }
        )
    }
}

extension SettingForm<[String]> {
    /// A list of texts, or one text with commas between them.
    public static var texts: Self {
        Self(.texts, "a string or a list of strings", read: \.list, write: { .list($0) })
    }

    /// A list of names, each at most once; of any, or of some.
    static func names(among words: [String]? = nil) -> Self {
        Self(words.map { .choices($0) } ?? .names, "a list of names", read: \.list, write: { .list($0) })
    }
}

extension SettingForm<Bool> {
    /// `true` or `false`.
    public static var boolean: Self {
        Self(.word, "true or false", read: \.boolean, write: { .boolean($0) })
    }
}

extension SettingForm<Int> {
    /// A whole number within a range.
    public static func integer(in range: ClosedRange<Int>) -> Self {
        let (first, last) = (range.lowerBound, range.upperBound)
        return Self(
            .word,
            "a whole number" + (last == .max ? ", \(first) or more" : " from \(first) to \(last)"),
            read: { ($0.integer ?? $0.text.flatMap { Int($0) }).flatMap { range.contains($0) ? $0 : nil } },
            write: { .integer($0) }
        )
    }

    /// A number of bytes: `1048576`, `512 kB`, `1 MiB`.
    public static var size: Self {
        Self(.word, "a number of bytes such as 1 MiB", read: \.bytes, write: { .integer($0) })
    }
}

extension SettingForm<Duration> {
    /// A number of seconds, zero or more; rounded to the nearest microsecond.
    public static var seconds: Self {
        Self(.word, "a number of seconds, zero or more", read: \.seconds, write: { .duration($0) })
    }
}

extension SettingForm where Value: RawRepresentable<String> & CaseIterable {
    /// One of the words of an enumeration.
    public static var choice: Self {
        let words = Value.allCases.map(\.rawValue)
        return Self(
            .choice(words),
            "one of \(words.joined(separator: ", "))",
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
            .choices(words),
            "a list of some of \(words.joined(separator: ", "))",
            read: { $0.list.map { Set($0.compactMap(Word.init)) } },
            write: { chosen in .list(words.filter { Word(rawValue: $0).map(chosen.contains) == true }) }
        )
    }
}

extension SettingForm<SnapshotFormat> {
    /// A format with placeholders.
    package static var format: Self { text(read: format(of:), text: \.description) }

    package static func format(of text: String) throws -> SnapshotFormat {
        do {
            return try SnapshotFormat(text)
        } catch {
            throw SettingFault("a format with known placeholders (\(error))")
        }
    }
}
