import Synchronization

/// One activity of an ``ActivityTracker``, reference-counted. It ends at ``end()``, or when the last reference is released.
///
/// The same as ``TrackedActivity``, for the places where a noncopyable value cannot go. Any thread may use it.
public final class ManagedTrackedActivity<Value: Sendable>: Sendable {
    private let tracker: ActivityTracker<Value>
    private let order: UInt64
    /// Written with the tracker's lock held.
    private let isEnded = Atomic(false)

    /// Begins an activity with the tracker's default value.
    ///
    /// - Parameter tracker: what reports it; the activity keeps it alive.
    public convenience init(in tracker: ActivityTracker<Value>) {
        self.init(tracker.defaultValue, in: tracker)
    }

    /// Begins an activity.
    ///
    /// - Parameters:
    ///   - value: the value that is associated with it, or `nil` for none.
    ///   - tracker: what reports it; the activity keeps it alive.
    public init(_ value: Value?, in tracker: ActivityTracker<Value>) {
        self.tracker = tracker
        order = tracker.change { $0.begin(value) }
    }

    /// Begins an activity while the caller holds a lock: subscribers get the change by ``ActivityTracker/deliverChanges()``.
    package init(undelivered value: Value?, in tracker: ActivityTracker<Value>) {
        self.tracker = tracker
        order = tracker.change(.uponRequest) { $0.begin(value) }
    }

    /// Whether the activity has ended.
    public var hasEnded: Bool { isEnded.load(ordering: .relaxed) }

    /// Changes the value that is associated with the activity; `nil` removes it. The activity keeps its place in the order.
    /// Without effect when it has ended.
    public func update(_ value: Value?) {
        _ = tracker.change { state in hasEnded ? nil : state.update(order, to: value) }
    }

    /// Ends the activity; without effect when it has ended.
    public func end() {
        end(.now)
    }

    /// Ends the activity from a cancellation handler: ``ActivityTracker/status`` is right at once, and subscribers get the
    /// change outside the handler.
    func endBecauseOfCancellation() {
        end(.later)
    }

    private func end(_ delivery: ActivityTracker<Value>.Delivery) {
        guard !hasEnded else { return }
        _ = tracker.change(delivery) { state in
            isEnded.exchange(true, ordering: .relaxed) ? nil : state.end(order)
        }
    }

    deinit {
        end(.now)
    }
}

/// One activity of an ``ActivityTracker``. It ends when the value goes out of scope.
///
/// Noncopyable, so that the compiler makes sure that the activity ends exactly once, whichever way the scope is left. Where
/// such a value cannot go (captured by several closures, stored in a collection) use ``ManagedTrackedActivity``.
///
/// ```swift
/// let step = tracker.begin("Parsing")
/// step.update("Parsing 2 of 9")
/// step.end()                          // optional
/// ```
///
/// Any thread may use it. It keeps its tracker alive.
public struct TrackedActivity<Value: Sendable>: ~Copyable, Sendable {
    private let activity: ManagedTrackedActivity<Value>

    init(_ activity: ManagedTrackedActivity<Value>) {
        self.activity = activity
    }

    /// Changes the value that is associated with the activity; `nil` removes it. The activity keeps its place in the order.
    public func update(_ value: Value?) {
        activity.update(value)
    }

    /// Ends the activity before it goes out of scope.
    public consuming func end() {}

    deinit {
        activity.end()
    }
}
