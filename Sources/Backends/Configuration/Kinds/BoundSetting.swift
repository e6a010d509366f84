package import DisplayText

/// The settings of a kind of backend, as a type whose properties they are bound to.
package protocol KindSettings: Sendable {
    /// The settings if none is given.
    static var standard: Self { get }
    /// The settings that a section of the kind may have, in the order of the reference.
    static var bindings: [BoundSetting<Self>] { get }
    /// Takes over what does not come from the section.
    mutating func adopt(_ context: BackendContext)
}

extension KindSettings {
    /// The settings from a section of the config file.
    package init(_ settings: BackendSettings) throws {
        self = .standard
        for binding in Self.bindings {
            if let value = settings[binding.definition.name] { try binding.set(value, &self) }
        }
    }

    package mutating func adopt(_ context: BackendContext) {}
}

/// A setting that is bound to a property, so that its name is written once, its default is that of the property, and
/// its value is read and checked in one place.
package struct BoundSetting<Settings: Sendable>: Sendable {
    package typealias Property<Value> = any WritableKeyPath<Settings, Value> & Sendable

    private(set) var definition: BackendSetting
    fileprivate let set: @Sendable (BackendSettingValue, inout Settings) throws -> Void

    /// The same setting of a property of other settings.
    package func within<Outer>(_ property: BoundSetting<Outer>.Property<Settings>) -> BoundSetting<Outer> {
        BoundSetting<Outer>(definition: definition) { [set] value, settings in
            try set(value, &settings[keyPath: property])
        }
    }

    /// The same setting, the path of a file with a secret.
    package var ofSecretFile: Self {
        var copy = self
        copy.definition.isSecretFile = true
        return copy
    }
}

extension BoundSetting where Settings: KindSettings {
    /// Binds a definition to what a closure does with a value. The closure throws what was expected instead.
    package init(
        _ definition: BackendSetting,
        set: @escaping @Sendable (BackendSettingValue, inout Settings) throws -> Void
    ) {
        (self.definition, self.set) = (definition, set)
        self.definition.validate = { value in
            var settings = Settings.standard
            do {
                try set(value, &settings)
                return nil
            } catch {
                return "\(error)"
            }
        }
    }

    /// Binds a setting to a property.
    ///
    /// - Parameters:
    ///   - name: the name in the config file.
    ///   - property: the property.
    ///   - type: the accepted values; by default those of the property's type.
    ///   - example: a value for the reference; by default the property's default.
    ///   - summary: what it does, in a few words.
    ///   - isRequired: whether a section without it is an error.
    ///   - isSecret: whether messages and tables must not show the value.
    ///   - validate: returns what was expected instead of a value of the type; by default, all are valid.
    package init<Value: SettingValue>(
        _ name: String,
        _ property: Property<Value>,
        _ type: BackendSetting.ValueType = Value.settingType,
        example: BackendSettingValue? = nil,
        summary: String,
        isRequired: Bool = false,
        isSecret: Bool = false,
        validate: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        let definition = BackendSetting(
            name,
            type,
            default: isRequired ? nil : Settings.standard[keyPath: property].settingValue,
            example: example,
            summary: summary,
            isRequired: isRequired,
            isSecret: isSecret
        )
        self.init(definition) { value, settings in
            let read = try Value(settingValue: value)
            if let expected = validate(read) { throw ExpectedSetting(expected) }
            settings[keyPath: property] = read
        }
    }
}

/// What was expected instead of the value of a setting, such as `a format with known placeholders`.
package struct ExpectedSetting: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A type of properties that settings are bound to.
package protocol SettingValue: Sendable {
    /// The values that a setting accepts.
    static var settingType: BackendSetting.ValueType { get }
    /// The value of the setting; `nil` if the kind determines it at run time.
    var settingValue: BackendSettingValue? { get }
    /// Reads a value of ``settingType``. Throws what was expected instead.
    init(settingValue: BackendSettingValue) throws
}

