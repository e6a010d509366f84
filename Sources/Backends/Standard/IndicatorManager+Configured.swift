public import BackendConfiguration
public import IndicatorCore
import Logging
import Synchronization

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

    /// Makes an indicator as `configured(for:)` does, from another file, with values of the app, or with kinds of its
    /// own.
    public static func configured(from source: ConfigurationSource, asShared: Bool = false) -> IndicatorManager {
        let (source, logger) = (source.withAbsolutePath, source.logger)
        if asShared, shared.engine.isClosed || sharedIsConfigured.exchange(true, ordering: .relaxed) {
            let app = source.applicationName
            logger.error("The shared indicator was not configured for '\(app)': it already is, or was shut down")
            return shared
        }
        let (configuration, mistakes) = source.read()
        let (delays, isEnabled) = (configuration.delays, configuration.isEnabled)
        let manager = asShared ? shared : IndicatorManager(delays: delays, isEnabled: isEnabled, logger: logger)
        if asShared { manager.delays = delays }
        let reloader = ConfigurationReloader(configuration, source: source, engine: manager.engine)
        reloader.begin(mistakes)
        manager.engine.keep(reloader)
        ProcessSignals.shared.shutDownWithProcess(manager)
        // After the backends were added, so that a start delay does not begin before.
        if asShared { manager.isEnabled = isEnabled }
        return manager
    }

    /// Turns the first `SIGINT` or `SIGTERM` into one of the `cancellationRequests`, so that the app ends its work in
    /// order.
    ///
    /// When the app then returns from `main` or calls `exit`, the process ends by that signal, whatever its status. A
    /// second signal ends it at once, and so does the first one if nobody iterates the requests. Only for an
    /// indicator that `configured(for:)` has made, and for signals that the app leaves at their default.
    public func cancelOnSignals() { ProcessSignals.shared.cancel(engine) }

    /// The mistakes in the configuration when it was read last. Empty if there were none, or if the indicator was not
    /// made by `configured(for:)`.
    public var configurationProblems: [ConfigurationMistake] {
        engine.keptResource(ConfigurationReloader.self)?.problems ?? []
    }

    /// The configuration in effect; `nil` for an indicator that was not made by `configured(for:)`.
    package var configuration: IndicatorConfiguration? {
        engine.keptResource(ConfigurationReloader.self)?.configuration
    }

    /// Reads the configuration again now, as `SIGHUP` does: for apps that handle the signal themselves or detect
    /// changes in another way.
    ///
    /// Has no effect on an indicator that was not made by `configured(for:)`, or after its shutdown.
    ///
    /// - Throws: `ConfigurationError` with every mistake; the previous configuration remains in effect.
    public func reloadConfiguration() async throws(ConfigurationError) {
        try await engine.keptResource(ConfigurationReloader.self)?.reload()
    }
}

/// Whether `IndicatorManager.shared` was configured.
private let sharedIsConfigured = Atomic(false)
