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
        /// Whether the backend was added: a retry that it requests in `attach(to:)` does not start it.
        var isAdded = false
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

    func post(_ snapshot: IndicatorSnapshot) { storage.withLock { $0.machine.post(snapshot) } }

    /// Begins the next call to the backend if there is none; at first, the one that starts it.
    func startDelivery() {
        // If its thread could not be created, the current call waits for it.
        _ = thread.start()
        if let connected, storage.withLock({ $0.machine.isFinishing }) { connected.willStop() }
        change { storage, _ in
            storage.isAdded = true
            return []
        }
    }

    /// Makes a call to the backend, on its thread.
    private func perform(_ operation: BackendRunnerStateMachine.Operation) async {
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
        change { storage, now in storage.machine.finished(error: failure, at: now) }
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
            change { storage, _ in
                storage.waiters.append(continuation)
                return []
            }
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
    var deadline: Duration? { storage.withLock { $0.machine.deadline } }

    private func deadlineHasCome(_ deadline: Duration) {
        change(at: max(time.now, deadline)) { storage, now in storage.machine.advance(to: now) }
    }

    /// Makes a change with the lock held, and does what follows from it: begins the next call, sets the timer.
    private func change(
        at now: Duration? = nil,
        _ body: (inout Storage, Duration) -> [BackendRunnerStateMachine.Event]
    ) {
        let now = now ?? time.now
        let (events, operation, isStopped, waiters, deadline, version) = storage.withLock { storage in
            let events = body(&storage, now)
            let operation = storage.isAdded ? storage.machine.nextOperation(at: now) : nil
            let isFinished = storage.machine.isFinished
            var waiters = isFinished ? exchange(&storage.waiters, with: []) : []
            if isFinished || storage.machine.isIdle { waiters += exchange(&storage.settlers, with: []) }
            storage.timerVersion += 1
            let (isStopped, deadline) = (storage.machine.isStopped, storage.machine.deadline)
            return (events, operation, isStopped, waiters, deadline, storage.timerVersion)
        }
        timer.set(deadline, version: version, deadlineHasCome)
        for event in events { logger.log(level: event.level, "The backend '\(name)' \(event.text)") }
        // From another thread: the calling one may hold the status lock of a task that it cancels.
        for waiter in waiters { ServiceThread.ownCode.call(at: .min) { waiter.resume() } }
        if let operation { Task.detached(executorPreference: thread) { [self] in await perform(operation) } }
        if isStopped { thread.close() }
    }
}
