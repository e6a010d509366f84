import IndicatorCore

/// The activity of one subscription: begun once, by whoever comes first, and never again after its end.
final class SubscriptionActivity<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case awaitingBegin
        case begun(ManagedTrackedActivity<Value>)
        case ended

        var activity: ManagedTrackedActivity<Value>? {
            if case .begun(let activity) = self { activity } else { nil }
        }
    }

    private let tracker: ActivityTracker<Value>
    private let initialValue: Value?
    private let state = Locked(State.awaitingBegin)

    init(in tracker: ActivityTracker<Value>, initialValue: Value?) {
        self.tracker = tracker
        self.initialValue = initialValue
    }

    /// Whether it has ended.
    var hasEnded: Bool {
        state.withLock { state in
            if case .ended = state { true } else { false }
        }
    }

    func begin() {
        let hasBegun = state.withLock { state in
            guard case .awaitingBegin = state else { return false }
            state = .begun(ManagedTrackedActivity(undelivered: initialValue, in: tracker))
            return true
        }
        if hasBegun { tracker.deliverChanges() }
    }

    func update(_ value: Value?) {
        state.withLock { $0.activity }?.update(value)
    }

    func end() {
        let activity = state.withLock { state in
            defer { state = .ended }
            return state.activity
        }
        activity?.end()
    }
}
