import IndicatorThreads

/// What an ``ActivityTracker`` reports: whether any activity is in progress, and the value of the first that has one.
public struct ActivityStatus<Value: Sendable>: Sendable {
    /// Whether any activity is in progress.
    public var isLoading: Bool

    /// The first value that is not `nil` in the order in which the activities in progress began; `nil` when none has
    /// one, and when none is in progress.
    public var associatedValue: Value?

    /// Makes a status, for tests and previews of what shows it.
    ///
    /// - Parameters:
    ///   - isLoading: whether any activity is in progress.
    ///   - associatedValue: the value of the first of them that has one.
    public init(isLoading: Bool, associatedValue: Value? = nil) {
        self.isLoading = isLoading
        self.associatedValue = associatedValue
    }
}

extension ActivityStatus: Equatable where Value: Equatable {}
extension ActivityStatus: Hashable where Value: Hashable {}

extension ActivityTracker {
    /// The status as it changes: first the present one, then every change in order.
    ///
    /// Every subscriber has a sequence of its own and sees all of it: what it has not yet asked for waits in a buffer
    /// without limit, because a status that is left out would be a step that the user never saw begin or end. Iterate
    /// it, or release it. To see only the latest, iterate ``IndicatorManager/snapshots`` of a manager that the tracker
    /// is attached to.
    ///
    /// The subscription begins when the property is read. (Iterating the same sequence a second time begins another.)
    /// The sequence does not keep the tracker alive, and ends when that is deallocated.
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

        /// The next status; `nil` when the tracker is deallocated or the task is cancelled.
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
        private let first: Locked<AsyncStream<ActivityStatus<Value>>?>
        private let subscribe: @Sendable () -> AsyncStream<ActivityStatus<Value>>

        init(_ tracker: ActivityTracker<Value>) {
            first = Locked(tracker.makeStream())
            subscribe = { [weak tracker] in tracker?.makeStream() ?? AsyncStream { $0.finish() } }
        }

        func takeStream() -> AsyncStream<ActivityStatus<Value>> {
            first.withLock { $0.take() } ?? subscribe()
        }
    }
}

extension ActivityTracker {
    private final class StreamSubscriber: Sendable {}

    /// Subscribes a stream, until it is released or its task cancelled.
    fileprivate func makeStream() -> AsyncStream<ActivityStatus<Value>> {
        let (stream, continuation) = AsyncStream.makeStream(of: ActivityStatus<Value>.self)
        let subscriber = StreamSubscriber()
        continuation.onTermination = { [weak self] _ in self?.unsubscribe(subscriber) }
        subscribe(subscriber) { status in
            // From a task of its own, as `SnapshotSubscription` does; the thread keeps their order.
            Task.detached(executorPreference: ServiceThread.shared) {
                if let status { continuation.yield(status) } else { continuation.finish() }
            }
        }
        return stream
    }
}
