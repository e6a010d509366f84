import Logging

/// Runs one backend on a thread of its own, and keeps its troubles away from everything else.
///
/// ``BackendRunnerStateMachine`` decides; the runner holds its lock, calls the backend, sets the timer and writes the log. The
/// runner lives until the backend has stopped.
final class BackendRunner: Sendable {
    private struct Storage: Sendable {
        var machine: BackendRunnerStateMachine
        /// The runner's loop, while it waits for something to do.
        var idleLoop: CheckedContinuation<BackendRunnerStateMachine.Operation?, Never>?
        /// Those who wait for the backend to have stopped.
        var waiters: [CheckedContinuation<Void, Never>] = []
        var timer: DeadlineTimer?
    }

    let name: String
    let delivery: BackendDelivery

    private let backend: any IndicatorBackend
    private let time: TimeSource
    private let logger: Logger
    private let thread: BackendThread
    private let storage: Locked<Storage>

    init(backend: any IndicatorBackend, time: TimeSource, logger: Logger) {
        name = backend.name
        var delivery = backend.delivery
        delivery.updateTimeLimit = min(delivery.updateTimeLimit, TimeSource.longest)
        delivery.animationInterval = delivery.animationInterval.map { min($0, TimeSource.longest) }
        self.delivery = delivery
        self.backend = backend
        self.time = time
        self.logger = logger
        thread = BackendThread(name: "ind-\(backend.name)")
        storage = Locked(Storage(machine: BackendRunnerStateMachine(delivery: delivery)))
        let timer = DeadlineTimer(time: time) { [weak self] in self?.deadlineIsDue() }
        storage.withLock { $0.timer = timer }
    }

    var status: BackendStatus {
        storage.withLock { storage in
            BackendStatus(
                name: name,
                state: storage.machine.backendState,
                updatesDelivered: storage.machine.updatesDelivered,
                updatesDropped: storage.machine.updatesDropped,
                lastError: storage.machine.lastError
            )
        }
    }

    /// Starts the backend. Called once.
    func run() {
        Task.detached(executorPreference: thread) { [self] in
            while let operation = await nextOperation() {
                var text: String?
                do {
                    switch operation {
                    case .start: try await backend.start()
                    case .update(let snapshot, _): try await backend.update(snapshot)
                    case .stop: await backend.stop()
                    }
                } catch {
                    text = "\(error)"
                }
                finished(error: text)
            }
            thread.close()
        }
    }

    /// Takes in what there is to show. Returns at once.
    func post(_ snapshot: IndicatorSnapshot, at now: Duration) {
        change(at: now) { $0.post(snapshot) }
    }

    /// Lets a backend that is unavailable be tried at once.
    func retry() {
        let now = time.now
        change(at: now) { $0.retry(at: now) }
    }

    /// Stops the backend and starts it again, as if an update had thrown an error with this text.
    func surfaceWasLost(_ reason: String) {
        let now = time.now
        let (events, afterwards) = storage.withLock { storage in
            let events = storage.machine.surfaceWasLost(reason)
            return (events, proceed(&storage, at: now))
        }
        for event in events { log(event) }
        afterwards()
    }

    /// Lets the backend deliver what waits, stops it, and waits for that or until it is given up.
    func finish(timeLimit: Duration) async {
        let now = time.now
        change(at: now) { $0.finish(timeLimit: min(timeLimit, TimeSource.longest), at: now) }
        await withCheckedContinuation { continuation in
            let isFinished = storage.withLock { storage in
                if !storage.machine.isFinished { storage.waiters.append(continuation) }
                return storage.machine.isFinished
            }
            if isFinished { continuation.resume() }
        }
    }

    /// Lets the backend come to its end without anyone waiting.
    func abandon(at now: Duration) {
        change(at: now) { $0.finish(timeLimit: .seconds(2), at: now) }
    }

    private func nextOperation() async -> BackendRunnerStateMachine.Operation? {
        await withCheckedContinuation { continuation in
            let now = time.now
            let afterwards = storage.withLock { storage in
                storage.idleLoop = continuation
                return proceed(&storage, at: now)
            }
            afterwards()
        }
    }

    private func finished(error: String?) {
        let now = time.now
        let events = storage.withLock { $0.machine.finished(error: error, at: now) }
        for event in events { log(event) }
    }

    private func deadlineIsDue() -> Duration? {
        let now = time.now
        let (events, afterwards, next) = storage.withLock { storage in
            let events = storage.machine.advance(to: now)
            let afterwards = proceed(&storage, at: now)
            return (events, afterwards, storage.machine.deadline)
        }
        for event in events { log(event) }
        afterwards()
        return next
    }

    private func change(at now: Duration, _ body: (inout BackendRunnerStateMachine) -> Void) {
        let afterwards = storage.withLock { storage in
            body(&storage.machine)
            return proceed(&storage, at: now)
        }
        afterwards()
    }

    /// Gives the loop something to do if it is idle, and sets the timer. Called with the lock held; what is returned is to be
    /// called without it.
    private func proceed(_ storage: inout Storage, at now: Duration) -> @Sendable () -> Void {
        var resumeLoop: (@Sendable () -> Void)?
        if let loop = storage.idleLoop {
            let operation = storage.machine.nextOperation(at: now)
            if operation != nil || storage.machine.isStopped {
                storage.idleLoop = nil
                resumeLoop = { loop.resume(returning: operation) }
            }
        }
        let waiters = storage.machine.isFinished ? storage.waiters : []
        if storage.machine.isFinished { storage.waiters = [] }
        if let deadline = storage.machine.deadline {
            storage.timer?.wake(at: deadline)
        } else {
            storage.timer?.cancel()
        }
        return { [resumeLoop] in
            for waiter in waiters { waiter.resume() }
            resumeLoop?()
        }
    }

    private func log(_ event: BackendRunnerStateMachine.Event) {
        switch event {
        case .becameUnavailable(let reason):
            logger.warning("The backend '\(name)' is unavailable and will be tried again: \(reason)")
        case .waitsToRetry(let delay):
            logger.debug("The backend '\(name)' will be tried again in \(delay).")
        case .recovered:
            logger.notice("The backend '\(name)' is available again.")
        case .stalled:
            logger.warning(
                "The backend '\(name)' has not returned for \(delivery.updateTimeLimit); going on without it."
            )
        case .resumed:
            logger.notice("The backend '\(name)' has returned.")
        case .dropped(let count):
            logger.warning("The backend '\(name)' is too slow: \(count) updates did not fit in its queue and are lost.")
        case .givenUp:
            logger.warning("The backend '\(name)' did not stop in time and is left to itself.")
        }
    }
}
