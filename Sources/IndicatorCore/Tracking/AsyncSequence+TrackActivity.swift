extension AsyncSequence {
    /// Makes the iteration of this sequence an activity of a tracker, with the tracker's default value.
    ///
    /// - Parameter tracker: what reports the activity. The sequence keeps it alive.
    public func trackActivity<Value>(in tracker: ActivityTracker<Value>) -> TrackedAsyncSequence<Self, Value> {
        TrackedAsyncSequence(self, in: tracker, initialValue: tracker.defaultValue, value: nil)
    }

    /// The same with one value throughout, or with `nil` for none.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        value: Value?
    ) -> TrackedAsyncSequence<Self, Value> {
        TrackedAsyncSequence(self, in: tracker, initialValue: value, value: nil)
    }

    /// The same with a value that follows the elements; before the first of them it is the tracker's default value.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        value: @escaping @Sendable (Element) -> Value?
    ) -> TrackedAsyncSequence<Self, Value> {
        TrackedAsyncSequence(self, in: tracker, initialValue: tracker.defaultValue, value: value)
    }

    /// The same with a value that follows the elements, and `initialValue` before the first of them.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        initialValue: Value?,
        value: @escaping @Sendable (Element) -> Value?
    ) -> TrackedAsyncSequence<Self, Value> {
        TrackedAsyncSequence(self, in: tracker, initialValue: initialValue, value: value)
    }
}
