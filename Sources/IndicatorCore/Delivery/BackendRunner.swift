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
                var failure: String?
                do {
                    switch operation {
                    case .start: try await backend.start()
                    case .update(var snapshot, let isRepetition):
                        snapshot.isRepetition = isRepetition
                        try await backend.update(snapshot)
                    case .stop: await backend.stop()
                    }
                } catch {
                    failure = "\(error)"
                }
                let now = time.now
                log(storage.withLock { $0.machine.finished(error: failure, at: now) })
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
        change()
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
            change { storage, _ in
                (storage.idleLoop, storage.hasBegun) = (continuation, true)
                return []
            }
        }
    }

    private func deadlineHasCome(_ deadline: Duration) {
        change(at: max(time.now, deadline)) { storage, now in storage.machine.advance(to: now) }
    }

    /// Makes a change with the lock held, and does what follows from it.
    private func change(
        at now: Duration? = nil,
        _ body: (inout Storage, Duration) -> [BackendRunnerStateMachine.Event] = { _, _ in [] }
    ) {
        let now = now ?? time.now
        let (events, loop, operation, waiters, deadline, version) = storage.withLock { storage in
            let events = body(&storage, now)
            var operation: BackendRunnerStateMachine.Operation?
            var loop: CheckedContinuation<BackendRunnerStateMachine.Operation?, Never>?
            if storage.idleLoop != nil {
                operation = storage.machine.nextOperation(at: now)
                if operation != nil || storage.machine.isStopped { loop = storage.idleLoop.take() }
            }
            let isIdle = storage.idleLoop != nil
            let isFinished = storage.machine.isFinished
            var waiters = isFinished ? exchange(&storage.waiters, with: []) : []
            if isFinished || isIdle { waiters += exchange(&storage.settlers, with: []) }
            storage.timerVersion += 1
            return (events, loop, operation, waiters, storage.machine.deadline(isIdle: isIdle), storage.timerVersion)
        }
        timer.set(deadline, version: version, deadlineHasCome)
        // From separate tasks: the calling thread may hold the status lock of a task that it cancels.
        for waiter in waiters {
            Task.detached(executorPreference: ServiceThread.forCallersCode) { waiter.resume() }
        }
        log(events)
        loop?.resume(returning: operation)
    }

    private func log(_ events: [BackendRunnerStateMachine.Event]) {
        for event in events { logger.log(level: event.level, "The backend '\(name)' \(event.text)") }
    }
}
