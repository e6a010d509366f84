/// One activity of an ``ActivityTracker``, reference-counted. It ends at ``end()``, or when the last reference is
/// released.
///
/// The same as ``TrackedActivity``, for places where a noncopyable value cannot be used. Any thread may use it. Its
/// last value is released with it.
public final class ManagedTrackedActivity<Value: Sendable>: Sendable {
    private let tracker: ActivityTracker<Value>
    private let link = TrackerLink<Value>()

    /// Begins an activity.
    ///
    /// - Parameters:
    ///   - value: the value that is associated with it, or `nil` for none.
    ///   - tracker: reports the activity, which retains the tracker.
    public convenience init(_ value: Value?, in tracker: ActivityTracker<Value>) {
        self.init(notBegunIn: tracker)
        begin(value)
    }

    /// Makes an activity that begins with ``begin(_:)``.
    package init(notBegunIn tracker: ActivityTracker<Value>) {
        self.tracker = tracker
    }

    /// Begins the activity; without effect when it has begun or ended.
    package func begin(_ value: Value?) {
        tracker.core.change { core in
            guard link.phase == .notBegun else { return false }
            link.phase = .inProgress
            (link.value, link.hasValue) = (value, value != nil)
            return core.append(link)
        }
    }

    /// Changes the value that is associated with the activity; `nil` removes it. The activity keeps its place in the
    /// order. Without effect when it has ended.
    public func update(_ value: Value?) {
        // Holds the old value until the lock is released: its `deinit` may do anything.
        var other = value
        tracker.core.change { core in
            guard link.phase == .inProgress else { return false }
            swap(&link.value, &other)
            link.hasValue = value != nil
            return core.valueHasChanged(of: link)
        }
        withExtendedLifetime(other) {}
    }

    /// Ends the activity; without effect when it has ended. Releases nothing, so a cancellation handler may call it.
    public func end() {
        tracker.core.change { core in
            let wasInProgress = link.phase == .inProgress
            link.phase = .ended
            return wasInProgress && core.remove(link)
        }
    }

    deinit { end() }
}

/// The place of an activity in the list of those in progress.
///
/// Not the activity itself: a reference that a change takes under the lock might be the last one to that, and its
/// `deinit` needs the lock. The activity removes the link from the list before it releases it.
final class TrackerLink<Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: the lock of `TrackerCore` protects the variables.

    /// Where the activity is in its life.
    enum Phase {
        case notBegun, inProgress, ended
    }

    unowned(unsafe) var previous: TrackerLink?
    unowned(unsafe) var next: TrackerLink?
    /// The place in the order of beginning.
    var order: UInt64 = 0
    var phase = Phase.notBegun
    var hasValue = false
    var value: Value?
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
    let activity: ManagedTrackedActivity<Value>

    /// Changes the value that is associated with the activity; `nil` removes it. The activity keeps its place in the
    /// order.
    public func update(_ value: Value?) {
        activity.update(value)
    }

    /// Ends the activity before it goes out of scope.
    public consuming func end() {}

    deinit { activity.end() }
}
