/// One piece of work in progress. It ends when the value goes out of scope.
///
/// Noncopyable, so that the compiler sees to it that the work ends exactly once, whichever way the scope is left. Where such a
/// value cannot go (captured by several closures, stored in a collection) use ``ManagedActivity``.
///
/// ```swift
/// let activity = indicator.begin("Fetching index")
/// activity.update(label: "Fetching page 2", progress: 0.4)
/// ```
///
/// Any thread may use it. Beginning and ending one without a label takes one atomic operation each while others are in
/// progress.
public struct Activity: ~Copyable, Sendable {
    @usableFromInline let handle: ActivityHandle

    @inlinable
    init(_ handle: consuming ActivityHandle) {
        self.handle = handle
    }

    /// Changes what is told of the work. What is `nil` stays as it was.
    ///
    /// - Parameters:
    ///   - label: a short text of what is going on; an empty one takes the label away.
    ///   - progress: how much is done, 0…1; values outside are limited to that, and `.nan` takes the progress away.
    public func update(label: String? = nil, progress: Double? = nil) {
        handle.update(label: label, progress: progress)
    }

    /// Ends the activity before it goes out of scope.
    @inlinable
    public consuming func end() {}

    @inlinable
    deinit {
        handle.endOnce()
    }
}
