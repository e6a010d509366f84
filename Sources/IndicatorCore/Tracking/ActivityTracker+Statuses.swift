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
    /// Each time the property is read, a subscription begins. It has all changes: those that the subscriber has not
    /// asked for yet wait in a buffer without limit, because a status that is left out would be a step that the user
    /// never saw begin or end. Iterate the stream once, or release it. To see only the latest status, iterate
    /// ``IndicatorManager/snapshots`` of a manager that the tracker is attached to.
    ///
    /// The stream does not retain the tracker, and finishes when that is deallocated.
    public var statuses: AsyncStream<ActivityStatus<Value>> {
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

    private final class StreamSubscriber: Sendable {}
}
