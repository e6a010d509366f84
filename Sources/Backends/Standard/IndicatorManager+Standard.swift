public import BackendConfiguration
public import Foundation
public import IndicatorCore
public import Logging

extension IndicatorManager {
    /// Makes an indicator from the app's config file, and follows changes of the file.
    ///
    /// ```swift
    /// let indicator = IndicatorManager.configured(for: "my-app")
    /// ```
    ///
    /// `IndicatorConfiguration.load(from:)` documents where the file is and what has precedence over it.
    ///
    /// Never fails: a user's mistake in the configuration must not end the app. An invalid value is replaced by the
    /// default; mistakes are logged, printed to standard error if that is a terminal, and kept in
    /// `configurationProblems`.
    ///
    /// The file is read again when it changes or first appears, and on `SIGHUP` (see `ConfigurationReloadTriggers`). No
    /// activity is lost, and only backends whose settings changed are restarted. If the file becomes invalid, the
    /// previous configuration remains in effect and the mistakes are logged. Deleting the file has no effect until the
    /// next `SIGHUP`.
    ///
    /// Can be called from any thread; returns immediately.
    ///
    /// If `SIGINT`, `SIGQUIT` or `SIGTERM` has its default action, the signal shuts the indicator down, in a second at
    /// most, and then ends the process as it would have. `exit` and returning from `main` shut it down too. Ctrl-Z
    /// restores the terminal's title until the process is continued. Signals that the app handles, now or later, are
    /// left to the app.
    ///
    /// - Parameters:
    ///   - applicationName: the name of the app; also the name of its folder under `$XDG_CONFIG_HOME`.
    ///   - asShared: whether to configure and return `IndicatorManager.shared`, for code that uses that one. Only once
    ///     per process, as early as possible. A second call, or one after its shutdown, is a programming error: it is
    ///     logged and has no effect.
    public static func configured(for applicationName: String, asShared: Bool = false) -> IndicatorManager {
        configured(from: ConfigurationSource(for: applicationName), asShared: asShared)
    }
}

extension ConfigurationSource {
    /// Makes a source with the built-in kinds of backend; by default, everything is usual.
    public init(
        for applicationName: String,
        path: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) {
        self.init(
            for: applicationName,
            path: path,
            environment: environment,
            registry: .standard,
            overrides: overrides,
            defaults: defaults,
            reloadTriggers: reloadTriggers,
            printsMistakes: printsMistakes,
            logger: logger
        )
    }
}

// MARK: - Renamed

extension ConfigurationSource {
    /// Removed.
    @available(*, unavailable, message: "an indicator's settings are in a file of their own; give its path")
    public init(
        for applicationName: String,
        path: String? = nil,
        section: String?,
        environment: [String: String] = [:],
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) {
        self.init(for: applicationName)
    }
}

extension IndicatorManager {
    /// Renamed.
    @available(*, unavailable, renamed: "configured(from:)", message: "pass these in a ConfigurationSource")
    public static func configured(
        for applicationName: String,
        path: String? = nil,
        section: String? = nil,
        asShared: Bool = false,
        environment: [String: String] = [:],
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) -> IndicatorManager {
        configured(from: ConfigurationSource(for: applicationName))
    }
}

extension IndicatorConfiguration {
    /// Renamed.
    @available(*, unavailable, renamed: "load(from:)", message: "pass these in a ConfigurationSource")
    public static func load(
        applicationName: String,
        path: String? = nil,
        section: String? = nil,
        environment: [String: String] = [:],
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues()
    ) throws(ConfigurationError) -> Self {
        try load(from: ConfigurationSource(for: applicationName))
    }
}
