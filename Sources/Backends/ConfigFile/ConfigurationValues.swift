import IndicatorCore

/// Settings that an app gives in its code.
///
/// As `overrides` they are stronger than the environment and the file; as `defaults` they are weaker, and take the
/// place of the package's own defaults. What is `nil` is left to the others.
public struct ConfigurationValues: Sendable, Hashable {
    /// Whether the indicator is on.
    public var isEnabled: Bool?
    /// How long work must be going on before the indicator is shown.
    public var startDelay: Duration?
    /// How long nothing must be going on before it is hidden again.
    public var completionDelay: Duration?
    /// How long it stays at least, once shown.
    public var minimumVisibleTime: Duration?
    /// The names of the notifications to observe: `indicator`, `alamofire`.
    public var observe: [String]?
    /// The names of the backends: kinds, or names of your own with a `kind` in ``settings``.
    public var backends: [String]?
    /// The settings of each backend, by its name. `kind` is the kind of one under a name of its own.
    public var settings: [String: [String: BackendSettingValue]]

    /// Makes values; by default none.
    public init(
        isEnabled: Bool? = nil,
        startDelay: Duration? = nil,
        completionDelay: Duration? = nil,
        minimumVisibleTime: Duration? = nil,
        observe: [String]? = nil,
        backends: [String]? = nil,
        settings: [String: [String: BackendSettingValue]] = [:]
    ) {
        self.isEnabled = isEnabled
        self.startDelay = startDelay
        self.completionDelay = completionDelay
        self.minimumVisibleTime = minimumVisibleTime
        self.observe = observe
        self.backends = backends
        self.settings = settings
    }

    func value(_ key: SettingKey) -> BackendSettingValue? {
        if let section = key.section { return settings[section]?[key.name] }
        switch key.name {
        case TopLevelSetting.enabled.name: return isEnabled.map { .boolean($0) }
        case TopLevelSetting.observe.name: return observe.map { .list($0) }
        case TopLevelSetting.backendsName: return backends.map { .list($0) }
        case IndicatorDelays.Setting.startDelay.rawValue: return startDelay.map { .duration($0) }
        case IndicatorDelays.Setting.completionDelay.rawValue: return completionDelay.map { .duration($0) }
        case IndicatorDelays.Setting.minimumVisibleTime.rawValue: return minimumVisibleTime.map { .duration($0) }
        default: return nil
        }
    }

    func kindName(of backend: String) -> String? {
        settings[backend]?[TopLevelSetting.kind].flatMap { if case .string(let name) = $0 { name } else { nil } }
    }
}
