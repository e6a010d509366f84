/// Decides when the indicator is shown and hidden.
///
/// A plain value: it owns no timer, no lock and no task. Its owner reports when work begins and ends, calls
/// ``advance(to:)`` at ``deadline``, and applies the returned changes: none, one or two, in order. "Now" is a monotonic
/// time, as the `Duration` since any origin.
///
/// <doc:RulesOfVisibility> has the rules.
package struct VisibilityStateMachine: Sendable {
    /// The delays. A change of one takes effect the next time that it begins.
    package var delays: IndicatorDelays
    /// Whether work is in progress, as last reported.
    package private(set) var isBusy = false
    /// Whether the indicator may be shown.
    package private(set) var isEnabled: Bool

    /// The current state. An indicator that is `inactive` is busy only while it is disabled.
    package private(set) var state = IndicatorState.inactive
    /// When ``advance(to:)`` is due; `nil` while no delay runs.
    package private(set) var deadline: Duration?
    /// While the indicator is shown: when the minimum visible time ends.
    private var hiddenAtEarliest = Duration.zero
    /// The time of the latest input. Inputs with an earlier time count as made at this time.
    package private(set) var latest = Duration.zero

    /// Makes a machine that is not busy.
    package init(delays: IndicatorDelays = .standard, isEnabled: Bool = true) {
        self.delays = delays
        self.isEnabled = isEnabled
    }

    /// Whether the indicator is shown.
    package var isVisible: Bool { state.isVisible }

    /// Processes the deadlines up to and including `now`.
    package mutating func advance(to now: Duration) -> [VisibilityChange] {
        latest = max(latest, now)
        guard let deadline, deadline <= latest else { return [] }
        if state == .delayingStart, isBusy { return show(at: deadline) }
        return state == .delayingStart ? enter(.inactive) : hide(at: deadline)
    }

    /// Sets whether work is in progress. Without a change, this is ``advance(to:)``.
    package mutating func setBusy(_ busy: Bool, at now: Duration) -> [VisibilityChange] {
        let changes = advance(to: now)
        guard busy != isBusy else { return changes }
        isBusy = busy
        guard isEnabled else { return changes }
        return changes + (busy ? workBegan() : workEnded())
    }

    /// Enables or disables the indicator. Disabling hides it immediately; enabling while busy restarts the start delay.
    /// A deadline that is due is not processed before: a timer that is late decides as if this had happened earlier.
    ///
    /// - Parameter waitsForTimer: whether only ``advance(to:)`` ends a start delay, also one of zero.
    package mutating func setEnabled(_ enabled: Bool, at now: Duration, waitsForTimer: Bool = false)
        -> [VisibilityChange]
    {
        latest = max(latest, now)
        guard enabled != isEnabled else { return [] }
        isEnabled = enabled
        if !enabled { return isVisible ? hide(at: latest) : enter(.inactive) }
        guard isBusy else { return [] }
        guard waitsForTimer else { return workBegan() }
        // So that no earlier input reaches the deadline.
        defer { latest -= .nanoseconds(1) }
        return enter(.delayingStart, until: latest + delays.startDelay)
    }

    private mutating func workBegan() -> [VisibilityChange] {
        switch state {
        case .inactive:
            guard delays.startDelay > .zero else { return show(at: latest) }
            return enter(.delayingStart, until: latest + delays.startDelay)
        case .delayingStart: return []
        case .delayingCompletion: return enter(.active)
        case .active: preconditionFailure("work began in state \(state), which is busy")
        }
    }

    private mutating func workEnded() -> [VisibilityChange] {
        switch state {
        case .delayingStart: return []
        case .active:
            let deadline = max(latest + delays.completionDelay, hiddenAtEarliest)
            return deadline > latest ? enter(.delayingCompletion, until: deadline) : hide(at: latest)
        case .inactive, .delayingCompletion: preconditionFailure("work ended in state \(state), which is not busy")
        }
    }

    /// Enters a state without a change of the visibility.
    private mutating func enter(_ state: IndicatorState, until deadline: Duration? = nil) -> [VisibilityChange] {
        (self.state, self.deadline) = (state, deadline)
        return []
    }

    private mutating func show(at instant: Duration) -> [VisibilityChange] {
        hiddenAtEarliest = instant + delays.minimumVisibleTime
        return enter(.active) + [VisibilityChange(isVisible: true, instant: instant)]
    }

    private mutating func hide(at instant: Duration) -> [VisibilityChange] {
        enter(.inactive) + [VisibilityChange(isVisible: false, instant: instant)]
    }
}

/// The indicator was shown or hidden.
package struct VisibilityChange: Sendable, Hashable {
    /// Whether it was shown.
    package var isVisible: Bool
    /// The nominal time of the change: for an elapsed delay its deadline, even if the timer was late.
    package var instant: Duration

    package init(isVisible: Bool, instant: Duration) {
        self.isVisible = isVisible
        self.instant = instant
    }
}
