package import DisplayText

/// A setting of a kind of backend, for a property of the type that has the kind's settings: its name, how its value is
/// written, and the property that gets the value. The property's own value is the default.
///
/// ```swift
/// struct LEDSettings {
///     var path = ""
///     var blinks = false
/// }
///
/// let settings: [Setting<LEDSettings>] = [
///     Setting("path", \.path, .path, summary: "the LED's brightness file", isRequired: true),
///     Setting("blinks", \.blinks, .boolean, summary: "whether the LED blinks"),
/// ]
/// ```
public struct Setting<Settings: Sendable>: Sendable {
    /// A property of the settings.
    public typealias Property<Value> = any WritableKeyPath<Settings, Value> & Sendable

    private var definition: SettingDefinition
    private let defaultValue: @Sendable (Settings) -> BackendSettingValue?
    /// Changes the property. Throws what was expected instead of the value.
    let set: @Sendable (BackendSettingValue, inout Settings) throws -> Void

    /// The name in the config file.
    var name: String { definition.name }

    /// Makes a setting.
    ///
    /// - Parameters:
    ///   - name: the name in the config file, in camel case.
    ///   - property: the property that gets the value.
    ///   - form: how the value is written.
    ///   - example: a value for the reference of all settings; by default the property's default.
    ///   - summary: what it does, in a few words.
    ///   - isRequired: whether a section without it is an error. The property's default is then never used.
    ///   - isSecret: whether messages and tables must not show the value, such as a password.
    ///   - validate: checks what the form cannot express. Returns what was expected, as a noun with an article such as
    ///     `an even number`, or `nil` if the value is valid. The message is then `indicator.yaml:3:9: error: 'length':
    ///     expected an even number, found '3'`.
    public init<Value: Sendable>(
        _ name: String,
        _ property: Property<Value>,
        _ form: SettingForm<Value>,
        example: Value? = nil,
        summary: String,
        isRequired: Bool = false,
        isSecret: Bool = false,
        validate: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        definition = SettingDefinition(
            name: name,
            type: form.type,
            summary: summary,
            example: example.flatMap(form.write),
            isRequired: isRequired,
            isSecret: isSecret
        )
        defaultValue = { form.write($0[keyPath: property]) }
        set = { value, settings in
            guard let read = try form.read(value) else { throw ExpectedSetting(form.type.expectation) }
            if let expected = validate(read) { throw ExpectedSetting(expected) }
            settings[keyPath: property] = read
        }
    }

    /// Makes a setting that may be without a value: then the property is `nil`, and the kind decides.
    public init<Value: Sendable>(
        _ name: String,
        _ property: Property<Value?>,
        _ form: SettingForm<Value>,
        example: Value? = nil,
        summary: String,
        isSecret: Bool = false,
        validate: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        self.init(
            name,
            property,
            SettingForm(form.type, read: { try form.read($0).map(Optional.some) }, write: { $0.flatMap(form.write) }),
            example: example,
            summary: summary,
            isSecret: isSecret,
            validate: { $0.flatMap(validate) }
        )
    }

    private init(
        _ definition: SettingDefinition,
        defaultValue: @escaping @Sendable (Settings) -> BackendSettingValue?,
        set: @escaping @Sendable (BackendSettingValue, inout Settings) throws -> Void
    ) {
        (self.definition, self.defaultValue, self.set) = (definition, defaultValue, set)
    }

    /// The same setting of a part of other settings.
    package func within<Outer>(_ part: Setting<Outer>.Property<Settings>) -> Setting<Outer> {
        Setting<Outer>(
            definition,
            defaultValue: { [defaultValue] in defaultValue($0[keyPath: part]) },
            set: { [set] value, settings in try set(value, &settings[keyPath: part]) }
        )
    }

    /// The same setting, the path of a file with a secret.
    package var ofSecretFile: Self {
        var copy = self
        copy.definition.isSecretFile = true
        return copy
    }

    /// What reading and writing it needs, whatever the type of the settings.
    func definition(defaults: Settings) -> SettingDefinition {
        var definition = definition
        if !definition.isRequired { definition.defaultValue = defaultValue(defaults) }
        definition.expectation = { [set] value in
            var settings = defaults
            do {
                try set(value, &settings)
                return nil
            } catch {
                return "\(error)"
            }
        }
        return definition
    }
}

