package import IndicatorCore
import Foundation
import Logging

/// Applies the configuration to an indicator, and applies it again when it changes.
///
/// Reloads run one at a time, in the order of their requests. A configuration with a mistake changes nothing. A reload
/// does not affect activities, which the manager owns, or backends whose kind and settings are unchanged.
package final class ConfigurationReloader: ManagerResource {
    private struct State: Sendable {
        var current: IndicatorConfiguration
        /// The backends of the configuration that could be made.
        var made: [IndicatorConfiguration.Backend] = []
        /// The mistakes in what was read last, whether or not it is in effect.
        var problems: [ConfigurationMistake] = []
        var observations: [String: NotificationObservation] = [:]
        var lastReload: Task<Result<Void, ConfigurationError>, Never>?
        var watcher: FileWatcher?
        var isClosed = false
    }

    private let source: ConfigurationSource
    private let state: Locked<State>
    /// Reads the configuration, which may block, and waits for changes of the file.
    private let thread = ServiceThread(name: "config-reload", idleTime: .zero)
    /// The engine, which closes this reloader. Not a weak reference to the manager: that would make activities slower.
    private let engine: IndicatorEngine

    /// For what happens after ``begin(_:)``, whose mistakes are logged before it returns.
    private var logger: Logger { source.logger.inBackground }

    package init(_ configuration: IndicatorConfiguration, source: ConfigurationSource, engine: IndicatorEngine) {
        (self.source, self.engine) = (source, engine)
        state = Locked(State(current: configuration))
    }

    package var configuration: IndicatorConfiguration { state.withLock { $0.current } }

    package var problems: [ConfigurationMistake] { state.withLock { $0.problems } }

    /// Adds the configured backends, reports mistakes, and starts to watch for changes.
    package func begin(_ mistakes: [ConfigurationMistake]) {
        let configuration = configuration
        let wanted = applicable(configuration.backends)
        let (backends, refusals) = source.make(wanted)
        let names = Set(backends.map(\.name))
        let problems = ConfigurationError(mistakes + refusals)
        state.withLock { state in
            state.made = wanted.filter { names.contains($0.name) }
            state.problems = problems.mistakes
        }
        if !problems.mistakes.isEmpty {
            let message = "The configuration has mistakes; what is invalid is not used:\n\(problems)"
            source.logger.error("\(message)")
            // swift-log's default handler writes to standard error; one of the app's may write to standard output.
            let isShown = source.logger.label == "indicator" || isatty(STDOUT_FILENO) == 1
            let isPrinted = isShown && source.logger.handler is StreamLogHandler
            if source.printsMistakes, !isPrinted, isatty(STDERR_FILENO) == 1 {
                let text = SafeText.message("\(source.applicationName): \(message)\n")
                try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
            }
        }
        show(configuration, adding: backends)
        log(configuration.warnings)
        if source.isReloaded { watch() }
        let reload = { @Sendable [weak self] in _ = self?.reload(by: .hangup) }
        ProcessSignals.shutDownWithProcess(engine, reload: source.isReloaded ? reload : nil)
    }

    /// Watches the paths where the file is or may appear. Those of less precedence, too: one of them may be in effect
    /// after a deletion, and then no other watcher is needed.
    private func watch() {
        let paths = source.fileCandidates
        do {
            let watcher = try FileWatcher(paths: paths, on: thread) { [weak self] in self?.reload(by: .change) }
            state.withLock { $0.watcher = watcher }
        } catch {
            let place = paths.count == 1 ? paths[0] : "the config file"
            logger.warning("Changes to \(place) will not be detected; reload with SIGHUP: \(error)")
        }
    }

    // MARK: - Reloading

    /// What requested a reload.
    private enum Trigger { case code, hangup, change }

    /// Reads the configuration again and applies it. If it has a mistake, throws and changes nothing.
    package func reload() async throws(ConfigurationError) {
        try await reload(by: .code).value.get()
    }

    /// Reloads after all earlier requests.
    @discardableResult
    private func reload(by trigger: Trigger) -> Task<Result<Void, ConfigurationError>, Never> {
        state.withLock { state in
            let task = Task(executorPreference: thread) { [previous = state.lastReload] in
                _ = await previous?.value
                return await self.reloadNow(by: trigger)
            }
            state.lastReload = task
            return task
        }
    }

    /// Whether the file was deleted. It may be about to be replaced, so a deletion alone is not a change.
    private var isFileMissing: Bool {
        let candidates = source.fileCandidates
        let last = configuration.file.flatMap(candidates.firstIndex) ?? candidates.count - 1
        return !candidates[...last].contains(where: ConfigurationSource.fileExists)
    }

    private func log(_ warnings: [ConfigurationMistake]) {
        for warning in warnings { logger.warning("\(warning.line(severity: "warning"))") }
    }

    private func reloadNow(by trigger: Trigger) async -> Result<Void, ConfigurationError> {
        let before = state.withLock(\.self)
        let wasMissing = isFileMissing
        let (new, mistakes) = source.read()
        // It may go between the first check and the reading, which then has only the defaults, or a mistake.
        guard !before.isClosed, trigger != .change || !wasMissing && !isFileMissing else { return .success(()) }
        let old = before.current
        let wanted = applicable(new.backends)
        let added = wanted.filter { backend in !before.made.contains { $0.isSame(as: backend) } }
        let removed = before.made.filter { backend in !wanted.contains { $0.isSame(as: backend) } }.map(\.name)
        // New ones are made before any is removed, so that nothing changes if a kind rejects its settings.
        let (backends, refusals) = mistakes.isEmpty ? source.make(added) : ([], [])
        let problems = ConfigurationError(mistakes + refusals)
        state.withLock { $0.problems = problems.mistakes }
        let prefix = trigger == .hangup ? "SIGHUP: " : ""
        guard problems.mistakes.isEmpty else {
            // The caller gets the mistakes; those of a changed file are logged only once.
            if trigger == .hangup || trigger == .change && problems.mistakes != before.problems {
                let remark = "The configuration was not reloaded; the previous one remains in effect"
                logger.error("\(prefix)\(remark):\n\(problems)")
            }
            return .failure(problems)
        }
        await withTaskGroup { [engine] group in
            for name in removed { group.addTask { await engine.removeBackend(named: name, timeLimit: .seconds(2)) } }
        }
        let isClosed = state.withLock { state in
            (state.current, state.made) = (new, wanted)
            return state.isClosed
        }
        guard !isClosed else { return .success(()) }
        show(new, adding: backends)
        // Only what changed in the configuration: the app, or a panel on the bus, may have set other values since.
        if new.delays != old.delays { engine.delays = new.delays }
        if new.isEnabled != old.isEnabled { engine.setEnabled(new.isEnabled) }
        if new.warnings != old.warnings { log(new.warnings) }
        // Only who sends the signal waits for an answer.
        let level = trigger == .hangup ? Logger.Level.notice : .debug
        logger.log(level: level, "\(prefix)The configuration was reloaded from \(new.file ?? "the defaults")")
        return .success(())
    }

    /// The backends that have a surface here. The others are not worth a warning, even if the file names them: the same
    /// file is used on a desktop, under cron and in containers.
    private func applicable(_ backends: [IndicatorConfiguration.Backend]) -> [IndicatorConfiguration.Backend] {
        backends.filter { backend in
            if backend.configured.isApplicable(backend.context) { return true }
            logger.debug("The backend '\(backend.name)' is skipped: there is no surface for it here.")
            return false
        }
    }

    /// Adds backends, and observes exactly the notifications that the configuration names.
    private func show(_ configuration: IndicatorConfiguration, adding backends: [any IndicatorBackend]) {
        for backend in backends {
            let isNamed = configuration.backends.contains { $0.name == backend.name && $0.context.isNamed }
            _ = engine.addBackend(backend, logger: source.logger(ofNamed: isNamed))
        }
        var observations = state.withLock { $0.observations }
        for (name, notifications) in IndicatorConfiguration.notifications {
            if !configuration.observe.contains(name) {
                observations.removeValue(forKey: name)?.cancel()
            } else if observations[name] == nil {
                observations[name] = engine.observe(notifications, in: .default)
            }
        }
        state.withLock { [observations] in $0.observations = observations }
    }

    // MARK: - The end

    package func managerHasEnded() async {
        let watcher = state.withLock { state in
            state.isClosed = true
            return state.watcher.take()
        }
        watcher?.stop()
        _ = await state.withLock { $0.lastReload }?.value
        // Only waits for the backends: the shutdown has already begun.
        await engine.shutdown(timeLimit: .zero)
        ProcessSignals.remove(engine)
    }
}
