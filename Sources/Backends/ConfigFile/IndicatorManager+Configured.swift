public import Foundation
public import IndicatorCore
public import Logging

extension IndicatorManager {
    /// Makes an indicator as the app's config file says, and keeps it so.
    ///
    /// ```swift
    /// let indicator = try await IndicatorManager.configured(for: "my-app")
    /// ```
    ///
    /// Where the file is looked for and what is stronger than it is said at
    /// ``IndicatorConfiguration/load(applicationName:path:environment:registry:overrides:defaults:)``.
    ///
    /// The file is read again when it changes and at `SIGHUP` (see ``ConfigurationReloadTriggers``), without losing an activity;
    /// only the backends whose settings changed are restarted. A file that has become invalid changes nothing: the configuration
    /// from before holds, and the mistakes are logged. A file that is deleted changes nothing either, until the next `SIGHUP`;
    /// and one that appears at a stronger place, or the first one, is found at the next `SIGHUP`.
    ///
    /// Where the app has left `SIGINT` or `SIGTERM` at its default action, the signal shuts the indicator down, in a second at
    /// most, and then ends the process as it would have. `exit`, and returning from `main`, shut it down too. Ctrl-Z restores
    /// the terminal's title until the process is continued. A signal that the app handles itself, or begins to handle later, is
    /// the app's.
    ///
    /// - Parameters:
    ///   - applicationName: the name of the app; also the name of its folder under `$XDG_CONFIG_HOME`.
    ///   - path: the config file to read, wherever the usual ones are.
    ///   - environment: the environment variables; by default the process's.
    ///   - registry: the kinds of backend that the file can select.
    ///   - overrides: what holds whatever the user says.
    ///   - defaults: what holds when the user says nothing.
    ///   - reloadTriggers: what makes the indicator read its configuration again. An app with a handler of its own for `SIGHUP`
    ///     calls ``reloadConfiguration()`` there.
    ///   - logger: where diagnostics go.
    /// - Throws: ``ConfigurationError`` with every mistake in the configuration.
    public static func configured(
        for applicationName: String,
        path: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        logger: Logger = Logger(label: "indicator")
    ) async throws(ConfigurationError) -> IndicatorManager {
        let source = ConfigurationReloader.Source(
            applicationName: applicationName,
            path: path,
            environment: environment,
            registry: registry,
            overrides: overrides,
            defaults: defaults
        )
        let configuration = try source.load()
        let manager = IndicatorManager(
            delays: configuration.delays,
            isEnabled: configuration.isEnabled,
            logger: logger
        )
        let reloader = ConfigurationReloader(
            configuration,
            source: source,
            manager: manager,
            triggers: reloadTriggers,
            logger: logger
        )
        try reloader.begin()
        manager.keep(reloader)
        ProcessSignals.shared.shutDownWithProcess(manager)
        return manager
    }

    /// Reads the configuration again, now: what `SIGHUP` does, for apps that handle the signal themselves or have another way
    /// to be told.
    ///
    /// Without effect on an indicator that was not made by
    /// ``configured(for:path:environment:registry:overrides:defaults:reloadTriggers:logger:)``, and after its shutdown.
    ///
    /// - Throws: ``ConfigurationError`` with every mistake; then the configuration from before holds.
    public func reloadConfiguration() async throws(ConfigurationError) {
        try await keptResource(ConfigurationReloader.self)?.reload()
    }
}
