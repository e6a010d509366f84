import IndicatorThreads

extension ActivityTracker {
    /// The status as it changes: first the present one, then every change in order.
    ///
    /// Every subscriber has a sequence of its own and sees all of it: what it has not yet asked for waits in a buffer without
    /// limit, because a status that is left out would be a step that the user never saw begin or end. Iterate it, or let it go. To
    /// see only the latest, iterate ``IndicatorManager/snapshots`` of a manager that the tracker is attached to.
    ///
    /// The subscription begins when the property is read. (Iterating the same sequence a second time begins another.) The sequence
    /// does not keep the tracker alive, and ends when that goes.
    public var statuses: ActivityStatuses<Value> {
        ActivityStatuses(of: self)
    }
}

/// The status of an ``ActivityTracker`` as it changes. See ``ActivityTracker/statuses``.
public struct ActivityStatuses<Value: Sendable>: AsyncSequence, Sendable {
    /// What the sequence delivers.
    public typealias Element = ActivityStatus<Value>
    /// The sequence never fails.
    public typealias Failure = Never

    private let source: Source

    init(of tracker: ActivityTracker<Value>) {
        source = Source(tracker)
    }

    /// Delivers the statuses of one subscriber.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<ActivityStatus<Value>>.Iterator

        /// The next status; `nil` when the tracker is gone or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> ActivityStatus<Value>? {
            await base.next(isolation: actor)
        }
    }

    /// Begins to deliver: the first time from when the sequence was made, later from now.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: source.takeStream().makeAsyncIterator())
    }

    /// Holds the subscription that was begun when the sequence was made, until it is iterated.
    private final class Source: Sendable {
        private struct State {
            weak var tracker: ActivityTracker<Value>?
            var stream: AsyncStream<ActivityStatus<Value>>?
        }

        private let state: Locked<State>

        init(_ tracker: ActivityTracker<Value>) {
            state = Locked(State(tracker: tracker, stream: ActivityStatusStream.subscribe(to: tracker)))
        }

        func takeStream() -> AsyncStream<ActivityStatus<Value>> {
            let (stream, tracker) = state.withLock { state in
                defer { state.stream = nil }
                return (state.stream, state.tracker)
            }
            return stream ?? tracker.map(ActivityStatusStream.subscribe) ?? AsyncStream { $0.finish() }
        }
    }
}

/// Puts the statuses of a tracker into an `AsyncStream`.
private final class ActivityStatusStream<Value: Sendable>: ActivityStatusReceiver {
    private let continuation: AsyncStream<ActivityStatus<Value>>.Continuation

    private init(_ continuation: AsyncStream<ActivityStatus<Value>>.Continuation) {
        self.continuation = continuation
    }

    static func subscribe(to tracker: ActivityTracker<Value>) -> AsyncStream<ActivityStatus<Value>> {
        let (stream, continuation) = AsyncStream.makeStream(of: ActivityStatus<Value>.self)
        let receiver = ActivityStatusStream(continuation)
        continuation.onTermination = { [weak tracker, weak receiver] _ in
            if let receiver { tracker?.unsubscribe(receiver) }
        }
        tracker.subscribe(receiver)
        return stream
    }

    // From tasks of their own, as `SnapshotSubscription` does; the thread keeps their order.

    func receive(_ status: ActivityStatus<Value>) {
        Task.detached(executorPreference: ServiceThread.shared) { [continuation] in continuation.yield(status) }
    }

    func finish() {
        Task.detached(executorPreference: ServiceThread.shared) { [continuation] in continuation.finish() }
    }
}
