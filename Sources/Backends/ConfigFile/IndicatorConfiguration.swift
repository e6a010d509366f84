public import Foundation
public import IndicatorCore

/// The configuration of an app's indicator: what a config file, the environment and the app's code say together.
///
/// ``IndicatorManager/configured(for:path:environment:registry:overrides:defaults:reloadTriggers:logger:)`` loads one and builds an indicator
/// of it; load one yourself to show the user what holds and why:
///
/// ```swift
/// let configuration = try IndicatorConfiguration.load(applicationName: "my-app")
/// for setting in configuration.effectiveSettings {
///     print(setting.key, setting.value ?? "-", setting.source)
/// }
/// ```
public struct IndicatorConfiguration: Sendable {
    /// A backend to build.
    public struct Backend: Sendable {
        /// Its name: that of its kind, or of its section.
        public let name: String
        /// Its kind.
        public let kind: BackendKind
        /// Its checked settings.
        public let settings: BackendSettings
        /// Where it is named, for what its kind has to say against the settings.
        let location: ConfigurationMistake.Location
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

    /// What the file holds, to tell whether it has changed.
    let fileText: String?

    /// Finds, reads and checks the configuration of an app.
    ///
    /// The file is the first that there is of: `path`, `$INDICATOR_CONFIG`, `$XDG_CONFIG_HOME/<app>/indicator.yaml`,
    /// `$XDG_CONFIG_HOME/indicator/indicator.yaml`, the same two under each folder of `$XDG_CONFIG_DIRS`; `.yml` and `.json`
    /// too. The first two must exist when they are given. Without a file the defaults hold.
    ///
    /// A setting has the value that the first of these gives it: `overrides`; the environment (`startDelay` is
    /// `INDICATOR_START_DELAY`, the `path` of `logFile` is `INDICATOR_LOG_FILE_PATH`, `backends` is `INDICATOR_BACKENDS` with
    /// commas between the names); the file; `defaults`; the built-in default.
    ///
    /// - Parameters:
    ///   - applicationName: the name of the app.
    ///   - path: the config file to read, wherever the usual ones are.
    ///   - environment: the environment variables; by default the process's.
    ///   - registry: the kinds of backend that the file can select.
    ///   - overrides: what holds whatever the user says.
    ///   - defaults: what holds when the user says nothing.
    /// - Throws: ``ConfigurationError`` with every mistake.
    public static func load(
        applicationName: String,
        path: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues()
    ) throws(ConfigurationError) -> Self {
        let locator = ConfigurationFileLocator(applicationName: applicationName, path: path, environment: environment)
        var file: CheckedFile?
        var text: String?
        switch locator.locate() {
        case .nothing:
            break
        case .given(let path), .discovered(let path):
            let layers = LayeredValues(environment: environment)
            (file, text) = ConfigurationFileChecker.check(
                fileAt: path,
                registry: registry,
                environment: environment,
                strongerKind: { name in
                    overrides.kindName(of: name) ?? layers.environmentText(SettingKey(section: name, name: "kind"))
                }
            )
        }
        return try Self(
            applicationName: applicationName,
            file: file,
            text: text,
            resolver: ConfigurationResolver(
                file: file,
                registry: registry,
                environment: environment,
                overrides: overrides,
                defaults: defaults
            )
        )
    }

    init(
        applicationName: String,
        file: CheckedFile?,
        text: String?,
        resolver: consuming ConfigurationResolver
    ) throws(ConfigurationError) {
        var resolver = resolver
        self.applicationName = applicationName
        self.file = file?.path
        fileText = text
        isEnabled = resolver.resolveEnabled()
        delays = resolver.resolveDelays()
        observe = resolver.resolveObserve()
        backends = resolver.resolveBackends()
        resolver.warnAboutUnknownVariables()
        effectiveSettings = resolver.effectiveSettings
        warnings = resolver.warnings.inReadingOrder
        guard resolver.mistakes.isEmpty else { throw ConfigurationError(resolver.mistakes) }
    }
}
