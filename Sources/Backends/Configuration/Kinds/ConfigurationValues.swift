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
    /// The minimum time that it is visible.
    public var minimumVisibleTime: Duration?
    /// Whether the user has a screen reader: sentences instead of bars, and no animations.
    public var isAccessible: Bool?
    /// The names of the notifications to observe: `indicator`, `alamofire`.
    public var observe: [String]?
    /// The names of the backends: kinds, or other names with a `kind` in ``settings``.
    public var backends: [String]?
    /// The settings of each backend, by its name. One that is not named after its kind has the setting `kind`.
    public var settings: [String: [String: SettingValue]]

    /// Makes values; by default none.
    public init(
        isEnabled: Bool? = nil,
        startDelay: Duration? = nil,
        completionDelay: Duration? = nil,
        minimumVisibleTime: Duration? = nil,
        isAccessible: Bool? = nil,
        observe: [String]? = nil,
        backends: [String]? = nil,
        settings: [String: [String: SettingValue]] = [:]
    ) {
        (self.isEnabled, self.isAccessible, self.observe) = (isEnabled, isAccessible, observe)
        (self.startDelay, self.completionDelay) = (startDelay, completionDelay)
        (self.minimumVisibleTime, self.backends, self.settings) = (minimumVisibleTime, backends, settings)
    }
}

extension ConfigurationValues {
    /// Reads the settings at the top level of a config file, in the order of the reference.
    mutating func read(_ values: inout SettingsReader) {
        values.read("enabled", &isEnabled, .boolean, summary: "whether the indicator is on")
        values.read("startDelay", &startDelay, .seconds, summary: "how long work must last before anything is shown")
        values.read("completionDelay", &completionDelay, .seconds, summary: "the time without work before it is hidden")
        values.read("minimumVisibleTime", &minimumVisibleTime, .seconds, summary: "the minimum time that it is visible")
        values.read("accessible", &isAccessible, .boolean, summary: "for screen readers: sentences, no animations")
        values.read(
            "observe",
            &observe,
            .names(among: Self.notifications.map(\.key)),
            example: ["indicator", "alamofire"],
            summary: "the libraries whose tasks count as activities, by their notifications: indicator, alamofire"
        )
        values.read(
            Self.backendsName,
            &backends,
            .names(),
            example: ["terminalTitle", "logFile"],
            summary: "where to show the indicator: auto, for what fits where the app runs; kinds of backend; or names "
                + "of sections with a kind"
        )
    }

    /// The values at the top level, as they are written, and their settings.
    var recorded: SettingsReader {
        var (values, reader) = (self, SettingsReader())
        values.read(&reader)
        return reader
    }

    /// The settings at the top level, with the defaults.
    package static func settings(in registry: BackendRegistry) -> [Setting] { standard(in: registry).recorded.settings }

    /// Their names.
    static let names = Self().recorded.settings.map(\.name)

    static let backendsName = "backends"
    /// The notifications that `observe` can name.
    static let notifications: KeyValuePairs<String, TaskNotifications> = [
        "indicator": .indicator, "alamofire": .alamofire,
    ]
    /// The setting with the kind of a section.
    static let kindName = "kind"

    /// The values where nothing else is set: the unobtrusive backends, as far as a build has them.
    package static func standard(in registry: BackendRegistry) -> Self {
        let backends = ["terminalTitle", "dbusProperty"].filter { registry.kind(named: $0) != nil }
        var values = Self(isEnabled: true, isAccessible: false, observe: ["indicator"], backends: backends)
        let delays = IndicatorDelays.standard
        (values.startDelay, values.completionDelay) = (delays.startDelay, delays.completionDelay)
        values.minimumVisibleTime = delays.minimumVisibleTime
        return values
    }
}
