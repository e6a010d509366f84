public import IndicatorCore

extension ActivityTracker {
    /// Shows the status of this tracker in an indicator or a group, as one activity that is in progress while any of
    /// the tracker's is, with a label and a progress derived from the associated value.
    ///
    /// The attachment lasts until ``ActivityTrackerAttachment/detach()``, and in a group until that has ended; what is
    /// then in progress becomes independent. The result may be discarded. Neither the tracker nor the container keeps
    /// the other alive. Attaching twice to the same container counts twice.
    ///
    /// - Parameters:
    ///   - container: the indicator, or a group.
    ///   - label: the label of a value, or `nil` for none; by default the value's description if it is human-readable:
    ///     that of a `CustomStringConvertible`, such as a text or a number, but not a collection; or the name of an
    ///     enum case without values. This and `progress` are called on a thread of the indicator's, in the order of the
    ///     statuses, one call at a time.
    ///   - progress: how much is done, 0…1, or `nil` for unknown, which is the default.
    @discardableResult
    public func attach(
        to container: ActivityContainer,
        label: @escaping @Sendable (Value) -> String? = { ActivityTracker<Value>.label(of: $0) },
        progress: @escaping @Sendable (Value) -> Double? = { _ in nil }
    ) -> ActivityTrackerAttachment {
        guard let activity = AttachedActivity(in: container) else { return ActivityTrackerAttachment() }
        let detach = LatestValues.forEach(subscription()) { status in
            let value = status?.associatedValue
            let (label, progress) = (value.flatMap(label), value.flatMap(progress))
            // The functions may have detached.
            if status != nil, activity.isOver { return false }
            if status?.isLoading ?? false { activity.show(label: label, progress: progress) } else { activity.end() }
            return status != nil
        }
        return ActivityTrackerAttachment {
            activity.detach()
            detach()
        }
    }

    /// The default label of a value; `nil` if its description would list its parts.
    @usableFromInline
    static func label(of value: Value) -> String? {
        if value is any Collection, !(value is any StringProtocol) { return nil }
        if let value = value as? any CustomStringConvertible { return value.description }
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .enum && mirror.children.isEmpty ? String(describing: value) : nil
    }
}

/// The connection between an ``ActivityTracker`` and the `ActivityContainer` that shows it. It does not keep the
/// indicator working, only, as the tracker does while it is attached, its memory.
public final class ActivityTrackerAttachment: Sendable {
    private let onDetach: @Sendable () -> Void

    fileprivate init(onDetach: @escaping @Sendable () -> Void = {}) {
        self.onDetach = onDetach
    }

    /// Ends the attachment and, soon after, the indicator's activity. Without effect if the attachment has ended.
    public func detach() { onDetach() }
}

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
            return (nil, { if let value { activity.update(value($0)) } }, { _ in activity.end() })
        }
    }
}
