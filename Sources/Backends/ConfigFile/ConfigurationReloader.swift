import Foundation
import IndicatorCore
import IndicatorThreads
import Logging

/// Keeps an indicator as its configuration says, while that changes.
///
/// One reload at a time, in the order in which they were asked for. A configuration with a mistake changes nothing.
/// Activities are the manager's and no reload touches them; a backend whose kind and settings stay as they are goes on
/// undisturbed.
final class ConfigurationReloader: ManagerResource {
    private struct State: Sendable {
        var current: IndicatorConfiguration
        /// Those of the configuration's backends that were made.
        var made: [IndicatorConfiguration.Backend] = []
        /// What was read last, whether or not it holds.
        var lastRead: (file: String?, text: String?)
        /// The mistakes in what was read last.
        var problems: [ConfigurationMistake] = []
        var observations: [String: NotificationObservation] = [:]
        var lastReload: Task<Void, Never>?
        var watcher: FileWatcher?
        var hangup: ProcessSignals.Subscription?
        var isClosed = false
    }

    private let source: ConfigurationSource
    private let triggers: ConfigurationReloadTriggers
    private let logger: Logger
    private let state: Locked<State>
    /// Reads the configuration: a file may block.
    private let thread = ServiceThread(name: "config-reload", isKept: false)
    /// The indicator's engine, which ends this reloader: a weak reference to the manager would make activities slower.
    private let engine: IndicatorEngine

    init(
        _ configuration: IndicatorConfiguration,
        source: ConfigurationSource,
        manager: IndicatorManager,
        triggers: ConfigurationReloadTriggers,
        logger: Logger
    ) {
        self.source = source
        engine = manager.engine
        self.triggers = triggers
        self.logger = logger
        state = Locked(State(current: configuration, lastRead: (configuration.file, configuration.fileText)))
    }

    var configuration: IndicatorConfiguration { state.withLock { $0.current } }

    var problems: [ConfigurationMistake] { state.withLock { $0.problems } }

    /// Makes what the configuration names, reports the mistakes in it, and begins to listen for changes.
    func begin(_ mistakes: [ConfigurationMistake], printsMistakes: Bool) {
        let configuration = state.withLock { $0.current }
        let wanted = applicable(configuration.backends)
        let (backends, refusals) = source.make(wanted, logger: logger)
        for backend in backends { _ = engine.addBackend(backend, logger: logger) }
        let names = Set(backends.map(\.name))
        let problems = ConfigurationError(mistakes + refusals)
        state.withLock { state in
            state.made = wanted.filter { names.contains($0.name) }
            state.problems = problems.mistakes
        }
        if !problems.mistakes.isEmpty {
            let message = "There are mistakes in the configuration; the default holds for what is wrong:\n\(problems)"
            logger.error("\(message)")
            if printsMistakes, isatty(STDERR_FILENO) == 1 {
                try? FileHandle.standardError.write(contentsOf: Data("\(source.applicationName): \(message)\n".utf8))
            }
        }
        updateObservations(to: configuration.observe)
        log(configuration.warnings)
        watch()
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
        let result = await inTurn { reloader in
            let result = await reloader.reloadNow()
            if case .success = result { reloader.log(result) }
            return result
        }.value
        if case .failure(let error) = result { throw error }
    }

    private func hangup() {
        _ = inTurn { $0.log(await $0.reloadNow(), .notice, prefix: "SIGHUP: ") }
    }

    private func filesChanged() {
        _ = inTurn { reloader in
            let (lastRead, problems) = reloader.state.withLock { ($0.lastRead, $0.problems) }
            // A config file that is deleted may be about to come back, so that alone changes nothing.
            guard let path = reloader.watchedPaths.first(where: ConfigurationFileLocator.exists) else { return }
            let text = try? ConfigurationFileContents(path: path).text
            if path == lastRead.file, text != nil, text == lastRead.text { return }
            let result = await reloader.reloadNow()
            // The same mistakes are reported once.
            if case .failure(let error) = result, error.mistakes == problems { return }
            reloader.log(result)
        }
    }

    private func log(
        _ result: Result<String?, ConfigurationError>,
        _ level: Logger.Level = .info,
        prefix: String = ""
    ) {
        switch result {
        case .success(let report?): logger.log(level: level, "\(prefix)\(report)")
        case .success(nil): break
        case .failure(let error):
            let report = "The configuration was not reloaded, and the one from before holds:\n\(error)"
            logger.error("\(prefix)\(report)")
        }
    }

    /// Runs `body` after everything that was asked for before.
    private func inTurn<Result: Sendable>(
        _ body: @escaping @Sendable (ConfigurationReloader) async -> Result
    ) -> Task<Result, Never> {
        state.withLock { state in
            let previous = state.lastReload
            let task = Task(executorPreference: thread) {
                await previous?.value
                return await body(self)
            }
            state.lastReload = Task(executorPreference: thread) { _ = await task.value }
            return task
        }
    }

