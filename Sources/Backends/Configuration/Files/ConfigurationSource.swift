import DisplayText
public import Foundation
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
    /// Values with precedence over the user's.
    public var overrides: ConfigurationValues
    /// Values for settings that the user does not set.
    public var defaults: ConfigurationValues
    /// What makes the indicator read its configuration again. An app with its own handler for `SIGHUP` calls
    /// `reloadConfiguration()` there.
    public var reloadTriggers: ConfigurationReloadTriggers
    /// Whether mistakes are also printed if standard error is a terminal. Full-screen programs, and programs whose
    /// terminal belongs to another program, pass `false`.
    public var printsMistakes: Bool
    /// Where diagnostics go.
    public var logger: Logger
    /// Whether a kind that is not in the registry is a warning, as for the file of another app, which may have it.
    package var acceptsKindsOfApps = false

    /// Makes a source; by default, everything except the kinds is usual.
    public init(
        for applicationName: String,
        path: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        registry: BackendRegistry,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) {
        (self.applicationName, self.path, self.environment) = (applicationName, path, environment)
        (self.registry, self.overrides, self.defaults) = (registry, overrides, defaults)
        (self.reloadTriggers, self.printsMistakes, self.logger) = (reloadTriggers, printsMistakes, logger)
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

    /// Makes backends; returns a mistake for each one that could not be made.
    package func make(
        _ backends: [IndicatorConfiguration.Backend]
    ) -> (made: [any IndicatorBackend], refusals: [ConfigurationMistake]) {
        var made: [any IndicatorBackend] = []
        var refusals: [ConfigurationMistake] = []
        for backend in backends {
            do {
                made.append(try backend.kind.make(backend.context, backend.settings))
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

    /// The text of a setting's environment variable. An empty one counts as not set.
    func environmentText(_ key: SettingKey) -> String? {
        environment[key.variable].flatMap { $0.isEmpty ? nil : $0 }
    }
}
