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
    ///     enum case without values. This and `progress` are called in the order of the statuses, one call at a time,
    ///     without a lock.
    ///   - progress: how much is done, 0…1, or `nil` for unknown, which is the default.
    @discardableResult
    public func attach(
        to container: some ActivityContainer,
        label: @escaping @Sendable (Value) -> String? = { ActivityTracker<Value>.label(of: $0) },
        progress: @escaping @Sendable (Value) -> Double? = { _ in nil }
    ) -> ActivityTrackerAttachment {
        let attachment = ActivityTrackerAttachment { [weak self] in self?.finish($0) }
        let (engine, group, hasEnded) = container.activityContext.record
        if hasEnded { return attachment }
        subscribe(attachment) { status in
            attachment.show(status, in: engine, group, label: label, progress: progress)
        }
        return attachment
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

/// The connection between an ``ActivityTracker`` and the ``ActivityContainer`` that shows it.
public final class ActivityTrackerAttachment: @unchecked Sendable {
    // `@unchecked`: only `show` uses the variables, and the tracker calls it one call at a time.

    private let onDetach: @Sendable (ActivityTrackerAttachment) -> Void
    /// The identity of the indicator's activity. Not a `ManagedActivity`, which would keep the indicator alive.
    private lazy var identity = ActivityKey(ObjectIdentifier(self))
    /// Whether that activity is in progress.
    private var isActive = false

    fileprivate init(onDetach: @escaping @Sendable (ActivityTrackerAttachment) -> Void) {
        self.onDetach = onDetach
    }

    /// Ends the attachment and the indicator's activity, before the call returns unless statuses of the tracker are
    /// being delivered on another thread: then they end next there. Without effect if the attachment has ended.
    public func detach() {
        onDetach(self)
    }

    /// Shows a status, or ends the activity.
    fileprivate func show<Value>(
        _ status: ActivityStatus<Value>?,
        in engine: IndicatorEngine,
        _ group: ActivityRecord?,
        label: (Value) -> String?,
        progress: (Value) -> Double?
    ) {
        let (isClosed, hasGroupEnded) = engine.read { ($0.isShutDown, group?.hasEnded ?? false) }
        let isOver = isClosed || hasGroupEnded && !isActive
        if isOver { detach() }
        guard let status, status.isLoading, !isOver else {
            if isActive { engine.stop(identity, .unspecified) }
            isActive = false
            return
        }
        let label = status.associatedValue.flatMap(label)
        let progress = status.associatedValue.flatMap(progress)
        if isActive {
            engine.update(identity) { ($0.label, $0.progress) = (label, progress) }
        } else {
            engine.start(identity, label: label, progress: progress, in: group)
        }
        isActive = true
    }
}
