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

    package func value(_ key: SettingKey) -> BackendSettingValue? {
        if let section = key.section { return settings[section]?[key.name] }
        switch key.name {
        case "enabled": return isEnabled.map { .boolean($0) }
        case "accessible": return isAccessible.map { .boolean($0) }
        case TopLevelSetting.observe.name: return observe.map { .list($0) }
        case TopLevelSetting.backendsName: return backends.map { .list($0) }
        case "startDelay": return startDelay.map { .duration($0) }
        case "completionDelay": return completionDelay.map { .duration($0) }
        case "minimumVisibleTime": return minimumVisibleTime.map { .duration($0) }
        default: return nil
        }
    }

    func kindName(of backend: String) -> String? {
        settings[backend]?[TopLevelSetting.kind].flatMap { if case .string(let name) = $0 { name } else { nil } }
    }
}
