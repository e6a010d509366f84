import IndicatorThreads

extension IndicatorManager {
    /// The state of the indicator as it changes: first the current one, then the latest after every change.
    ///
    /// Each sequence has its own subscription. The latest value wins: a slow subscriber skips intermediate snapshots
    /// and always ends with the current state; ``IndicatorSnapshot/finished`` is complete nevertheless. A change of
    /// visibility is delivered immediately, other changes at most ten times a second. The sequence ends when the
    /// manager is shut down or deallocated, or when the task that iterates it is cancelled.
    public var snapshots: IndicatorSnapshots { IndicatorSnapshots(engine: engine) }
}

/// The state of an indicator as it changes. See ``IndicatorManager/snapshots``.
public struct IndicatorSnapshots: AsyncSequence, Sendable {
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

        deinit { engine.unsubscribe(subscription) }
    }

    /// Delivers the snapshots of one subscription.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let lifetime: Lifetime
        fileprivate var signal: AsyncStream<Void>.Iterator

        /// The next snapshot; `nil` when the sequence has ended.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> IndicatorSnapshot? {
            while !Task.isCancelled {
                switch lifetime.subscription.take() {
                case .some(.some(let snapshot)): return snapshot
                case .some(.none): return nil
                case .none: if await signal.next(isolation: actor) == nil { return nil }
                }
            }
            return nil
        }
    }

    /// Begins the iteration. Iterate each sequence once; `snapshots` makes a new one each time.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(lifetime: lifetime, signal: lifetime.subscription.signal.makeAsyncIterator())
    }
}

/// Keeps the latest snapshot until its subscriber takes it.
final class SnapshotSubscription: SnapshotReceiver {
    private struct State: Sendable {
        var inbox = SnapshotInbox(delivery: BackendDelivery(includesHidden: true))
        var delivered: IndicatorSnapshot?
        var isFinished = false
        /// Whether a task is about to wake the subscriber.
        var isWaking = false
    }

    /// Delivers an element after each change.
    let signal: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let state = Locked(State())

    init() {
        (signal, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var audience: IndicatorStateMachine.Audience { .always }

    func post(_ snapshot: IndicatorSnapshot) -> Bool {
        state.withLock { state in
            _ = state.inbox.post(snapshot)
            return !state.isWaking
        }
    }

    func finish(timeLimit: Duration, at now: Duration) {
        state.withLock { $0.isFinished = true }
    }

    /// Wakes the subscriber, from a separate task.
    ///
    /// Resuming a task takes its status lock. A calling thread that runs a cancellation handler holds that of another
    /// task, and two such threads could deadlock.
    func attend() {
        if state.withLock({ exchange(&$0.isWaking, with: true) }) { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [self] in
            state.withLock { $0.isWaking = false }
            continuation.yield()
        }
    }

    /// The next snapshot; `.some(nil)` after the last one; `nil` if there is none yet.
    func take() -> IndicatorSnapshot?? {
        state.withLock { state in
            guard let snapshot = state.inbox.take(delivered: state.delivered) else {
                return state.isFinished ? .some(nil) : nil
            }
            state.delivered = snapshot
            return snapshot
        }
    }
}
