public import Foundation
public import IndicatorCore

/// The configuration of an app's indicator: what a config file, the environment and the app's code say together.
///
/// `IndicatorManager.configured(for:)` makes an indicator of one; load one yourself to show the user what holds and
/// why:
///
/// ```swift
/// let configuration = try IndicatorConfiguration.load(applicationName: "my-app")
/// for setting in configuration.effectiveSettings {
///     print(setting.key, setting.value ?? "-", setting.source)
/// }
/// ```
public struct IndicatorConfiguration: Sendable {
    /// A backend to make.
    public struct Backend: Sendable {
        /// Its name: that of its kind, or of its section.
        public let name: String
        /// Its kind.
        public let kind: BackendKind
        /// Its checked settings.
        public let settings: BackendSettings
        /// Where it is named, for what its kind has to say against the settings.
        let location: ConfigurationMistake.Location
        /// Whether somebody named it; otherwise it is one of those that an app has without a config file.
        let isNamed: Bool

        func isSame(as other: Self) -> Bool {
            name == other.name && kind.name == other.kind.name && settings == other.settings
        }
    }

    /// The name of the app.
    public let applicationName: String
    /// The path of the config file; `nil` when there is none and the defaults hold.
    public let file: String?
    /// Whether the indicator is on.
    public let isEnabled: Bool
    /// The times that govern when the indicator is shown and hidden.
    public let delays: IndicatorDelays
    /// The names of the notifications to observe.
    public let observe: [String]
    /// The backends, in the order of the list.
    public let backends: [Backend]
    /// Every setting, its value and where that comes from.
    public let effectiveSettings: [EffectiveSetting]
    /// What is no mistake and still may not be what was meant: a section that is not used, an unknown variable.
    public let warnings: [ConfigurationMistake]

    /// What the file holds, to find out whether it has changed; `nil` when it could not be read.
    let fileText: String?

    /// Finds, reads and checks the configuration of an app.
    ///
    /// The file is the first that there is of: `path`, `$INDICATOR_CONFIG`, `$XDG_CONFIG_HOME/<app>/indicator.yaml`,
    /// `$XDG_CONFIG_HOME/indicator/indicator.yaml`, the same two under each folder of `$XDG_CONFIG_DIRS`; `.yml` and
    /// `.json` too. The first two must exist when they are given. Without a file the defaults hold. A file that others
    /// than the user and root can change is a mistake.
    ///
    /// A setting has the value that the first of these gives it: `overrides`; the environment (`startDelay` is
    /// `INDICATOR_START_DELAY`, the `path` of `logFile` is `INDICATOR_LOG_FILE_PATH`, `backends` is
    /// `INDICATOR_BACKENDS` with commas between the names); the file; `defaults`; the built-in default.
    ///
    /// With a `section`, the file at `path` is the app's own, and only that section of it is looked at: what is beside
    /// it is nobody's mistake here. Without such a section in the file, the defaults hold.
    ///
    /// - Parameters:
    ///   - applicationName: the name of the app.
    ///   - path: the config file to read, wherever the usual ones are.
    ///   - section: the section of the file at `path` that holds the settings; `ui.indicator` is one within another. By
    ///     default the whole file does, as it does in any case in a file at one of the usual places.
    ///   - environment: the environment variables; by default the process's.
    ///   - registry: the kinds of backend that the file can select.
    ///   - overrides: what holds whatever the user says.
    ///   - defaults: what holds when the user says nothing.
    /// - Throws: ``ConfigurationError`` with every mistake, those included that a kind of backend finds when it makes
    ///   one. Nothing is shown, opened or written.
    public static func load(
        applicationName: String,
        path: String? = nil,
        section: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues()
    ) throws(ConfigurationError) -> Self {
        let source = ConfigurationSource(
            applicationName: applicationName,
            path: path,
            environment: environment,
            registry: registry,
            overrides: overrides,
            defaults: defaults,
            section: section
        )
        var (configuration, mistakes) = source.read()
        // What is wrong with settings only together, their kind knows.
        if mistakes.isEmpty { mistakes = source.make(configuration.backends).refusals }
        guard mistakes.isEmpty else { throw ConfigurationError(mistakes) }
        return configuration
    }
}

/// A setting as it holds in the end, and where its value comes from.
public struct EffectiveSetting: Sendable, Hashable {
    /// The backend that it belongs to; `nil` for the settings of the indicator itself.
    public let backend: String?
    /// Its name.
    public let name: String
    /// The value as a config file would spell it; `nil` when there is none and the backend works it out itself.
    public let value: String?
    /// Where the value comes from; `nil` when no layer gave one, and it is the default.
    public let location: ConfigurationMistake.Location?

    /// Where the value comes from, as a table shows it: `default`, `indicator.yaml:3`, `environment variable
    /// INDICATOR_START_DELAY`, `code`.
    public var source: String {
        switch location {
        case .file(let path, let line, _): "\(path):\(line)"
        case .code: "code"
        case let location?: location.description
        case nil: "default"
        }
    }

    /// The full name: `startDelay`, or `logFile.path`.
    public var key: String { SettingKey(section: backend, name: name).description }
}
