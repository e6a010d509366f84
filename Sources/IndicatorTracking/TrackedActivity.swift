/// One activity of an ``ActivityTracker``. It ends at ``end()``, or when the last reference is released.
///
/// ```swift
/// let step = tracker.begin("Parsing")
/// step.update("Parsing 2 of 9")
/// step.end()
/// ```
///
/// Any thread may use it. It keeps its tracker alive. Its last value is released with it.
public final class TrackedActivity<Value: Sendable>: Sendable {
    @usableFromInline let tracker: ActivityTracker<Value>
    @usableFromInline let link = TrackerLink()

    /// Makes an activity that begins with ``begin(_:)``.
    @inlinable
    package init(notBegunIn tracker: ActivityTracker<Value>) {
        self.tracker = tracker
    }

    /// Begins the activity; without effect when it has begun or ended.
    @inlinable
    package func begin(_ value: Value?) { tracker.core.begin(link, value.map(TrackerValue.init)) }

    /// Changes the value that is associated with the activity; `nil` removes it. The activity keeps its place in the
    /// order. Without effect when it has ended.
    @inlinable
    public func update(_ value: Value?) { tracker.core.update(link, value.map(TrackerValue.init)) }

    /// Ends the activity; without effect when it has ended. Releases nothing, so a cancellation handler may call it.
    @inlinable
    public func end() { tracker.core.end(link) }

    @inlinable
    deinit { end() }
}
