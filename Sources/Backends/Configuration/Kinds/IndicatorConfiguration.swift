package import IndicatorCore

/// The configuration of an app's indicator, merged from the config file, the environment and the app's code.
///
/// `IndicatorManager.configured(for:)` makes an indicator from one. Load one yourself to show the user the effective
/// settings and their sources:
///
/// ```swift
/// let configuration = try IndicatorConfiguration.load(from: ConfigurationSource(for: "my-app"))
/// for setting in configuration.settings {
///     print(setting.key, setting.value ?? "-", setting.source)
/// }
/// ```
public struct IndicatorConfiguration: Sendable {
    /// A backend to make.
    package struct Backend: Sendable {
        /// What it is made with.
        package var context: BackendContext
        /// Its kind.
        package let kind: BackendKind
        /// Its settings as they are written, with the defaults.
        package let values: [String: SettingValue]
        /// The kind with these settings.
        package let configured: BackendKind.Configured
        /// Where it is named, for the mistakes that its kind finds in the settings.
        let location: ConfigurationMistake.Location

        /// Its name: its kind's, or its section's.
        package var name: String { context.name }

        func isSame(as other: Self) -> Bool {
            name == other.name && kind.name == other.kind.name && values == other.values
                && context.isAccessible == other.context.isAccessible
        }
    }

    /// The path of the config file; `nil` if there is none and the defaults apply.
    public internal(set) var file: String?
    /// Whether the indicator is on.
    package internal(set) var isEnabled = true
    /// The delays for showing and hiding the indicator.
    package internal(set) var delays = IndicatorDelays.standard
    /// Whether the user has a screen reader.
    var isAccessible = false
    /// The names of the notifications to observe.
    package internal(set) var observe = ["indicator"]
    /// The list of backends: kinds, sections with a kind, or `auto`.
    var names: [String]
    /// The backends that it stands for, in its order, without those with mistakes.
    package internal(set) var backends: [Backend] = []
    /// Every setting, its value and the value's source.
    public internal(set) var settings: [Setting] = []
    /// What is valid but possibly unintended: a section that is not used, a secret that others can read.
    public internal(set) var warnings: [ConfigurationMistake] = []

    /// Reads the settings at the top level of a config file, in the order of the reference.
    init(_ values: inout SettingsReader, in registry: BackendRegistry) {
        // The unobtrusive ones, as far as a build has them.
        names = ["terminalTitle", "dbusProperty"].filter { registry.kind(named: $0) != nil }
        values.read("enabled", &isEnabled, .boolean, summary: "whether the indicator is on")
        let start = "how long work must last before anything is shown"
        values.read("startDelay", &delays.startDelay, .seconds, summary: start)
        let completion = "the time without work before it is hidden"
        values.read("completionDelay", &delays.completionDelay, .seconds, summary: completion)
        let visible = "the minimum time that it is visible"
        values.read("minimumVisibleTime", &delays.minimumVisibleTime, .seconds, summary: visible)
        values.read("accessible", &isAccessible, .boolean, summary: "for screen readers: sentences, no animations")
        values.read(
            "observe",
            &observe,
            .names(among: Self.notifications.map(\.key)),
            example: ["indicator", "alamofire"],
            summary: "the libraries whose tasks count as activities, by their notifications: indicator, alamofire"
        )
        values.read(
            Self.listName,
            &names,
            .names(),
            example: ["terminalTitle", "logFile"],
            summary: "where to show the indicator: auto, for what fits where the app runs; kinds of backend; or names "
                + "of sections with a kind"
        )
    }

    /// The settings at the top level, with the defaults.
    package static func topLevel(in registry: BackendRegistry) -> [Setting] {
        var reader = SettingsReader()
        _ = Self(&reader, in: registry)
        return reader.settings
    }

    static let topLevelNames = topLevel(in: BackendRegistry()).map(\.name)
    static let listName = "backends"
    /// The setting with the kind of a section.
    static let kindName = "kind"
    /// The notifications that `observe` can name.
    static let notifications: KeyValuePairs<String, TaskNotifications> = [
        "indicator": .indicator, "alamofire": .alamofire,
    ]
}
