package import IndicatorCore
public import Logging

/// Where an app's configuration comes from: the name of the app, and what differs from the usual places.
public struct ConfigurationSource: Sendable {
    /// The name of the app; also the name of its folder under `$XDG_CONFIG_HOME`.
    public var applicationName: String
    /// The config file to read instead of the usual ones.
    public var path: String?
    /// The environment variables; by default those of the process.
    public var environment: [String: String]
    /// The kinds of backend that the file can select.
    public var registry: BackendRegistry
    /// Values with precedence over the user's, by the full names of the settings: `startDelay`, `logFile.path`.
    ///
    /// ```swift
    /// source.overrides = ["startDelay": 0.5, "backends": ["logFile"], "logFile.path": "/tmp/my-app.log"]
    /// ```
    public var overrides: [String: SettingValue] = [:]
    /// Values for settings that the user does not set; they replace the package's own defaults.
    public var defaults: [String: SettingValue] = [:]
    /// Whether the indicator reads its configuration again when the file is written, replaced or created, and when the
    /// process receives `SIGHUP`.
    ///
    /// A handler is installed only while the signal has its default action: the `SIG_IGN` that `nohup` sets remains,
    /// and an app's own handler, which calls `reloadConfiguration()`. A `SIGHUP` because the terminal was closed ends
    /// the app as it does without the handler.
    public var isReloaded = true
    /// Whether mistakes are also printed if standard error is a terminal. Full-screen programs, and programs whose
    /// terminal belongs to another program, pass `false`.
    public var printsMistakes = true
    /// Where diagnostics go.
    public var logger = Logger(label: "indicator")
    /// Whether a kind that is not in the registry is a warning, as for the file of another app, which may have it.
    package var acceptsKindsOfApps = false

    /// Makes a source; everything else is usual.
    package init(for applicationName: String, environment: [String: String], registry: BackendRegistry) {
        (self.applicationName, self.environment, self.registry) = (applicationName, environment, registry)
    }
}

extension ConfigurationSource {
    /// Reads the configuration. For an invalid value, the next weaker layer or the default applies; but a backend whose
    /// address is wrong is not used with the default.
    package func read() -> (configuration: IndicatorConfiguration, mistakes: [ConfigurationMistake]) {
        var reader = ConfigurationReader(self, path: locateFile())
        let configuration = reader.read()
        return (configuration, reader.mistakes.inReadingOrder)
    }

    /// The kinds that `backends: auto` may choose, whether it chooses each here, and why; in the order of the kinds.
    public var automatic: [(kind: String, fit: AutomaticFit)] {
        ConfigurationReader(self, path: locateFile()).automatic
    }

    /// Makes backends; returns a mistake for each one that could not be made.
    package func make(
        _ backends: [IndicatorConfiguration.Backend]
    ) -> (made: [any IndicatorBackend], refusals: [ConfigurationMistake]) {
        var made: [any IndicatorBackend] = []
        var refusals: [ConfigurationMistake] = []
        for backend in backends {
            do {
                made.append(try backend.configured.make(backend.context))
            } catch {
                refusals.append(ConfigurationMistake(backend.location, "'\(backend.name)': \(error)"))
            }
        }
        return (made, refusals)
    }

    /// The logger of a backend: an outage of one that the user did not ask for is not worth a line in the terminal.
    func logger(ofNamed isNamed: Bool) -> Logger {
        var logger = logger.inBackground
        if !isNamed, logger.logLevel > .debug { logger.logLevel = max(logger.logLevel, .error) }
        return logger
    }
}

extension IndicatorConfiguration {
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
