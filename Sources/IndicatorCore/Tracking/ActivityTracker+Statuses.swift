import IndicatorThreads

/// The status of an ``ActivityTracker``: whether any activity is in progress, and the value of the first that has one.
public struct ActivityStatus<Value: Sendable>: Sendable {
    /// Whether any activity is in progress.
    public var isLoading: Bool

    /// The first value that is not `nil` in the order in which the activities in progress began; `nil` if none has one,
    /// or none is in progress.
    public var associatedValue: Value?

    package init(isLoading: Bool, associatedValue: Value? = nil) {
        self.isLoading = isLoading
        self.associatedValue = associatedValue
    }
}

extension ActivityStatus: Equatable where Value: Equatable {}
extension ActivityStatus: Hashable where Value: Hashable {}

extension ActivityTracker {
    /// The status as it changes: first the current one, then every change in order.
    ///
    /// Each read of the property begins a subscription. It delivers all changes: those that the subscriber has not read
    /// yet wait in an unbounded buffer, because a skipped status would be a step that the user never saw begin or end.
    /// Iterate the stream once, or release it. To see only the latest status, iterate ``IndicatorManager/snapshots`` of
    /// a manager that the tracker is attached to.
    ///
    /// The stream does not retain the tracker, and finishes when the tracker is deallocated.
    public var statuses: AsyncStream<ActivityStatus<Value>> {
        let (stream, continuation) = AsyncStream.makeStream(of: ActivityStatus<Value>.self)
        let subscriber = StreamSubscriber()
        continuation.onTermination = { [weak self] _ in self?.unsubscribe(subscriber) }
        subscribe(subscriber) { status in
            // From a separate task, as in `SnapshotSubscription`; the thread keeps the order.
            Task.detached(executorPreference: ServiceThread.shared) {
                if let status { continuation.yield(status) } else { continuation.finish() }
            }
        }
        return stream
    }

    private final class StreamSubscriber: Sendable {}
}
