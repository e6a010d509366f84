/// One activity of an ``ActivityTracker``, reference-counted. It ends at ``end()``, or when the last reference is
/// released.
///
/// The same as ``TrackedActivity``, for places where a noncopyable value cannot be used. Any thread may use it. Its
/// last value is released with it.
public final class ManagedTrackedActivity<Value: Sendable>: Sendable {
    @usableFromInline let tracker: ActivityTracker<Value>
    @usableFromInline let link = TrackerLink()

    /// Begins an activity.
    ///
    /// - Parameters:
    ///   - value: the value that is associated with it, or `nil` for none.
    ///   - tracker: reports the activity, which retains the tracker.
    @inlinable
    public convenience init(_ value: Value?, in tracker: ActivityTracker<Value>) {
        self.init(notBegunIn: tracker)
        begin(value)
    }

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

/// One activity of an ``ActivityTracker``. It ends when the value goes out of scope.
///
/// Noncopyable, so that the compiler ensures that the activity ends exactly once, however the scope is left. Where such
/// a value cannot be used (captured by several closures, stored in a collection), use ``ManagedTrackedActivity``.
///
/// ```swift
/// let step = tracker.begin("Parsing")
/// step.update("Parsing 2 of 9")
/// step.end()                          // optional
/// ```
///
/// Any thread may use it. It keeps its tracker alive.
public struct TrackedActivity<Value: Sendable>: ~Copyable, Sendable {
    @usableFromInline let activity: ManagedTrackedActivity<Value>

    @inlinable
    init(_ activity: ManagedTrackedActivity<Value>) {
        self.activity = activity
    }

    /// Changes the value that is associated with the activity. See ``ManagedTrackedActivity/update(_:)``.
    @inlinable
    public func update(_ value: Value?) { activity.update(value) }

    /// Ends the activity before it goes out of scope.
    @inlinable
    public consuming func end() {}

    @inlinable
    deinit { activity.end() }
}
