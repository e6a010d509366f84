/// One activity of an ``ActivityTracker``. It ends when the value goes out of scope.
///
/// Noncopyable, so that the compiler sees to it that the activity ends exactly once, whichever way the scope is left. Where such a
/// value cannot go (captured by several closures, stored in a collection) use ``ManagedTrackedActivity``.
///
/// ```swift
/// let step = tracker.begin("Parsing")
/// step.update("Parsing 2 of 9")
/// step.end()                          // optional
/// ```
///
/// Any thread may use it. It keeps its tracker alive.
public struct TrackedActivity<Value: Sendable>: ~Copyable, Sendable {
    private let handle: TrackedActivityHandle<Value>

    init(_ handle: consuming TrackedActivityHandle<Value>) {
        self.handle = handle
    }

    /// Changes the value that is associated with the activity; `nil` takes it away. The activity keeps its place in the order.
    public func update(_ value: Value?) {
        handle.update(value)
    }

    /// Ends the activity before it goes out of scope.
    public consuming func end() {}

    deinit {
        handle.end()
    }
}
