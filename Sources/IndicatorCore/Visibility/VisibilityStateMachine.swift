/// Decides when the indicator is shown and hidden.
///
/// A plain value: it owns no timer, no lock and no task. Its owner reports when work begins and ends, calls
/// ``advance(to:)`` at ``deadline``, and applies the returned changes: none, one or two, in order. "Now" is a monotonic
/// time, as the `Duration` since any origin.
///
/// The rules are in IndicatorCore's documentation: those of the two best-known iOS managers, with their known bugs
/// fixed.
package struct VisibilityStateMachine: Sendable {
    private enum State {
        /// Hidden, and no delay runs. Busy only while disabled.
        case inactive
        /// Hidden; at `deadline` the indicator is shown if work is in progress.
        case delayingStart(deadline: Duration)
        /// Shown, and busy.
        case active(hiddenAtEarliest: Duration)
        /// Shown, and not busy; hidden at `deadline`.
        case delayingCompletion(deadline: Duration, hiddenAtEarliest: Duration)
    }

    /// The delays. A change of one takes effect the next time that it begins.
    package var delays: IndicatorDelays
    /// Whether work is in progress, as last reported.
    package private(set) var isBusy = false
    /// Whether the indicator may be shown.
    package private(set) var isEnabled: Bool

    private var internalState = State.inactive
    /// The time of the latest input. Inputs with an earlier time count as made at this time.
    package private(set) var latest = Duration.zero

    /// Makes a machine that is not busy.
    package init(delays: IndicatorDelays = .standard, isEnabled: Bool = true) {
        self.delays = delays
        self.isEnabled = isEnabled
    }

    /// The current state.
    package var state: IndicatorState {
        switch internalState {
        case .inactive: .inactive
        case .delayingStart: .delayingStart
        case .active: .active
        case .delayingCompletion: .delayingCompletion
        }
    }

    /// Whether the indicator is shown.
    package var isVisible: Bool { state.isVisible }

    /// When ``advance(to:)`` is due; `nil` while no delay runs.
    package var deadline: Duration? {
        switch internalState {
        case .inactive, .active: nil
        case .delayingStart(let deadline), .delayingCompletion(let deadline, _): deadline
        }
    }

    /// Processes the deadlines up to and including `now`.
    package mutating func advance(to now: Duration) -> [VisibilityChange] {
        latest = max(latest, now)
        switch internalState {
        case .delayingStart(let deadline) where deadline <= latest:
            guard isBusy else {
                internalState = .inactive
                return []
            }
            return show(at: deadline)
        case .delayingCompletion(let deadline, _) where deadline <= latest:
            internalState = .inactive
            return [VisibilityChange(isVisible: false, instant: deadline)]
        case .inactive, .delayingStart, .active, .delayingCompletion:
            return []
        }
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
    ///
    /// - Parameter waitsForTimer: whether only ``advance(to:)`` ends a start delay, also one of zero.
    package mutating func setEnabled(_ enabled: Bool, at now: Duration, waitsForTimer: Bool = false)
        -> [VisibilityChange]
    {
        let changes = waitsForTimer && state == .delayingStart ? [] : advance(to: now)
        guard enabled != isEnabled else { return changes }
        isEnabled = enabled
        if enabled {
            guard isBusy else { return changes }
            guard waitsForTimer else { return changes + workBegan() }
            internalState = .delayingStart(deadline: latest + delays.startDelay)
            // So that no earlier input reaches the deadline.
            latest -= .nanoseconds(1)
            return changes
        }
        let wasVisible = isVisible
        internalState = .inactive
        return wasVisible ? changes + [VisibilityChange(isVisible: false, instant: latest)] : changes
    }

    private mutating func workBegan() -> [VisibilityChange] {
        switch internalState {
        case .inactive:
            guard delays.startDelay > .zero else { return show(at: latest) }
            internalState = .delayingStart(deadline: latest + delays.startDelay)
        case .delayingStart:
            break
        case .delayingCompletion(_, let hiddenAtEarliest):
            internalState = .active(hiddenAtEarliest: hiddenAtEarliest)
        case .active:
            preconditionFailure("work began in state \(internalState), which is busy")
        }
        return []
    }

    private mutating func workEnded() -> [VisibilityChange] {
        switch internalState {
        case .delayingStart:
            return []
        case .active(let hiddenAtEarliest):
            let deadline = max(latest + delays.completionDelay, hiddenAtEarliest)
            guard deadline > latest else {
                internalState = .inactive
                return [VisibilityChange(isVisible: false, instant: latest)]
            }
            internalState = .delayingCompletion(deadline: deadline, hiddenAtEarliest: hiddenAtEarliest)
            return []
        case .inactive, .delayingCompletion:
            preconditionFailure("work ended in state \(internalState), which is not busy")
        }
    }

    private mutating func show(at instant: Duration) -> [VisibilityChange] {
        internalState = .active(hiddenAtEarliest: instant + delays.minimumVisibleTime)
        return [VisibilityChange(isVisible: true, instant: instant)]
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
