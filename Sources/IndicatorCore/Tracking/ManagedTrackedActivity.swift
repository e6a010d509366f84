/// One activity of an ``ActivityTracker``, reference-counted. It ends at ``end()``, or when the last reference goes.
///
/// The same as ``TrackedActivity``, for the places where a noncopyable value cannot go. Any thread may use it.
public final class ManagedTrackedActivity<Value: Sendable>: Sendable {
    private let handle: TrackedActivityHandle<Value>

    /// Begins an activity with the tracker's default value.
    ///
    /// - Parameter tracker: who is to tell of it; the activity keeps it alive.
    public init(in tracker: ActivityTracker<Value>) {
        handle = TrackedActivityHandle(tracker.defaultValue, in: tracker)
    }

    /// Begins an activity.
    ///
    /// - Parameters:
    ///   - value: the value that is associated with it, or `nil` for none.
    ///   - tracker: who is to tell of it; the activity keeps it alive.
    public init(_ value: Value?, in tracker: ActivityTracker<Value>) {
        handle = TrackedActivityHandle(value, in: tracker)
    }

    /// Begins an activity while the caller holds a lock: those who subscribed are told by ``ActivityTracker/deliverChanges()``.
    package init(undelivered value: Value?, in tracker: ActivityTracker<Value>) {
        handle = TrackedActivityHandle(value, in: tracker, .uponRequest)
    }

    /// Whether the activity has ended.
    public var hasEnded: Bool { handle.hasEnded }

    /// Changes the value that is associated with the activity; `nil` takes it away. The activity keeps its place in the order.
    /// Without effect when it has ended.
    public func update(_ value: Value?) {
        handle.update(value)
    }

    /// Ends the activity; without effect when it has ended.
    public func end() {
        handle.end()
    }

    /// Ends the activity from a cancellation handler: ``ActivityTracker/status`` is right at once, and those who subscribed are told
    /// outside the handler.
    func endBecauseOfCancellation() {
        handle.end(.later)
    }

    deinit {
        handle.end()
    }
}
