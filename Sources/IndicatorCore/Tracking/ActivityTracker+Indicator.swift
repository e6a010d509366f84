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
    ///   - label: the label of a value, or `nil` for none; by default the value's description. This and `progress` are
    ///     called in the order of the statuses, one call at a time, without a lock.
    ///   - progress: how much is done, 0…1, or `nil` for unknown, which is the default.
    @discardableResult
    public func attach(
        to manager: IndicatorManager,
        label: @escaping @Sendable (Value) -> String? = { String(describing: $0) },
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

/// The tie between an ``ActivityTracker`` and an ``IndicatorManager`` that shows it.
public final class ActivityTrackerAttachment: Sendable {
    /// The identity of an attachment's activity.
    private struct Identity: Hashable, Sendable {
        private static let next = Atomic<UInt64>(0)

        private let number = Identity.next.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// What the indicator is to be told, in order.
    private enum Message: Sendable {
        case start(label: String?, progress: Double?)
        case set(label: String?, progress: Double?)
        case stop
    }

    /// The indicator is called without the lock, in the order of `outbox`.
    private struct State: Sendable {
        var engine: IndicatorEngine?
        var isActive = false
        var isDetached = false
        var onDetach: (@Sendable () -> Void)?
        var outbox = Outbox<Message>()
    }

    private let identity = ActivityKey(Identity())
    private let state: Locked<State>

    init(engine: IndicatorEngine) {
        state = Locked(State(engine: engine))
    }

    /// Ends the attachment, and the activity of the indicator that it stands for.
    public func detach() {
        show(isLoading: false, label: nil, progress: nil, isLast: true)
        state.withLock { $0.onDetach.take() }?()
    }

    /// What ends the tracker's subscription.
    func setOnDetach(_ onDetach: @escaping @Sendable () -> Void) {
        state.withLock { $0.onDetach = onDetach }
    }

    /// Whether there is an indicator to show the tracker.
    var isNeeded: Bool {
        state.withLock { $0.isDetached ? nil : $0.engine }.map { !$0.isClosed } ?? false
    }

    /// Shows a status in the indicator.
    func show(isLoading: Bool, label: String?, progress: Double?, isLast: Bool = false) {
        let engine: IndicatorEngine? = state.withLock { state in
            guard !state.isDetached else { return nil }
            switch (state.isActive, isLoading) {
            case (false, true): state.outbox.append(.start(label: label, progress: progress))
            case (true, true): state.outbox.append(.set(label: label, progress: progress))
            case (true, false): state.outbox.append(.stop)
            case (false, false): break
            }
            state.isActive = isLoading
            state.isDetached = isLast
            return state.outbox.attend() ? state.engine : nil
        }
        guard let engine else { return }
        while let batch = state.withLock({ $0.outbox.nextBatch() }) {
            for message in batch {
                switch message {
                case .start(let label, let progress): engine.start(identity, label: label, progress: progress)
                case .set(let label, let progress):
                    engine.update(identity) { details in
                        details.label = label
                        details.progress = progress
                    }
                case .stop: engine.stop(identity, .unspecified)
                }
            }
        }
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
