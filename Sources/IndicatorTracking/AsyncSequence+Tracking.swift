public import IndicatorCore

extension AsyncSequence {
    /// Makes the iteration of this sequence an activity of a tracker, whose value each element may change.
    ///
    /// The activity begins when the iterator is made: for nested tracked sequences, the inner one first.
    ///
    /// - Parameters:
    ///   - tracker: reports the activity. The sequence retains it.
    ///   - initialValue: the value before the first element. Default: that of the tracker.
    ///   - value: the value for an element, or `nil` for none. By default, the value stays the initial one.
    @inlinable
    public func tracked<Value>(
        in tracker: ActivityTracker<Value>,
        initialValue: Value? = nil,
        value: (@Sendable (Element) -> Value?)? = nil
    ) -> TrackedAsyncSequence<Self> {
        TrackedAsyncSequence(base: self) {
            let activity = tracker.begin(initialValue ?? tracker.defaultValue)
            let deliver = value.map { value in { @Sendable element in activity.update(value(element)) } }
            return ({}, deliver ?? { _ in }, { _ in activity.end() })
        }
    }
}
