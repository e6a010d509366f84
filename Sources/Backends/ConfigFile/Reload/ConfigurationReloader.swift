import IndicatorCore
import Logging

/// Keeps an indicator as its configuration says, while that changes.
///
/// One reload at a time, in the order in which they were asked for. A configuration with a mistake changes nothing. Activities
/// are the manager's and no reload touches them; a backend whose kind and settings stay as they are goes on undisturbed.
final class ConfigurationReloader: ManagerResource {
    /// Where the configuration comes from, to load it again the same way.
    struct Source: Sendable {
        var applicationName: String
        var path: String?
        var environment: [String: String]
        var registry: BackendRegistry
        var overrides: ConfigurationValues
        var defaults: ConfigurationValues

        func load() throws(ConfigurationError) -> IndicatorConfiguration {
            try IndicatorConfiguration.load(
                applicationName: applicationName,
                path: path,
                environment: environment,
                registry: registry,
                overrides: overrides,
                defaults: defaults
            )
        }
    }

    private struct State: Sendable {
        var current: IndicatorConfiguration
        var observations: [String: NotificationObservation] = [:]
        /// The report of the last attempt, when it failed: said once, not at every look at the same file.
        var lastFailure: ConfigurationError?
        var lastReload: Task<Void, Never>?
        var watcher: FileWatcher?
        var hangup: ProcessSignals.Subscription?
        var isClosed = false
    }

    private let source: Source
    private let triggers: ConfigurationReloadTriggers
    private let logger: Logger
    private let state: Locked<State>
    private weak let manager: IndicatorManager?

    init(
        _ configuration: IndicatorConfiguration,
        source: Source,
        manager: IndicatorManager,
        triggers: ConfigurationReloadTriggers,
        logger: Logger
    ) {
        self.source = source
        self.manager = manager
        self.triggers = triggers
        self.logger = logger
        state = Locked(State(current: configuration))
    }

    /// Builds what the configuration names, and begins to listen for changes.
    func begin() throws(ConfigurationError) {
        guard let manager else { return }
        let configuration = state.withLock { $0.current }
        let backends = try makeBackends(configuration.backends)
        for backend in backends { manager.addBackend(backend) }
        updateObservations(of: manager, to: configuration.observe)
        log(configuration.warnings)
        watch(configuration.file)
        guard triggers.contains(.hangup) else { return }
        let subscription = ProcessSignals.shared.subscribe { [weak self] in self?.hangup() }
        if !subscription.isEffective {
            logger.debug("SIGHUP is handled or ignored already; it does not reload the configuration")
        }
        state.withLock { $0.hangup = subscription }
    }

    // MARK: - Reloading

    /// Loads the configuration again and makes it hold. Throws, and changes nothing, when there is a mistake in it.
    func reload() async throws(ConfigurationError) {
        let result = await inTurn { await $0.reloadNow() }.value
        if case .failure(let error) = result { throw error }
    }

    private func hangup() {
        logger.info("SIGHUP: reloading the configuration")
        _ = inTurn { reloader in
            if case .failure(let error) = await reloader.reloadNow() { reloader.report(error) }
        }
    }

    /// The file may have changed.
    private func fileChanged(_ path: String) {
        _ = inTurn { reloader in
            let (current, lastFailure) = reloader.state.withLock { ($0.current, $0.lastFailure) }
            // Gone, or about to come back: whoever deletes a config file does not mean to change the indicator by that.
            guard FileWatcher.exists(path) else { return }
            if let text = try? ConfigurationFileContents(path: path).text, text == current.fileText {
                reloader.state.withLock { $0.lastFailure = nil }
                return
            }
            guard case .failure(let error) = await reloader.reloadNow(), error != lastFailure else { return }
            reloader.report(error)
        }
    }

    private func report(_ error: ConfigurationError) {
        logger.error("The configuration was not reloaded, and the one from before holds:\n\(error)")
    }

