extension IndicatorManager {
    /// The state of the indicator as it changes: first the present one, then the latest whenever there is a newer one.
    ///
    /// Each sequence has its own subscription. The latest value wins: a slow subscriber misses what came in between and
    /// always ends at the truth; ``IndicatorSnapshot/finished`` is complete even so. A change of visibility is delivered at
    /// once, other changes at most ten times a second. The sequence ends when the manager is shut down or deallocated, or
    /// when the task that iterates it is cancelled.
    public var snapshots: IndicatorSnapshots {
        IndicatorSnapshots(engine: engine)
    }
}

/// The state of an indicator as it changes. See ``IndicatorManager/snapshots``.
public struct IndicatorSnapshots: AsyncSequence, Sendable {
    /// What the sequence delivers.
    public typealias Element = IndicatorSnapshot
    /// The sequence never fails.
    public typealias Failure = Never

    private let lifetime: Lifetime

    init(engine: IndicatorEngine) {
        lifetime = Lifetime(engine)
    }

    /// Ends the subscription when the sequence and its iterators are released.
    fileprivate final class Lifetime: Sendable {
        let subscription: SnapshotSubscription
        private let engine: IndicatorEngine

        init(_ engine: IndicatorEngine) {
            self.engine = engine
            subscription = engine.subscribe()
        }

        deinit {
            engine.unsubscribe(subscription)
        }
    }

    /// Delivers the snapshots of one subscription.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let lifetime: Lifetime

        /// The next snapshot; `nil` when there will be no more.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> IndicatorSnapshot? {
            await lifetime.subscription.next()
        }
    }

    /// Begins to deliver. Iterate each sequence once; `snapshots` makes a new one each time.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(lifetime: lifetime)
    }
}

/// Keeps the latest snapshot for one subscriber until it asks for it.
final class SnapshotSubscription: SnapshotReceiver {
    private struct State: Sendable {
        var inbox = SnapshotInbox(delivery: BackendDelivery(includesHidden: true))
        var delivered: IndicatorSnapshot?
        var isFinished = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0

        var hasNews: Bool { inbox.hasNews(delivered: delivered) || isFinished }
    }

    /// The lock is not held while a continuation is resumed.
    private let state = Locked(State())

    var audience: IndicatorStateMachine.Audience { .always }

    func receive(_ snapshot: IndicatorSnapshot) {
        wake { _ = $0.inbox.post(snapshot) }
    }

    func finish(timeLimit: Duration) {
        wake { $0.isFinished = true }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiters: [Int: CheckedContinuation<Void, Never>] = state.withLock { state in
            change(&state)
            guard state.hasNews else { return [:] }
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { Self.resume(waiter) }
    }

    /// Resumes a task from a task of its own.
    ///
    /// Resuming takes the status lock of the task that waits. The calling thread may hold that of another task, if it runs
    /// a cancellation handler: two such threads could wait for each other.
    private static func resume(_ waiter: CheckedContinuation<Void, Never>) {
        Task.detached { waiter.resume() }
    }

    func next() async -> IndicatorSnapshot? {
        while !Task.isCancelled {
            let (snapshot, isFinished) = state.withLock { state in
                let snapshot = state.inbox.take(delivered: state.delivered)
                if let snapshot { state.delivered = snapshot }
                return (snapshot, state.isFinished)
            }
            if let snapshot { return snapshot }
            if isFinished { return nil }
            await wait()
        }
        return nil
    }

    /// Waits for news, or until the task is cancelled.
    private func wait() async {
        let number = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLock { state in
                    guard !state.hasNews, !Task.isCancelled else { return false }
                    state.waiters[number] = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            if let waiter = state.withLock({ $0.waiters.removeValue(forKey: number) }) { Self.resume(waiter) }
        }
    }
}
