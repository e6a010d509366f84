import Synchronization

extension ActivityTracker {
    /// Has an indicator show what this tracker tells: one activity of the indicator's, in progress while any of the tracker's is,
    /// with what is said of the associated value as its label and progress.
    ///
    /// The tracker keeps the attachment, so the result may be discarded. Neither keeps the indicator alive. Attaching twice to the
    /// same indicator counts twice.
    ///
    /// - Parameters:
    ///   - manager: the indicator.
    ///   - label: what to say of a value, or `nil` for nothing; by default the value's description. This and `progress` are called
    ///     in the order of the statuses, one call at a time, without a lock held.
    ///   - progress: how much is done, 0…1, or `nil` for unknown, which is the default.
    /// - Returns: what ends it: ``ActivityTrackerAttachment/detach()``.
    @discardableResult
    public func attach(
        to manager: IndicatorManager,
        label: @escaping @Sendable (Value) -> String? = { String(describing: $0) },
        progress: @escaping @Sendable (Value) -> Double? = { _ in nil }
    ) -> ActivityTrackerAttachment {
        let attachment = ActivityTrackerAttachment(manager: manager)
        let receiver = IndicatorDriver(attachment: attachment, label: label, progress: progress)
        attachment.onDetach = { [weak self, weak receiver] in
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

    private struct State {
        weak var manager: IndicatorManager?
        var isActive = false
        var isDetached = false
        var onDetach: (@Sendable () -> Void)?
    }

    private let identity = Identity()
    private let state: Locked<State>

    init(manager: IndicatorManager) {
        state = Locked(State(manager: manager))
    }

    /// Ends the attachment, and the activity of the indicator that it stands for.
    public func detach() {
        let onDetach = state.withLock { state in
            show(isLoading: false, label: nil, progress: nil, &state)
            state.isDetached = true
            defer { state.onDetach = nil }
            return state.onDetach
        }
        onDetach?()
    }

    /// What lets the tracker go of the attachment.
    var onDetach: (@Sendable () -> Void)? {
        get { state.withLock { $0.onDetach } }
        set { state.withLock { $0.onDetach = newValue } }
    }

    /// Whether there is still someone to tell.
    var isNeeded: Bool {
        state.withLock { !$0.isDetached && $0.manager != nil }
    }

    /// Tells the indicator.
    func show(isLoading: Bool, label: String?, progress: Double?) {
        state.withLock { show(isLoading: isLoading, label: label, progress: progress, &$0) }
    }

    private func show(isLoading: Bool, label: String?, progress: Double?, _ state: inout State) {
        guard !state.isDetached, let manager = state.manager else { return }
        switch (state.isActive, isLoading) {
        case (false, true): manager.start(identity, label: label, progress: progress)
        case (true, true): manager.update(identity, label: label ?? "", progress: progress ?? .nan)
        case (true, false): manager.stop(identity)
        case (false, false): break
        }
        state.isActive = isLoading
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
