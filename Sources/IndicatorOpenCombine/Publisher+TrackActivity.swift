public import IndicatorCore
public import OpenCombine

extension Publisher {
    /// Makes each subscription to this publisher an activity of a tracker, with the tracker's default value.
    ///
    /// - Parameter tracker: the tracker. The publisher keeps it alive.
    public func trackActivity<Value>(in tracker: ActivityTracker<Value>) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: tracker.defaultValue, value: nil)
    }

    /// Makes each subscription to this publisher an activity of a tracker, with a constant value.
    ///
    /// - Parameters:
    ///   - tracker: the tracker. The publisher keeps it alive.
    ///   - value: the activity's value; `nil` for none.
    public func trackActivity<Value>(in tracker: ActivityTracker<Value>, value: Value?) -> TrackedPublisher<Self, Value>
    {
        TrackedPublisher(self, in: tracker, initialValue: value, value: nil)
    }

    /// Makes each subscription to this publisher an activity of a tracker, with a value that each element changes.
    /// Before the first element it is the tracker's default value.
    ///
    /// - Parameters:
    ///   - tracker: the tracker. The publisher keeps it alive.
    ///   - value: returns the activity's value for an element; `nil` for none.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        value: @escaping (Output) -> Value?
    ) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: tracker.defaultValue, value: value)
    }

    /// Makes each subscription to this publisher an activity of a tracker, with a value that each element changes.
    ///
    /// - Parameters:
    ///   - tracker: the tracker. The publisher keeps it alive.
    ///   - initialValue: the activity's value before the first element; `nil` for none.
    ///   - value: returns the activity's value for an element; `nil` for none.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        initialValue: Value?,
        value: @escaping (Output) -> Value?
    ) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: initialValue, value: value)
    }
}
