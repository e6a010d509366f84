import Foundation
import Logging

/// Runs one backend on its own thread, or one that several share, and isolates its failures.
///
/// ``BackendRunnerStateMachine`` decides; the runner holds its lock, calls the backend's function, gives it the updates
/// for which it waits, sets the timer and writes the log. The runner lives until the function has returned.
final class BackendRunner: UpdateReceiver, UpdateSource {
    /// The state that the runner's lock protects. Nothing is called with the lock held.
    private struct Storage: Sendable {
        var machine: BackendRunnerStateMachine
        /// Whether the backend was added. Before, nothing is called.
        var isAdded = false
        /// The backend, while it waits, and whether for an update.
        var waiter: (continuation: Waiter, asks: Bool)?
        /// Whether the next wait ends immediately; see ``IndicatorUpdates/wake()``.
        var isWoken = false
        /// The limit of the end.
        var limit: Limit?
        /// The callers of ``settle()``.
        var settlers: [CheckedContinuation<Void, Never>] = []
        /// The callers of ``waitUntilFinished()``.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    typealias Waiter = CheckedContinuation<IndicatorEvent?, Never>

    /// The limit of the end, on the clock of ``ServiceThread/now``: an injected one may stand.
    private struct Limit: Sendable {
        var duration: Int64
        var begunAt: Int64
        var progressAt: Int64

        /// When the backend is given up: it has made no progress, or all took too long.
        var end: Int64 {
            min(progressAt + duration, begunAt + max(duration, BackendRunner.longestFinish.wholeNanoseconds))
        }
    }

    /// How long a backend that makes progress may take to finish: 5 seconds.
    static var longestFinish: Duration { .seconds(5) }

    let name: String
    let control: IndicatorControl
    let thread: ServiceThread

    private let delivery: BackendDelivery
    private let backend: any IndicatorBackend
    private let time: TimeSource
    private let logger: Logger
    private let storage: Locked<Storage>
    private let timer: DeadlineTimer

    init(backend: any IndicatorBackend, control: IndicatorControl, time: TimeSource, logger: Logger) {
        name = backend.name
        delivery = backend.delivery.limited
        self.backend = backend
        self.control = control
        self.time = time
        self.logger = logger.inBackground
        thread = delivery.thread?.thread ?? ServiceThread(name: "ind-\(name)")
        let retryScale = delivery.spreadsRetries ? Double.random(in: 0.25...1) : 1
        let machine = BackendRunnerStateMachine(name: name, delivery: delivery, retryScale: retryScale)
        storage = Locked(Storage(machine: machine))
        timer = DeadlineTimer(time: time)
    }

    var audience: PublicationState.Audience { delivery.includesHidden ? .always : .whileVisible }

    var status: BackendStatus { storage.withLock { $0.machine.status } }

    /// When the machine has something to do next.
    var deadline: Duration? { storage.withLock { $0.machine.deadline } }

    func post(_ update: IndicatorUpdate) { storage.withLock { $0.machine.post(update) } }

    /// Begins what has become possible: at first, the call of the backend's function.
    func startDelivery() {
        // If its thread could not be created, the current work waits for it.
        _ = thread.start()
        change { storage, _ in storage.isAdded = true }
        if storage.withLock({ $0.limit != nil }) { checkLimit() }
    }

    /// Calls the backend's function, on its thread.
    private func show(attempt: Int) async {
        var failure: String?
        do { try await backend.show(IndicatorUpdates(from: self, attempt: attempt)) } catch { failure = "\(error)" }
        change { storage, now in
            storage.isWoken = false
            storage.machine.returned(error: failure, at: now)
        }
    }

    // MARK: - The end

    /// Lets the backend show what waits and end, or gives it up after the time limit.
    func finish(timeLimit: Duration) {
        let now = ServiceThread.now
        let limit = min(max(timeLimit, .zero), TimeSource.longest).wholeNanoseconds
        storage.withLock { storage in
            storage.machine.finish()
            if storage.limit == nil { storage.limit = Limit(duration: limit, begunAt: now, progressAt: now) }
        }
    }

    /// Gives the backend up if its time is over, and otherwise checks again when it is.
    private func checkLimit() {
        let end = storage.withLock { $0.machine.isFinished ? nil : $0.limit?.end }
        guard let end else { return }
        if end <= ServiceThread.now { return change { storage, _ in storage.machine.giveUp() } }
        ServiceThread.shared.call(at: end) { [weak self] in self?.checkLimit() }
    }

