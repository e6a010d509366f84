import Foundation
import IndicatorThreads
import Logging

/// Runs one backend on its own thread, or that of its connection, and isolates its failures.
///
/// ``BackendRunnerStateMachine`` decides; the runner holds its lock, calls the backend, sets the timer and writes the
/// log. The runner lives until the backend has stopped.
final class BackendRunner: SnapshotReceiver {
    /// The state that the runner's lock protects. Nothing is called with the lock held.
    private struct Storage: Sendable {
        var machine: BackendRunnerStateMachine
        /// Whether the loop runs; not while its thread could not be created.
        var hasBegun = false
        /// The runner's loop, while it waits for an operation.
        var idleLoop: CheckedContinuation<BackendRunnerStateMachine.Operation?, Never>?
        /// The callers of ``settle()``.
        var settlers: [CheckedContinuation<Void, Never>] = []
        /// The callers of ``waitUntilFinished()``.
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// Orders the settings of the timer, which is set without the lock.
        var timerVersion: UInt64 = 0
        /// The events to log.
        var events: [BackendRunnerStateMachine.Event] = []
    }

    /// The work to do after unlocking.
    private struct Afterwards: Sendable {
        var loop: CheckedContinuation<BackendRunnerStateMachine.Operation?, Never>?
        var operation: BackendRunnerStateMachine.Operation?
        var waiters: [CheckedContinuation<Void, Never>]
        var deadline: Duration?
        var timerVersion: UInt64
        var events: [BackendRunnerStateMachine.Event]
    }

    let name: String

    private let delivery: BackendDelivery
    private let backend: any IndicatorBackend
    private let connected: (any ConnectedBackend)?
    private let time: TimeSource
    private let logger: Logger
    private let thread: ServiceThread
    private let storage: Locked<Storage>
    private let timer: DeadlineTimer

    init(backend: any IndicatorBackend, time: TimeSource, logger: Logger) {
        name = backend.name
        var delivery = backend.delivery
        delivery.updateTimeLimit = min(max(delivery.updateTimeLimit, .zero), TimeSource.longest)
        delivery.animationInterval = delivery.animationInterval.map {
            min(max($0, .milliseconds(10)), TimeSource.longest)
        }
        delivery.minimumInterval = min(max(delivery.minimumInterval, .zero), TimeSource.longest)
        self.delivery = delivery
        self.backend = backend
        self.time = time
        self.logger = logger.inBackground
        connected = backend as? any ConnectedBackend
        thread = connected?.thread ?? ServiceThread(name: "ind-\(name)")
        let retryScale = connected == nil ? 1 : Double.random(in: 0.25...1)
        storage = Locked(Storage(machine: BackendRunnerStateMachine(delivery: delivery, retryScale: retryScale)))
        timer = DeadlineTimer(time: time)
    }

    var audience: PublicationState.Audience { delivery.includesHidden ? .always : .whileVisible }