/// A setting without the type of its kind's settings.
package struct SettingDefinition: Sendable {
    package let name: String
    let type: SettingType
    let summary: String
    /// The value if none is given; `nil` if the kind determines it at run time.
    package internal(set) var defaultValue: BackendSettingValue?
    /// A value for the reference of all settings.
    var example: BackendSettingValue?
    /// Whether a section without it is an error.
    var isRequired = false
    /// Whether messages and tables must not show the value.
    var isSecret = false
    /// Whether it is the path of a file with a secret, which others should not be able to read.
    var isSecretFile = false
    /// What was expected instead of a value of the type; `nil` if the value is valid.
    package internal(set) var expectation: @Sendable (BackendSettingValue) -> String? = { _ in nil }
}

/// How the value of a setting is written in a config file, in a variable and in code.
public struct SettingForm<Value: Sendable>: Sendable {
    let type: SettingType
    /// Returns `nil` for a value of another type.
    let read: @Sendable (BackendSettingValue) throws -> Value?
    let write: @Sendable (Value) -> BackendSettingValue?

    package init(
        _ type: SettingType,
        read: @escaping @Sendable (BackendSettingValue) throws -> Value?,
        write: @escaping @Sendable (Value) -> BackendSettingValue?
    ) {
        (self.type, self.read, self.write) = (type, read, write)
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
        Self(.string, read: { try $0.text.map(read) }, write: { .string(text($0)) })
    }
}

extension SettingForm<String> {
    /// Any text.
    public static var text: Self { Self(.string, read: \.text, write: { .string($0) }) }
    /// The path of a file; a leading `~` is replaced by the home folder.
    public static var path: Self { Self(.path, read: \.text, write: { .string($0) }) }
}

extension SettingForm<[String]> {
    /// A list of texts, or one text with commas between them.
    public static var texts: Self { Self(.strings, read: \.list, write: { .list($0) }) }
}

extension SettingForm<Bool> {
    /// `true` or `false`.
    public static var boolean: Self { Self(.boolean, read: \.boolean, write: { .boolean($0) }) }
}

extension SettingForm<Int> {
    /// A whole number within a range.
    public static func integer(in range: ClosedRange<Int>) -> Self {
        Self(.integer(range), read: \.integer, write: { .integer($0) })
    }

    /// A number of bytes: `1048576`, `512 kB`, `1 MiB`.
    public static var size: Self { Self(.size, read: \.integer, write: { .integer($0) }) }
}

extension SettingForm<Duration> {
    /// A number of seconds, zero or more; rounded to the nearest microsecond.
    public static var seconds: Self { Self(.seconds, read: \.duration, write: { .duration($0) }) }
}

extension SettingForm where Value: RawRepresentable<String> & CaseIterable {
    /// One of the words of an enumeration.
    public static var choice: Self {
        let words = Value.allCases.map(\.rawValue)
        return Self(.choice(words), read: { $0.text.flatMap(Value.init) }, write: { .string($0.rawValue) })
    }
}

extension SettingForm {
    /// A list of some of the words of an enumeration, each at most once.
    public static func choices<Word>() -> Self
    where Value == Set<Word>, Word: RawRepresentable<String> & CaseIterable & Sendable {
        Self(
            .choices(Word.allCases.map(\.rawValue)),
            read: { $0.list.map { Set($0.compactMap(Word.init)) } },
            write: { words in .list(Word.allCases.filter(words.contains).map(\.rawValue)) }
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
            throw ExpectedSetting("a format with known placeholders (\(error))")
        }
    }
}

extension Setting {
    /// The setting for the outcomes to report.
    package static func whenDone(_ property: Property<WhenDone>) -> Self {
        let summary = "which activities are reported when they end; cancelled ones never are"
        return Self("whenDone", property, .choice, summary: summary)
    }

    /// The setting for how long an activity must have lasted.
    package static func after(_ property: Property<Duration>) -> Self {
        Self("after", property, .seconds, summary: "how long an activity must have lasted for that")
    }
}

/// What was expected instead of the value of a setting, such as `a format with known placeholders`.
package struct ExpectedSetting: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
