import DisplayText
import IndicatorCore

/// Settings that an app sets in code.
///
/// As `overrides` they have precedence over the environment and the file. As `defaults` they have the lowest
/// precedence, and replace the package's own defaults. `nil` leaves a setting to the other sources.
public struct ConfigurationValues: Sendable, Hashable {
    /// Whether the indicator is on.
    public var isEnabled: Bool?
    /// How long work must last before the indicator is shown.
    public var startDelay: Duration?
    /// How long there must be no work before it is hidden.
    public var completionDelay: Duration?
    /// The minimum time that it stays visible.
    public var minimumVisibleTime: Duration?
    /// Whether the user has a screen reader: sentences instead of bars, and no animations.
    public var isAccessible: Bool?
    /// The names of the notifications to observe: `indicator`, `alamofire`.
    public var observe: [String]?
    /// The names of the backends: kinds, or other names with a `kind` in ``settings``.
    public var backends: [String]?
    /// The settings of each backend, by its name. One that is not named after its kind has the setting `kind`.
    public var settings: [String: [String: BackendSettingValue]]

    /// Makes values; by default none.
    public init(
        isEnabled: Bool? = nil,
        startDelay: Duration? = nil,
        completionDelay: Duration? = nil,
        minimumVisibleTime: Duration? = nil,
        isAccessible: Bool? = nil,
        observe: [String]? = nil,
        backends: [String]? = nil,
        settings: [String: [String: BackendSettingValue]] = [:]
    ) {
        self.isEnabled = isEnabled
        self.startDelay = startDelay
        self.completionDelay = completionDelay
        self.minimumVisibleTime = minimumVisibleTime
        self.isAccessible = isAccessible
        self.observe = observe
        self.backends = backends
        self.settings = settings
    }

    func value(_ key: SettingKey) -> BackendSettingValue? {
        if let section = key.section { return settings[section]?[key.name] }
        switch key.name {
        case TopLevelSetting.observe.name: return observe.map { .list($0) }
        case TopLevelSetting.backendsName: return backends.map { .list($0) }
        default: return GeneralSettings.all.first { $0.setting.name == key.name }?.inCode(self)
        }
    }
}

/// The settings of the indicator itself, which are at the top level of a config file.
struct GeneralSettings: Sendable {
    var isEnabled = true
    var delays = IndicatorDelays.standard
    var isAccessible = false

    typealias Entry = (setting: Setting<Self>, inCode: @Sendable (ConfigurationValues) -> BackendSettingValue?)

    /// Each setting, and its value in code.
    static let all: [Entry] = [
        entry("enabled", \.isEnabled, \.isEnabled, .boolean, "whether the indicator is on"),
        entry(
            "startDelay",
            \.delays.startDelay,
            \.startDelay,
            .seconds,
            "how long work must last before the indicator is shown"
        ),
        entry(
            "completionDelay",
            \.delays.completionDelay,
            \.completionDelay,
            .seconds,
            "how long there must be no work before it is hidden"
        ),
        entry(
            "minimumVisibleTime",
            \.delays.minimumVisibleTime,
            \.minimumVisibleTime,
            .seconds,
            "the minimum time that it stays visible"
        ),
        entry(
            "accessible",
            \.isAccessible,
            \.isAccessible,
            .boolean,
            "for screen readers: sentences instead of bars, and no animations"
        ),
    ]

    private static func entry<Value>(
        _ name: String,
        _ property: Setting<Self>.Property<Value>,
        _ inCode: any KeyPath<ConfigurationValues, Value?> & Sendable,
        _ form: SettingForm<Value>,
        _ summary: String
    ) -> Entry {
        (Setting(name, property, form, summary: summary), { $0[keyPath: inCode].flatMap(form.write) })
    }

    static let definitions = all.map { $0.setting.definition(defaults: Self()) }

    /// Settings with these values, which are checked.
    init(_ values: BackendKind.Values = [:]) {
        for (setting, _) in Self.all {
            if let value = values[setting.name] { try? setting.set(value, &self) }
        }
    }
}

/// The settings at the top level of a config file, outside the backends' sections.
enum TopLevelSetting {
    /// Which notifications the manager observes.
    static let observe = SettingDefinition(
        name: "observe",
        type: .names,
        summary: "the libraries whose tasks count as activities, by their notifications: indicator, alamofire",
        defaultValue: .list([TaskNotifications.indicator.name]),
        example: .list(["indicator", "alamofire"])
    )
    /// Which backends to use.
    static func backends(in registry: BackendRegistry) -> SettingDefinition {
        SettingDefinition(
            name: backendsName,
            type: .names,
            summary: "where to show the indicator: auto, for what fits where the app runs; kinds of backend; or names "
                + "of sections with a kind",
            defaultValue: .list(defaultBackends.filter { registry.kind(named: $0) != nil }),
            example: .list(["terminalTitle", "logFile"])
        )
    }
    static let backendsName = "backends"
    /// The default kinds, as far as this build has them: the unobtrusive ones.
    static let defaultBackends = ["terminalTitle", "dbusProperty"]

    static func all(in registry: BackendRegistry) -> [SettingDefinition] {
        GeneralSettings.definitions + [observe, backends(in: registry)]
    }

    static let names = GeneralSettings.all.map(\.setting.name) + [observe.name, backendsName]

    /// The setting with a section's kind.
    static let kind = "kind"

    /// The notifications that `observe` can name.
    static let notifications: [TaskNotifications] = [.indicator, .alamofire]
}

/// The full name of a setting: `startDelay`, or `logFile.path`.
package struct SettingKey: Hashable, CustomStringConvertible {
    var section: String?
    var name: String

    package var description: String { section.map { "\($0).\(name)" } ?? name }

    /// The prefix of all settings' variables.
    static let variablePrefix = "INDICATOR_"

    /// The environment variable of the setting: `INDICATOR_START_DELAY`, `INDICATOR_LOG_FILE_PATH`.
    ///
    /// Upper case, with `_` between a lowercase and an uppercase letter and in place of every other character.
    var variable: String {
        var variable = Self.variablePrefix
        for character in description {
            if character.isUppercase, variable.last?.isLowercase == true { variable += "_" }
            variable.append(character.isLetter || character.isNumber ? character : "_")
        }
        return variable.uppercased()
    }
}