extension BackendSettingValue {
    /// The text of a `string`, `path` or `choice`.
    package var text: String {
        get throws {
            guard case .string(let text) = self else { throw ExpectedSetting("a string") }
            return text
        }
    }
}

extension String: SettingValue {
    package static var settingType: BackendSetting.ValueType { .string }
    package var settingValue: BackendSettingValue? { .string(self) }
    package init(settingValue: BackendSettingValue) throws { self = try settingValue.text }
}

extension Bool: SettingValue {
    package static var settingType: BackendSetting.ValueType { .boolean }
    package var settingValue: BackendSettingValue? { .boolean(self) }
    package init(settingValue: BackendSettingValue) throws {
        guard case .boolean(let value) = settingValue else { throw ExpectedSetting("true or false") }
        self = value
    }
}

extension Int: SettingValue {
    package static var settingType: BackendSetting.ValueType { .integer(0...Int.max) }
    package var settingValue: BackendSettingValue? { .integer(self) }
    package init(settingValue: BackendSettingValue) throws {
        guard case .integer(let value) = settingValue else { throw ExpectedSetting("a whole number") }
        self = value
    }
}

extension Duration: SettingValue {
    package static var settingType: BackendSetting.ValueType { .seconds }
    package var settingValue: BackendSettingValue? { .duration(self) }
    package init(settingValue: BackendSettingValue) throws {
        guard case .duration(let value) = settingValue else { throw ExpectedSetting("a number of seconds") }
        self = value
    }
}

extension [String]: SettingValue {
    package static var settingType: BackendSetting.ValueType { .strings }
    package var settingValue: BackendSettingValue? { .list(self) }
    package init(settingValue: BackendSettingValue) throws {
        guard case .list(let values) = settingValue else { throw ExpectedSetting("a list of strings") }
        self = values
    }
}

extension Optional: SettingValue where Wrapped: SettingValue {
    package static var settingType: BackendSetting.ValueType { Wrapped.settingType }
    package var settingValue: BackendSettingValue? { self?.settingValue }
    package init(settingValue: BackendSettingValue) throws { self = try Wrapped(settingValue: settingValue) }
}

/// A type with a value for each word that a setting accepts.
package protocol SettingChoice: SettingValue, Hashable, RawRepresentable<String>, CaseIterable {}

extension SettingChoice {
    package static var settingType: BackendSetting.ValueType { .choice(allCases.map(\.rawValue)) }
    package var settingValue: BackendSettingValue? { .string(rawValue) }
    package init(settingValue: BackendSettingValue) throws {
        guard let value = try Self(rawValue: settingValue.text) else { throw ExpectedSetting("one of its words") }
        self = value
    }
}

extension Set: SettingValue where Element: SettingChoice {
    package static var settingType: BackendSetting.ValueType { .choices(Element.allCases.map(\.rawValue)) }
    package var settingValue: BackendSettingValue? { .list(Element.allCases.filter(contains).map(\.rawValue)) }
    package init(settingValue: BackendSettingValue) throws {
        self = try Set([String](settingValue: settingValue).map { try Element(settingValue: .string($0)) })
    }
}

extension SnapshotFormat: SettingValue {
    package static var settingType: BackendSetting.ValueType { .string }
    package var settingValue: BackendSettingValue? { .string(description) }
    package init(settingValue: BackendSettingValue) throws {
        let text = try settingValue.text
        do {
            try self.init(text)
        } catch {
            throw ExpectedSetting("a format with known placeholders (\(error))")
        }
    }
}

extension WhenDone: SettingChoice {}

extension BoundSetting where Settings: KindSettings {
    /// The setting for the outcomes to report.
    package static func whenDone(_ property: Property<WhenDone>) -> Self {
        Self("whenDone", property, summary: "which activities are reported when they end; cancelled ones never are")
    }

    /// The setting for how long an activity must have lasted.
    package static func after(_ property: Property<Duration>) -> Self {
        Self("after", property, summary: "how long an activity must have lasted for that")
    }
}