    /// Returns what happened, as a sentence for the log; `nil` when the manager has ended.
    private func reloadNow() async -> Result<String?, ConfigurationError> {
        let before = state.withLock { $0.isClosed ? nil : ($0.current, $0.made) }
        guard let (old, oldBackends) = before else { return .success(nil) }
        let (new, mistakes) = source.read()
        let wanted = applicable(new.backends)
        func isSame(_ one: IndicatorConfiguration.Backend, _ other: IndicatorConfiguration.Backend) -> Bool {
            one.name == other.name && one.kind.name == other.kind.name && one.settings == other.settings
        }
        let added = wanted.filter { backend in !oldBackends.contains { isSame($0, backend) } }
        let removed = oldBackends.filter { backend in !wanted.contains { isSame($0, backend) } }.map(\.name)
        // All are made before one is removed, so that a kind that refuses its settings changes nothing either.
        let (backends, refusals) = mistakes.isEmpty ? source.make(added, logger: logger) : ([], [])
        let problems = ConfigurationError(mistakes + refusals)
        state.withLock { state in
            state.lastRead = (new.file, new.fileText)
            state.problems = problems.mistakes
        }
        guard problems.mistakes.isEmpty else { return .failure(problems) }
        await withTaskGroup { group in
            for name in removed {
                group.addTask { [engine] in await engine.removeBackend(named: name, timeLimit: .seconds(2)) }
            }
        }
        let isClosed = state.withLock { state in
            state.current = new
            state.made = wanted
            return state.isClosed
        }
        guard !isClosed else { return .success(nil) }
        for backend in backends { _ = engine.addBackend(backend, logger: logger) }
        // Only what the configuration changes: the app, or a panel on the bus, may have set something else meanwhile.
        if new.delays != old.delays { engine.delays = new.delays }
        if new.isEnabled != old.isEnabled { engine.setEnabled(new.isEnabled) }
        updateObservations(to: new.observe)
        if new.file != old.file {
            watch()
            // What the watcher before had seen, and not yet reported, is not lost with it.
            filesChanged()
        }
        if new.warnings != old.warnings { log(new.warnings) }

        let isGone = new.file == nil && old.file != nil
        let isSame = (new.delays, new.isEnabled, new.observe) == (old.delays, old.isEnabled, old.observe)
        let changes = Self.changes(added: added.map(\.name), removed: removed)
        return .success(
            (isGone ? "\(old.file ?? "") no longer exists. " : "")
                + "The configuration was reloaded from \(new.file ?? "the defaults"): "
                + (changes ?? (isSame ? "nothing has changed" : "the backends stay as they are"))
        )
    }

    /// What happened to the backends: `restarted logFile; added audit`. `nil` when that is nothing.
    private static func changes(added: [String], removed: [String]) -> String? {
        let parts = [
            ("restarted", removed.filter(added.contains)),
            ("added", added.filter { !removed.contains($0) }),
            ("removed", removed.filter { !added.contains($0) }),
        ]
        let texts = parts.filter { !$0.1.isEmpty }.map { "\($0.0) \($0.1.joined(separator: ", "))" }
        return texts.isEmpty ? nil : texts.joined(separator: "; ")
    }

    /// The backends without those that nobody named and that have nothing to show on here.
    private func applicable(_ backends: [IndicatorConfiguration.Backend]) -> [IndicatorConfiguration.Backend] {
        backends.filter { backend in
            let context = source.context(of: backend, logger: logger)
            if backend.isNamed || backend.kind.isApplicable(context, backend.settings) { return true }
            logger.debug("The backend '\(backend.name)' is left out: there is nothing here that it could show on.")
            return false
        }
    }

    private func updateObservations(to names: [String]) {
        let present = state.withLock { $0.observations }
        var updated = present.filter { names.contains($0.key) }
        for (name, observation) in present where updated[name] == nil { observation.cancel() }
        for notifications in TopLevelSetting.notifications
        where names.contains(notifications.name) && updated[notifications.name] == nil {
            updated[notifications.name] = engine.observe(notifications, in: .default)
        }
        state.withLock { [updated] in $0.observations = updated }
    }

    private func log(_ warnings: [ConfigurationMistake]) {
        for warning in warnings { logger.warning("\(warning.line(severity: "warning"))") }
    }

    // MARK: - Listening

    /// Where the file is, or may appear and then be stronger than the one that there is.
    private var watchedPaths: ArraySlice<String> {
        let candidates = source.locator.candidates
        let current = state.withLock { $0.lastRead.file }.flatMap(candidates.firstIndex(of:))
        return candidates[...(current ?? candidates.count - 1)]
    }

    private func watch() {
        guard triggers.contains(.change) else { return }
        let paths = Array(watchedPaths)
        var watcher: FileWatcher?
        do {
            watcher = try FileWatcher(paths: paths) { [weak self] in self?.filesChanged() }
        } catch {
            let place = paths.count == 1 ? paths[0] : "the config file"
            logger.warning("Changes of \(place) will not be noticed, reload with SIGHUP: \(error)")
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
