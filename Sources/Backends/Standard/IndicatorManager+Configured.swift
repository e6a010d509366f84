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
    /// The file is read again when it changes or first appears, and on `SIGHUP` (see `ConfigurationSource.isReloaded`).
    /// No activity is lost, and only backends whose settings changed are restarted. If the file becomes invalid, the
    /// previous configuration remains in effect and the mistakes are logged. Deleting the file has no effect until the
    /// next `SIGHUP`.
    ///
    /// Can be called from any thread; returns immediately.
    ///
    /// A signal that ends the process by its default action, such as `SIGINT` or `SIGPIPE`, shuts the indicator down,
    /// in a second at most, and then ends the process as it would have. `exit` and returning from `main` shut it down
    /// too; if such a signal has arrived, the process ends by it, whatever its status. Ctrl-Z restores the terminal's
    /// title until the process is continued. Signals that the app handles, now or later, are left to the app.
    /// `run(_:)` cancels the app's work when one arrives.
    ///
    /// Standard streams that were closed when the process was started are opened, as `/dev/null`: otherwise the next
    /// file or connection of the app would get their descriptors, and what it prints. Those of Swift's runtime, which
    /// an `async` main opens before, stay where they are.
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
        StandardStreams.openMissing()
        // Before the app changes it.
        _ = HomeFolder.startFolder
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
        // After the backends were added, so that a start delay does not begin before.
        if asShared { manager.isEnabled = isEnabled }
        return manager
    }

    /// Runs the work of a program, and ends with it: shuts the indicator down, and if a signal has cancelled the work,
    /// ends the process by that signal, as shells and scripts expect.
    ///
    /// ```swift
    /// let indicator = IndicatorManager.configured(for: "downloads")
    /// try await indicator.run {
    ///     try await indicator.withActivity("Downloading") { try await download() }
    /// }
    /// ```
    ///
    /// The first `SIGINT` (Ctrl-C) or `SIGTERM` cancels the work, and so do `cancellationRequests`, as a desktop's
    /// button makes them. The work then ends in order: it throws `CancellationError`, or returns what it has. A second
    /// signal ends the process at once. Signals that the app handles itself are left to it.
    ///
    /// For any indicator, and once in a program. Without a signal, the process goes on.
    ///
    /// - Parameter work: the work, on the actor of its caller. If it needs the indicator afterwards, such as to print a
    ///   summary above its bars, it does that before it returns.
    /// - Returns: what the work returns.
    /// - Throws: what the work throws.
    public func run<Result: Sendable>(
        @_inheritActorContext _ work: sending @escaping @isolated(any) () async throws -> Result
    ) async throws -> Result {
        // Iterated before a signal is a request, which would reach nobody. Only the canceller uses it.
        nonisolated(unsafe) var requests = cancellationRequests.makeAsyncIterator()
        ProcessSignals.shutDownWithProcess(engine, cancelsWork: true)
        let task = Task(operation: work)
        // On a thread of the indicator: the work may keep every other one busy.
        let canceller = Task.detached(executorPreference: ServiceThread.foreignCode) {
            while await requests.next(isolation: nil) != nil { task.cancel() }
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        canceller.cancel()
        // The next signal ends the process.
        ProcessSignals.shutDownWithProcess(engine, cancelsWork: false)
        await shutdown()
        ProcessSignals.remove(engine)
        ProcessSignals.endBySignal()
        return try result.get()
    }

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
