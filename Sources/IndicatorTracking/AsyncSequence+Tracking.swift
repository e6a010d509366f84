public import IndicatorCore

extension AsyncSequence {
    /// Makes the iteration of this sequence an activity of a tracker, with the tracker's default value.
    ///
    /// The activity begins when the iterator is made: for nested tracked sequences, the inner one first.
    ///
    /// - Parameter tracker: reports the activity. The sequence retains it.
    public func tracked<Value>(in tracker: ActivityTracker<Value>) -> TrackedAsyncSequence<Self> {
        tracked(in: tracker, value: tracker.defaultValue)
    }

    /// The same with a constant value, or with `nil` for none.
    public func tracked<Value>(in tracker: ActivityTracker<Value>, value: Value?) -> TrackedAsyncSequence<Self> {
        tracked(in: tracker, initialValue: value, value: nil)
    }

    /// The same with a value for each element; before the first element it is the tracker's default value.
    public func tracked<Value>(
        in tracker: ActivityTracker<Value>,
        value: @escaping @Sendable (Element) -> Value?
    ) -> TrackedAsyncSequence<Self> {
        tracked(in: tracker, initialValue: tracker.defaultValue, value: value)
    }

    /// The same with `initialValue` before the first element, and then a value for each element, if `value` is given.
    @inlinable
    public func tracked<Value>(
        in tracker: ActivityTracker<Value>,
        initialValue: Value?,
        value: (@Sendable (Element) -> Value?)?
    ) -> TrackedAsyncSequence<Self> {
        TrackedAsyncSequence(base: self) {
            let activity = ManagedTrackedActivity(initialValue, in: tracker)
            let deliver = value.map { value in { @Sendable element in activity.update(value(element)) } }
            return ({}, deliver ?? { _ in }, { _ in activity.end() })
        }
    }
}