    /// Returns when the function has returned or was given up, after ``finish(timeLimit:)``.
    func waitUntilFinished() async {
        guard ServiceThread.canFinishWork else { return }
        await withCheckedContinuation { continuation in change { storage, _ in storage.waiters.append(continuation) } }
    }

    /// Returns when the backend has received what is due now.
    func settle() async {
        await withCheckedContinuation { continuation in
            change { storage, now in
                storage.settlers.append(continuation)
                storage.machine.advance(to: now)
            }
        }
    }

    // MARK: - The backend

    func wait(_ attempt: Int, asks: Bool) async -> IndicatorEvent? {
        guard storage.withLock({ $0.machine.attempt == attempt }) else { return nil }
        return await withCheckedContinuation { waiter in
            change { storage, now in
                if asks { storage.machine.ask(at: now) }
                storage.waiter = (waiter, asks)
            }
        }
    }

    func wake(_ attempt: Int) {
        change { storage, _ in if storage.machine.attempt == attempt { storage.isWoken = true } }
    }

    func consume(_ attempt: Int) {
        change { storage, now in if storage.machine.attempt == attempt { storage.machine.consume(at: now) } }
    }

    func isEnding(_ attempt: Int) -> Bool { storage.withLock { $0.machine.isEnding || $0.machine.attempt != attempt } }

    func reportUnavailable(_ reason: String, _ attempt: Int) -> Duration {
        var delay = Duration.zero
        change { storage, now in
            guard storage.machine.attempt == attempt else { return }
            delay = storage.machine.reportUnavailable(reason, at: now)
        }
        return delay
    }

    // MARK: - The machine

    private func deadlineHasCome(_ deadline: Duration) {
        change(at: max(time.now, deadline)) { storage, now in storage.machine.advance(to: now) }
    }

    /// Makes a change with the lock held, and does what follows from it: calls or resumes the backend, sets the timer.
    private func change(at now: Duration? = nil, _ body: (inout Storage, Duration) -> Void) {
        let now = now ?? time.now
        let (events, attempt, resumption, isStopped, waiters) = storage.withLock { storage in
            let progress = storage.machine.progress
            body(&storage, now)
            if storage.machine.progress != progress, storage.limit != nil {
                storage.limit?.progressAt = ServiceThread.now
            }
            let (attempt, resumption) = Self.next(&storage, at: now)
            let isFinished = storage.machine.isFinished
            var waiters = isFinished ? exchange(&storage.waiters, with: []) : []
            if isFinished || storage.machine.isIdle { waiters += exchange(&storage.settlers, with: []) }
            return (storage.machine.takeEvents(), attempt, resumption, storage.machine.isStopped, waiters)
        }
        timer.set({ deadline }, deadlineHasCome)
        for event in events { logger.log(level: event.level, "The backend '\(name)' \(event.text)") }
        // From other threads: the calling one may hold the status lock of a task that it cancels.
        for waiter in waiters { ServiceThread.ownCode.call(at: .min) { waiter.resume() } }
        if let (waiter, event) = resumption { thread.call(at: .min) { waiter.resume(returning: event) } }
        if let attempt { Task.detached(executorPreference: thread) { [self] in await show(attempt: attempt) } }
        if isStopped, delivery.thread == nil { thread.close() }
    }

    /// What the backend gets, or the number of the call that begins. Called with the lock held.
    private static func next(_ storage: inout Storage, at now: Duration) -> (Int?, (Waiter, IndicatorEvent?)?) {
        guard storage.isAdded else { return (nil, nil) }
        if storage.isWoken, let (waiter, _) = storage.waiter.take() {
            storage.isWoken = false
            storage.machine.withdraw()
            return (nil, (waiter, .due))
        }
        switch storage.machine.next(at: now) {
        case .show(let attempt): return (attempt, nil)
        case .deliver(let update): return (nil, storage.waiter.take().map { ($0.continuation, .update(update)) })
        case .end: return (nil, storage.waiter.take().map { ($0.continuation, nil) })
        case nil:
            // The updates have ended, or the backend waits for what it needs to show them.
            let isOver = storage.machine.isEnding
            return (nil, isOver ? storage.waiter.take().map { ($0.continuation, nil) } : nil)
        }
    }
}
