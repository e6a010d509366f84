extension IndicatorManager {
    /// The state of the indicator as it changes: first the current one, then the latest after every change.
    ///
    /// Each sequence has its own subscription. The latest value wins: a slow subscriber skips intermediate snapshots
    /// and always ends with the current state; ``IndicatorSnapshot/finished`` is complete nevertheless. A change of
    /// visibility is delivered immediately, other changes at most ten times a second. The sequence ends when the
    /// manager is shut down or deallocated, or when the task that iterates it is cancelled.
    public var snapshots: IndicatorSnapshots { IndicatorSnapshots(SnapshotSubscription(to: engine)) }
}

/// The state of an indicator as it changes. See ``IndicatorManager/snapshots``.
///
/// A sequence that is kept does not keep the indicator working, only its memory.
public struct IndicatorSnapshots: AsyncSequence, Sendable {
    private let lifetime: Lifetime

    init(_ subscription: SnapshotSubscription) {
        lifetime = Lifetime(subscription)
    }

    /// Ends the subscription when the sequence and its iterators are released.
    fileprivate final class Lifetime: Sendable {
        let subscription: SnapshotSubscription

        init(_ subscription: SnapshotSubscription) {
            self.subscription = subscription
        }

        deinit { subscription.end() }
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
