import Foundation
import Synchronization
package import Logging

extension IndicatorEngine {
    /// Adds a backend and starts it asynchronously.
    ///
    /// - Parameter logger: for its diagnostics; by default the engine's.
    package func addBackend(_ backend: any IndicatorBackend, logger: Logger? = nil) -> Bool {
        let logger = logger ?? self.logger
        let control = IndicatorControl(self)
        let runner = BackendRunner(backend: backend, control: control, time: time, logger: logger)
        var refusal = "the indicator was shut down"
        let isAdded = add(runner) { storage in
            refusal = "another backend has that name; give each backend a unique name"
            if storage.runner(named: runner.name) != nil { return false }
            storage.runners.append(runner)
            return true
        }
        if !isAdded { logger.inBackground.error("The backend '\(runner.name)' was not added: \(refusal)") }
        return isAdded
    }

    package func removeBackend(named name: String, timeLimit: Duration) async {
        let now = time.now
        let removed: (BackendRunner, Actions)? = storage.withLock { storage in
            guard let runner = storage.runner(named: name) else { return nil }
            storage.runners.removeAll { $0 === runner }
            var actions = Actions(storage.machine.publishPending(at: now), storage)
            actions.receivers.append(runner)
            remove(runner, from: &storage)
            var hidden = storage.machine.snapshot { now }
            if hidden.isVisible {
                hidden.period += 1
                let list = storage.machine.list
                (hidden.since, hidden.sinceUptime) = (list.date(at: now), list.uptime(at: now))
            }
            hidden.state = .inactive
            runner.post(IndicatorUpdate(hidden))
            runner.finish(timeLimit: timeLimit)
            return (runner, actions)
        }
        guard let (runner, actions) = removed else { return }
        perform(actions)
        await runner.waitUntilFinished()
    }

    package var backendStatuses: [BackendStatus] {
        storage.withLock { $0.runners }.compactMap { ($0 as? BackendRunner)?.status }
    }

    /// For tests: does what is due now, and returns when the backends have received it.
    ///
    /// - Returns: the time until more is due; `nil` if nothing is.
    package func settle() async -> Duration? {
        func waitForChecks() async {
            while checksInProgress.load(ordering: .acquiring) > 0 { await Task.yield() }
        }
        await waitForChecks()
        deadlineHasCome(time.now)
        await waitForChecks()
        let runners = storage.withLock { $0.runners }.compactMap { $0 as? BackendRunner }
        for runner in runners { await runner.settle() }
        let deadlines = runners.compactMap(\.deadline) + [read { machine, _ in machine.wakesAt }].compactMap(\.self)
        return deadlines.min().map { $0 - time.now }
    }

    package func shutdown(timeLimit: Duration) async {
        // All resources begin to end now. Not as jobs of a group, which would run on the caller's executor.
        let (runners, resources) = end(timeLimit: timeLimit)
        guard ServiceThread.canFinishWork else { return }
        let limit = min(max(timeLimit, .zero), TimeSource.longest)
        let deadline = ServiceThread.now + limit.wholeNanoseconds
        for runner in runners { await runner.waitUntilFinished() }
        for resource in resources { await Self.wait(until: deadline) { await resource.value } }
        await Self.wait(until: max(deadline, ServiceThread.now + 100_000_000)) { await BackgroundLogHandler.flush() }
    }

    /// Calls a function, and returns when it returns, or at a time, as of `ServiceThread.now`.
    private static func wait(until end: Int64, _ body: @escaping @Sendable () async -> Void) async {
        await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<Void, Never>?>(continuation)
            let resume: @Sendable () -> Void = { waiting.withLock { $0.take() }?.resume() }
            // Elsewhere than on the timers' thread: the executor of the caller may block.
            let call = ServiceThread.shared.call(at: end) {
                ServiceThread.ownCode.call(at: .min, resume)
            }
            Task.detached(executorPreference: ServiceThread.ownCode) {
                await body()
                ServiceThread.shared.cancelCall(call)
                resume()
            }
        }
    }
}

extension IndicatorEngine.Storage {
    fileprivate func runner(named name: String) -> BackendRunner? {
        for case let runner as BackendRunner in runners where runner.name == name { return runner }
        return nil
    }
}
