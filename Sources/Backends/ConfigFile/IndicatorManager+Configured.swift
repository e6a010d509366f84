public import Foundation
public import IndicatorCore
public import Logging
import Synchronization

extension IndicatorManager {
    /// Makes an indicator as the app's config file says, and keeps it so.
    ///
    /// ```swift
    /// let indicator = IndicatorManager.configured(for: "my-app")
    /// ```
    ///
    /// ``IndicatorConfiguration/load(applicationName:path:section:environment:registry:overrides:defaults:)`` says
    /// where the file is looked for and what is stronger than it.
    ///
    /// Never fails: a user's mistake in the configuration must not end the app. Where there is a mistake, the default
    /// holds; the mistakes are logged, printed to standard error if that is a terminal, and kept in
    /// ``configurationProblems``.
    ///
    /// The file is read again when it changes, when the first one appears, and at `SIGHUP` (see
    /// ``ConfigurationReloadTriggers``), without losing an activity; only the backends whose settings changed are
    /// restarted. A file that has become invalid changes nothing: the configuration from before holds, and the mistakes
    /// are logged. A file that is deleted changes nothing until the next `SIGHUP`.
    ///
    /// Callable from any thread; returns at once.
    ///
    /// Where the app has left `SIGINT` or `SIGTERM` at its default action, the signal shuts the indicator down, in a
    /// second at most, and then ends the process as it would have. `exit`, and returning from `main`, shut it down too.
    /// Ctrl-Z restores the terminal's title until the process is continued. A signal that the app handles itself, or
    /// begins to handle later, is the app's.
    ///
    /// - Parameters:
    ///   - applicationName: the name of the app; also the name of its folder under `$XDG_CONFIG_HOME`.
    ///   - path: the config file to read, wherever the usual ones are.
    ///   - section: the section of the file at `path` that holds the settings, in an app's own file; `ui.indicator` is
    ///     one within another. By default the whole file does, as it does in any case in a file at one of the usual
    ///     places.
    ///   - asShared: whether `IndicatorManager.shared` is configured and returned, for code that reports to that one.
    ///     Once in a process, as early as possible. A second time, or after its shutdown, is a mistake of the app's: it
    ///     is logged and changes nothing.
    ///   - environment: the environment variables; by default the process's.
    ///   - registry: the kinds of backend that the file can select.
    ///   - overrides: what holds whatever the user says.
    ///   - defaults: what holds when the user says nothing.
    ///   - reloadTriggers: what makes the indicator read its configuration again. An app with a handler of its own for
    ///     `SIGHUP` calls ``reloadConfiguration()`` there.
    ///   - printsMistakes: whether mistakes are printed, too, if standard error is a terminal. A program that draws on
    ///     the whole screen, or whose terminal belongs to another one, passes `false`.
    ///   - logger: where diagnostics go.
    public static func configured(
        for applicationName: String,
        path: String? = nil,
        section: String? = nil,
        asShared: Bool = false,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) -> IndicatorManager {
        let source = ConfigurationSource(
            applicationName: applicationName,
            path: path,
            environment: environment,
            registry: registry,
            overrides: overrides,
            defaults: defaults,
            section: section,
            logger: logger
        )
        if asShared, let reason = claimShared() {
            logger.error("The shared indicator was not configured for '\(applicationName)': \(reason)")
            return shared
        }
        let (configuration, mistakes) = source.read()
        let (delays, isEnabled) = (configuration.delays, configuration.isEnabled)
        let manager = asShared ? shared : IndicatorManager(delays: delays, isEnabled: isEnabled, logger: logger)
        if asShared { manager.delays = delays }
        let reloader = ConfigurationReloader(configuration, source: source, manager: manager, triggers: reloadTriggers)
        reloader.begin(mistakes, printsMistakes: printsMistakes)
        manager.engine.keep(reloader)
        ProcessSignals.shared.shutDownWithProcess(manager)
        // With its backends: a start delay that begins now is not spent before they are there.
        if asShared { manager.isEnabled = isEnabled }
        return manager
    }

    /// Makes this the one call that configures the shared indicator. Returns why it cannot be.
    private static func claimShared() -> String? {
        if shared.engine.isClosed { return "it was shut down" }
        let isFirst = !sharedIsConfigured.exchange(true, ordering: .relaxed)
        return isFirst ? nil : "it is configured already; call this once in a process"
    }

    /// The mistakes in the configuration when it was read last; empty when there were none, and for an indicator that
    /// was not made by `configured(for:)`.
    public var configurationProblems: [ConfigurationMistake] {
        engine.keptResource(ConfigurationReloader.self)?.problems ?? []
    }

    /// What was read last without a mistake, or with defaults in the place of mistakes; `nil` for an indicator that was
    /// not configured.
    package var configuration: IndicatorConfiguration? {
        engine.keptResource(ConfigurationReloader.self)?.configuration
    }

    /// Reads the configuration again, now: what `SIGHUP` does, for apps that handle the signal themselves or learn of a
    /// change in another way.
    ///
    /// Without effect on an indicator that was not made by `configured(for:)`, and after its shutdown.
    ///
    /// - Throws: ``ConfigurationError`` with every mistake; then the configuration from before holds.
    public func reloadConfiguration() async throws(ConfigurationError) {
        try await engine.keptResource(ConfigurationReloader.self)?.reload()
    }
}

/// Whether `IndicatorManager.shared` was configured.
private let sharedIsConfigured = Atomic(false)

/// What makes a configured indicator read its configuration again by itself.
public struct ConfigurationReloadTriggers: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Makes a set of triggers from its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The config file changes: it is written, replaced, or appears.
    public static let change = Self(rawValue: 1)

    /// The process gets `SIGHUP`.
    ///
    /// A handler is installed only while nothing else handles the signal: an app's own handler, and the `SIG_IGN` that
    /// `nohup` leaves, stay as they are. A `SIGHUP` that comes because the terminal was closed ends the app as it does
    /// without the handler.
    public static let hangup = Self(rawValue: 2)

    /// Both.
    public static let all: Self = [.change, .hangup]
}
