public import IndicatorCore
import Logging
import Synchronization

extension IndicatorManager {
    /// Makes an indicator as `configured(for:)` does, from another file, with values of the app, or with kinds of its
    /// own.
    public static func configured(from source: ConfigurationSource, asShared: Bool = false) -> IndicatorManager {
        let logger = source.logger
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
    /// - Throws: ``ConfigurationError`` with every mistake; the previous configuration remains in effect.
    public func reloadConfiguration() async throws(ConfigurationError) {
        try await engine.keptResource(ConfigurationReloader.self)?.reload()
    }
}

/// Whether `IndicatorManager.shared` was configured.
private let sharedIsConfigured = Atomic(false)

/// What triggers an automatic reload of the configuration.
public struct ConfigurationReloadTriggers: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: Int

    /// Makes a set of triggers from its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The config file is written, replaced or created.
    public static let change = Self(rawValue: 1)

    /// The process receives `SIGHUP`.
    ///
    /// A handler is installed only while the signal has its default action: an app's own handler, and the `SIG_IGN`
    /// that `nohup` sets, remain. A `SIGHUP` because the terminal was closed ends the app as it does without the
    /// handler.
    public static let hangup = Self(rawValue: 2)

    /// Both.
    public static let all: Self = [.change, .hangup]
}
