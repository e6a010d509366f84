import Synchronization

/// One activity of an ``ActivityTracker``, reference-counted. It ends at ``end()``, or when the last reference is
/// released.
///
/// The same as ``TrackedActivity``, for places where a noncopyable value cannot be used. Any thread may use it.
public final class ManagedTrackedActivity<Value: Sendable>: Sendable {
    private let tracker: ActivityTracker<Value>
    /// Its place among the tracker's activities, 0 before it begins, ``ended`` after its end. Written with the
    /// tracker's lock held.
    private let order = Atomic<UInt64>(0)

    private static var ended: UInt64 { .max }

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
        guard order.load(ordering: .relaxed) == 0 else { return }
        tracker.change { state in
            if order.load(ordering: .relaxed) == 0 { order.store(state.begin(value), ordering: .relaxed) }
        }
    }

    /// Whether the activity has ended.
    package var hasEnded: Bool { order.load(ordering: .relaxed) == Self.ended }

    /// Changes the value that is associated with the activity; `nil` removes it. The activity keeps its place in the
    /// order. Without effect when it has ended.
    public func update(_ value: Value?) {
        _ = tracker.change { state in
            let order = order.load(ordering: .relaxed)
            return order == 0 || order == Self.ended ? nil : state.set(order, to: value)
        }
    }

    /// Ends the activity; without effect when it has ended.
    public func end() {
        if !hasEnded { _ = tracker.change(end(in:)) }
    }

    /// The same in a cancellation handler. The tracker's status changes immediately; a separate task notifies the
    /// subscribers.
    package func endInHandler() {
        if !hasEnded { tracker.changeInHandler(end(in:)) }
    }

    /// Returns the value to release without the lock.
    private func end(in state: inout ActivityTracker<Value>.State) -> Value? {
        let order = order.exchange(Self.ended, ordering: .relaxed)
        return order == 0 || order == Self.ended ? nil : state.end(order)
    }

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
