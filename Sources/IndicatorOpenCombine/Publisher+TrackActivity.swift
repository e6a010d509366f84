public import IndicatorCore
public import OpenCombine

extension Publisher {
    /// Makes each subscription to this publisher an activity of a tracker, with the tracker's default value.
    ///
    /// - Parameter tracker: who is to tell of it. The publisher keeps it alive.
    public func trackActivity<Value>(in tracker: ActivityTracker<Value>) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: tracker.defaultValue, value: nil)
    }

    /// Makes each subscription to this publisher an activity of a tracker, with one value throughout.
    ///
    /// - Parameters:
    ///   - tracker: who is to tell of it. The publisher keeps it alive.
    ///   - value: the value that is associated with the activity, or `nil` for none.
    public func trackActivity<Value>(in tracker: ActivityTracker<Value>, value: Value?) -> TrackedPublisher<Self, Value>
    {
        TrackedPublisher(self, in: tracker, initialValue: value, value: nil)
    }

    /// Makes each subscription to this publisher an activity of a tracker, with a value that follows the elements: the
    /// tracker's default value before the first of them.
    ///
    /// - Parameters:
    ///   - tracker: who is to tell of it. The publisher keeps it alive.
    ///   - value: the value that is associated with the activity from an element on, or `nil` for none.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        value: @escaping (Output) -> Value?
    ) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: tracker.defaultValue, value: value)
    }

    /// Makes each subscription to this publisher an activity of a tracker, with a value that follows the elements.
    ///
    /// - Parameters:
    ///   - tracker: who is to tell of it. The publisher keeps it alive.
    ///   - initialValue: the value that is associated with the activity before the first element, or `nil` for none.
    ///   - value: the value that is associated with the activity from an element on, or `nil` for none.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        initialValue: Value?,
        value: @escaping (Output) -> Value?
    ) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: initialValue, value: value)
    }
}
