package import IndicatorCore
import Logging

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
    public let file: String?
    /// The settings of the indicator itself, all of which have values.
    let values: ConfigurationValues
    /// Whether the indicator is on.
    package var isEnabled: Bool { values.isEnabled ?? true }
    /// The names of the notifications to observe.
    package var observe: [String] { values.observe ?? [] }
    /// The delays for showing and hiding the indicator.
    package var delays: IndicatorDelays {
        var delays = IndicatorDelays.standard
        delays.startDelay = values.startDelay ?? delays.startDelay
        delays.completionDelay = values.completionDelay ?? delays.completionDelay
        delays.minimumVisibleTime = values.minimumVisibleTime ?? delays.minimumVisibleTime
        return delays
    }
    /// The backends, in the order of the list.
    package let backends: [Backend]
    /// Every setting, its value and the value's source.
    public let settings: [Setting]
    /// What is valid but possibly unintended: a section that is not used, a secret that others can read.
    public let warnings: [ConfigurationMistake]

    /// Finds, reads and checks the configuration of an app.
    ///
    /// The file is the first of these: `path`, `$INDICATOR_CONFIG`, `$XDG_CONFIG_HOME/<app>/indicator.yaml`,
    /// `$XDG_CONFIG_HOME/indicator/indicator.yaml`, the same two under each folder of `$XDG_CONFIG_DIRS`; also with
    /// `.yml` and `.json`. If one of the first two is given, it must exist. Without a file the defaults apply. A file
    /// that anyone but the user and root can write is a mistake.
    ///
    /// The value of a setting comes from the first of these that has one: `overrides`; the environment (`startDelay` is
    /// `INDICATOR_START_DELAY`, the `path` of `logFile` is `INDICATOR_LOG_FILE_PATH`, `backends` is
    /// `INDICATOR_BACKENDS` with commas between the names); the file; `defaults`; the built-in default.
    ///
    /// The file is YAML without aliases, merge keys and tags, or JSON, which is read as YAML. If its syntax is wrong,
    /// that is the only mistake that is reported, and nothing of it is used.
    ///
    /// - Parameter source: the app and its files. Its logger and triggers are not used.
    /// - Throws: ``ConfigurationError`` with every mistake, including those that a kind finds when it makes a backend.
    ///   Nothing is shown, opened or written.
    public static func load(from source: ConfigurationSource) throws(ConfigurationError) -> Self {
        var source = source
        source.logger = Logger(label: "indicator", factory: { _ in SwiftLogNoOpLogHandler() })
        var (configuration, mistakes) = source.read()
        // Kinds check for inconsistent settings when they make a backend.
        if mistakes.isEmpty { mistakes = source.make(configuration.backends).refusals }
        guard mistakes.isEmpty else { throw ConfigurationError(mistakes) }
        return configuration
    }
}