    /// Runs `body` after everything that was asked for before.
    private func inTurn<Result: Sendable>(
        _ body: @escaping @Sendable (ConfigurationReloader) async -> Result
    ) -> Task<Result, Never> {
        state.withLock { state in
            let previous = state.lastReload
            let task = Task {
                await previous?.value
                return await body(self)
            }
            state.lastReload = Task { _ = await task.value }
            return task
        }
    }

    private func reloadNow() async -> Result<Void, ConfigurationError> {
        let old = state.withLock { $0.isClosed ? nil : $0.current }
        guard let manager, let old else { return .success(()) }
        do throws(ConfigurationError) {
            let new = try source.load()
            let changes = BackendChanges(from: old.backends, to: new.backends)
            // All are made before one is removed, so that a kind that refuses its settings changes nothing either.
            let backends = try makeBackends(changes.added)
            await withTaskGroup { group in
                for name in changes.removedNames { group.addTask { await manager.removeBackend(named: name) } }
            }
            let isClosed = state.withLock { state in
                state.current = new
                state.lastFailure = nil
                return state.isClosed
            }
            guard !isClosed else { return .success(()) }
            for backend in backends { manager.addBackend(backend) }
            // Only what the configuration changes: the app, or a panel on the bus, may have set something else meanwhile.
            if new.delays != old.delays { manager.delays = new.delays }
            if new.isEnabled != old.isEnabled { manager.isEnabled = new.isEnabled }
            updateObservations(of: manager, to: new.observe)
            if new.file != old.file { watch(new.file) }
            log(new.warnings)
            logger.info("The configuration was reloaded from \(new.file ?? "the defaults"): \(changes)")
            return .success(())
        } catch {
            state.withLock { $0.lastFailure = error }
            return .failure(error)
        }
    }

    private func makeBackends(
        _ backends: [IndicatorConfiguration.Backend]
    ) throws(ConfigurationError) -> [any IndicatorBackend] {
        var made: [any IndicatorBackend] = []
        var mistakes: [ConfigurationMistake] = []
        for backend in backends {
            let context = BackendContext(
                name: backend.name,
                applicationName: source.applicationName,
                logger: logger
            )
            do {
                made.append(try backend.kind.make(context, backend.settings))
            } catch {
                mistakes.append(ConfigurationMistake(backend.location, "'\(backend.name)': \(error)"))
            }
        }
        guard mistakes.isEmpty else { throw ConfigurationError(mistakes) }
        return made
    }

    private func updateObservations(of manager: IndicatorManager, to names: [String]) {
        let present = state.withLock { $0.observations }
        var updated = present.filter { names.contains($0.key) }
        for (name, observation) in present where updated[name] == nil { observation.cancel() }
        for name in names where updated[name] == nil {
            if let notifications = ObservedNotifications.named(name) { updated[name] = manager.observe(notifications) }
        }
        state.withLock { [updated] in $0.observations = updated }
    }

    private func log(_ warnings: [ConfigurationMistake]) {
        for warning in warnings { logger.warning("\(warning.line(severity: "warning"))") }
    }

    // MARK: - Listening

    /// Watches the file that the configuration came from. Without one there is nothing to watch: one that appears at a usual
    /// place is found at the next `SIGHUP`.
    private func watch(_ path: String?) {
        guard triggers.contains(.change) else { return }
        var watcher: FileWatcher?
        if let path {
            do {
                watcher = try FileWatcher(path: path) { [weak self] in self?.fileChanged(path) }
            } catch {
                logger.warning("Changes of \(path) will not be noticed, reload with SIGHUP: \(error)")
            }
        }
        let old = state.withLock { [watcher] state in
            // The other one is stopped: this one when the reloader is closed already.
            guard !state.isClosed else { return watcher }
            defer { state.watcher = watcher }
            return state.watcher
        }
        old?.stop()
    }

    func managerWillShutDown() async {
        managerIsGone()
        await state.withLock { $0.lastReload }?.value
    }

    func managerIsGone() {
        let (watcher, hangup) = state.withLock { state in
            defer {
                state.isClosed = true
                state.watcher = nil
                state.hangup = nil
            }
            return (state.watcher, state.hangup)
        }
        watcher?.stop()
        if let hangup { ProcessSignals.shared.cancel(hangup) }
    }
}