    var status: BackendStatus {
        storage.withLock { storage in
            BackendStatus(
                name: name,
                state: storage.machine.backendState,
                updatesDelivered: storage.machine.updatesDelivered,
                outages: storage.machine.outages,
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
                    case .update(var snapshot, let isRepetition):
                        snapshot.isRepetition = isRepetition
                        try await backend.update(snapshot)
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

    func post(_ snapshot: IndicatorSnapshot) -> Bool {
        storage.withLock { storage in
            storage.machine.post(snapshot)
            // A loop that is not idle takes the snapshot after its current call.
            return storage.idleLoop != nil || !storage.hasBegun
        }
    }

    func startDelivery() {
        // Its thread could not be created, so it is tried again.
        if !storage.withLock({ $0.hasBegun }) { _ = thread.start() }
        if let connected, storage.withLock({ $0.machine.isFinishing }) { connected.willStop() }
        change { _, _ in [] }
    }

    /// Starts an unavailable backend again immediately.
    func retry() {
        change { storage, now in storage.machine.retry(at: now) }
    }

    /// Stops the backend and starts it again, as if an update had thrown an error with this text.
    func surfaceWasLost(_ reason: String) {
        change { storage, now in storage.machine.surfaceWasLost(reason, at: now) }
    }

    /// Lets the backend deliver the waiting snapshots and stops it, or gives it up after the time limit.
    func finish(timeLimit: Duration, at now: Duration) {
        let timeLimit = min(max(timeLimit, .zero), TimeSource.longest)
        storage.withLock { $0.machine.finish(timeLimit: timeLimit, at: now) }
    }

    /// Returns when the backend has stopped or was given up, after ``finish(timeLimit:at:)``.
    func waitUntilFinished() async {
        guard ServiceThread.canFinishWork else { return }
        await withCheckedContinuation { continuation in
            let isFinished = storage.withLock { storage in
                if !storage.machine.isFinished { storage.waiters.append(continuation) }
                return storage.machine.isFinished
            }
            if isFinished { continuation.resume() }
        }
    }

    /// Returns when the backend has received what is due now.
    func settle() async {
        await withCheckedContinuation { continuation in
            change { storage, now in
                storage.settlers.append(continuation)
                return storage.machine.advance(to: now)
            }
        }
    }

    /// When the machine has something to do next.
    var deadline: Duration? { storage.withLock { $0.machine.deadline() } }

    private func nextOperation() async -> BackendRunnerStateMachine.Operation? {
        await withCheckedContinuation { continuation in
            let now = time.now
            perform(
                storage.withLock { storage in
                    storage.idleLoop = continuation
                    storage.hasBegun = true
                    return proceed(&storage, at: now)
                }
            )
        }
    }

    private func finished(error: String?) {
        let now = time.now
        for event in storage.withLock({ $0.machine.finished(error: error, at: now) }) { log(event) }
    }

    private func deadlineHasCome(_ deadline: Duration) {
        let now = max(time.now, deadline)
        change(at: now) { storage, now in storage.machine.advance(to: now) }
    }

    private func change(
        at now: Duration? = nil,
        _ body: (inout Storage, Duration) -> [BackendRunnerStateMachine.Event]
    ) {
        let now = now ?? time.now
        perform(
            storage.withLock { storage in
                let events = body(&storage, now)
                storage.events += events
                return proceed(&storage, at: now)
            }
        )
    }

    /// Determines what to do next. Called with the lock held.
    private func proceed(_ storage: inout Storage, at now: Duration) -> Afterwards {
        var operation: BackendRunnerStateMachine.Operation?
        var loop: CheckedContinuation<BackendRunnerStateMachine.Operation?, Never>?
        if storage.idleLoop != nil {
            operation = storage.machine.nextOperation(at: now)
            if operation != nil || storage.machine.isStopped { loop = storage.idleLoop.take() }
        }
        storage.timerVersion += 1
        let isFinished = storage.machine.isFinished
        var waiters = isFinished ? exchange(&storage.waiters, with: []) : []
        if isFinished || storage.idleLoop != nil { waiters += exchange(&storage.settlers, with: []) }
        return Afterwards(
            loop: loop,
            operation: operation,
            waiters: waiters,
            deadline: storage.machine.deadline(isIdle: storage.idleLoop != nil),
            timerVersion: storage.timerVersion,
            events: exchange(&storage.events, with: [])
        )
    }

    private func perform(_ afterwards: Afterwards) {
        timer.set(afterwards.deadline, version: afterwards.timerVersion, deadlineHasCome)
        // From separate tasks: the calling thread may hold the status lock of a task that it cancels.
        for waiter in afterwards.waiters {
            Task.detached(executorPreference: ServiceThread.forCallersCode) { waiter.resume() }
        }
        for event in afterwards.events { log(event) }
        afterwards.loop?.resume(returning: afterwards.operation)
    }

    // MARK: - The log

    private func log(_ event: BackendRunnerStateMachine.Event) {
        switch event {
        case .becameUnavailable(let reason):
            logger.warning("The backend '\(name)' is unavailable and will be tried again: \(reason)")
        case .waitsToRetry(let delay):
            logger.debug("The backend '\(name)' will be tried again in \(delay).")
        case .recovered:
            logger.notice("The backend '\(name)' is available again.")
        case .stalled(let call):
            let target = delivery.target.map { " (\($0))" } ?? ""
            logger.warning(
                "The backend '\(name)'\(target) has not returned from '\(call)' for \(delivery.updateTimeLimit)."
            )
        case .resumed:
            logger.notice("The backend '\(name)' has returned.")
        case .givenUp:
            logger.warning("The backend '\(name)' did not stop in time and was given up.")
        }
    }
}
