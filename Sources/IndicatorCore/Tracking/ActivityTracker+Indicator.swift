import Synchronization

extension ActivityTracker {
    /// Has an indicator show the status of this tracker: one activity of the indicator's, in progress while any of the
    /// tracker's is, with a label and a progress that follow from the associated value.
    ///
    /// The tracker keeps the attachment, so the result may be discarded. Neither keeps the indicator alive. Attaching twice
    /// to the same indicator counts twice. ``ActivityTrackerAttachment/detach()`` ends it.
    ///
    /// - Parameters:
    ///   - manager: the indicator.
    ///   - label: the label of a value, or `nil` for none; by default the value's description if it has one for people: that
    ///     of a `CustomStringConvertible` such as a text or a number, or the name of an enum's case without values. This and
    ///     `progress` are called in the order of the statuses, one call at a time, without a lock.
    ///   - progress: how much is done, 0…1, or `nil` for unknown, which is the default.
    @discardableResult
    public func attach(
        to manager: IndicatorManager,
        label: @escaping @Sendable (Value) -> String? = { ActivityTracker<Value>.label(of: $0) },
        progress: @escaping @Sendable (Value) -> Double? = { _ in nil }
    ) -> ActivityTrackerAttachment {
        let attachment = ActivityTrackerAttachment(engine: manager.engine)
        let receiver = IndicatorDriver(attachment: attachment, label: label, progress: progress)
        attachment.setOnDetach { [weak self, weak receiver] in
            if let receiver { self?.unsubscribe(receiver) }
        }
        subscribe(receiver)
        return attachment
    }
}

extension ActivityTracker {
    /// The label of a value for which nothing else was said; `nil` where its description would be that of its parts.
    @usableFromInline
    static func label(of value: Value) -> String? {
        if let value = value as? any CustomStringConvertible { return value.description }
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .enum && mirror.children.isEmpty ? String(describing: value) : nil
    }
}

/// The tie between an ``ActivityTracker`` and an ``IndicatorManager`` that shows it.
public final class ActivityTrackerAttachment: Sendable {
    /// The identity of an attachment's activity.
    private struct Identity: Hashable, Sendable {
        private static let next = Atomic<UInt64>(0)

        private let number = Identity.next.wrappingAdd(1, ordering: .relaxed).newValue
    }

    private struct State: Sendable {
        var engine: IndicatorEngine?
        var isActive = false
        var isDetached = false
        var onDetach: (@Sendable () -> Void)?
    }

    /// The indicator is called without the lock.
    private let state: Locked<State>
    private let identity = ActivityKey(Identity())

    init(engine: IndicatorEngine) {
        state = Locked(State(engine: engine))
    }

    /// Ends the attachment, and the activity of the indicator that it stands for.
    public func detach() {
        let (engine, onDetach) = state.withLock { state in
            state.isDetached = true
            defer { (state.isActive, state.engine) = (false, nil) }
            return (state.isActive ? state.engine : nil, state.onDetach.take())
        }
        engine?.stop(identity, .unspecified)
        onDetach?()
    }

    /// What ends the tracker's subscription.
    func setOnDetach(_ onDetach: @escaping @Sendable () -> Void) {
        state.withLock { $0.onDetach = onDetach }
    }

    /// Whether there is an indicator to show the tracker.
    var isNeeded: Bool {
        state.withLock { $0.isDetached ? nil : $0.engine }.map { !$0.isClosed } ?? false
    }

    /// Shows a status in the indicator. Called in the order of the statuses, one call at a time.
    func show(isLoading: Bool, label: String?, progress: Double?) {
        let (engine, wasActive): (IndicatorEngine?, Bool) = state.withLock { state in
            guard !state.isDetached, state.isActive || isLoading else { return (nil, false) }
            defer { state.isActive = isLoading }
            return (state.engine, state.isActive)
        }
        guard let engine else { return }
        switch (wasActive, isLoading) {
        case (false, _): engine.start(identity, label: label, progress: progress)
        case (true, true):
            engine.update(identity) { details in
                details.label = label
                details.progress = progress
            }
        case (true, false): engine.stop(identity, .unspecified)
        }
        // It was detached meanwhile, maybe before the activity was started.
        if !wasActive, state.withLock({ $0.isDetached }) { engine.stop(identity, .unspecified) }
    }
}

/// Hands the statuses of a tracker to an indicator.
private final class IndicatorDriver<Value: Sendable>: ActivityStatusReceiver {
    private let attachment: ActivityTrackerAttachment
    private let label: @Sendable (Value) -> String?
    private let progress: @Sendable (Value) -> Double?

    init(
        attachment: ActivityTrackerAttachment,
        label: @escaping @Sendable (Value) -> String?,
        progress: @escaping @Sendable (Value) -> Double?
    ) {
        self.attachment = attachment
        self.label = label
        self.progress = progress
    }

    func receive(_ status: ActivityStatus<Value>) {
        guard attachment.isNeeded else {
            attachment.detach()
            return
        }
        attachment.show(
            isLoading: status.isLoading,
            label: status.associatedValue.flatMap(label),
            progress: status.associatedValue.flatMap(progress)
        )
    }

    func finish() {
        attachment.detach()
    }
}
