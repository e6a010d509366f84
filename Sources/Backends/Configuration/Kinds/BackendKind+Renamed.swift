public import IndicatorCore

// What declared the settings of an app's kind before `Setting`.

/// Replaced by ``Setting``.
@available(*, unavailable, renamed: "Setting", message: "a Setting is for a property of a type of your own")
public struct BackendSetting: Sendable {
    /// Replaced by ``SettingForm``.
    public enum ValueType: Sendable {
        /// Replaced by ``SettingForm``.
        case string, strings, path, boolean, integer(ClosedRange<Int>), seconds, size, choice([String]),
            choices([String]), names
    }

    /// Replaced by ``Setting``.
    public init(
        _ name: String,
        _ type: ValueType,
        default defaultValue: BackendSettingValue? = nil,
        example: BackendSettingValue? = nil,
        summary: String,
        isRequired: Bool = false,
        isSecret: Bool = false,
        validate: @Sendable (BackendSettingValue) -> String? = { _ in nil }
    ) {}
}

/// Replaced by a type of the app's own.
@available(*, unavailable, message: "the settings are the properties of a type of your own")
public struct BackendSettings: Sendable {}

extension BackendKind {
    /// Replaced by ``init(name:summary:defaults:settings:make:isApplicable:availability:)``.
    @available(
        *,
        unavailable,
        message: "pass the defaults, a value of a type of your own, and a Setting for each property"
    )
    public init(
        name: String,
        summary: String,
        settings: [BackendSetting],
        make: @escaping @Sendable (BackendContext, BackendSettings) throws -> any IndicatorBackend
    ) {
        self.init(name: name, summary: summary, defaults: (), settings: []) { _, _ in throw ExpectedSetting("") }
    }
}
