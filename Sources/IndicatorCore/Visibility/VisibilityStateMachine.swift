/// Decides when the indicator is shown and hidden.
///
/// A plain value: it owns no timer, no lock and no task. Whoever owns it tells it when work begins and ends, wakes it at
/// ``deadline``, and shows or hides the indicator as the returned ``VisibilityChanges`` say. "Now" is any time that does
/// not run backwards, as the `Duration` since an origin of the owner's choice.
///
/// The rules are those of the two best-known iOS managers, Alamofire's and AFNetworking's, with their known faults mended:
///
/// - Work that begins starts the start delay, which then runs out by itself whatever starts or stops meanwhile. At its end
///   the indicator is shown if work is going on, and nothing happens if none is.
/// - Work that ends starts the completion delay. Work that begins within it keeps the indicator up, and no surface notices.
/// - A deadline and an event at the same instant: the deadline comes first.
/// - A change of ``delays`` holds from the next time that a delay is begun. The minimum visible time begins when the
///   indicator is shown.
public struct VisibilityStateMachine: Sendable {
    private enum State {
        /// Nothing is shown and no delay is running. Busy only while disabled.
        case inactive
        /// Work began; at `deadline` it is decided whether to show the indicator.
        case delayingStart(deadline: Duration)
        /// Shown, and busy.
        case active(hiddenAtEarliest: Duration)
        /// Shown, and not busy; to be hidden at `deadline`.
        case delayingCompletion(deadline: Duration, hiddenAtEarliest: Duration)
    }

    /// The delays for whatever begins from now on.
    public var delays: IndicatorDelays
    /// Whether work is going on.
    public private(set) var isBusy = false
    /// Whether the indicator may be shown.
    public private(set) var isEnabled: Bool

    private var internalState = State.inactive
    private var latest = Duration.zero

    /// Makes a machine that is not busy.
    public init(delays: IndicatorDelays = .standard, isEnabled: Bool = true) {
        self.delays = delays
        self.isEnabled = isEnabled
    }

    /// The present state.
    public var state: IndicatorState {
        switch internalState {
        case .inactive: .inactive
        case .delayingStart: .delayingStart
        case .active: .active
        case .delayingCompletion: .delayingCompletion
        }
    }

    /// Whether the indicator is shown.
    public var isVisible: Bool { state.isVisible }

    /// When ``advance(to:)`` is due; `nil` when the machine waits for nothing but its owner.
    public var deadline: Duration? {
        switch internalState {
        case .inactive, .active: nil
        case .delayingStart(let deadline), .delayingCompletion(let deadline, _): deadline
        }
    }

    /// Lets the deadlines up to and including `now` pass.
    public mutating func advance(to now: Duration) -> VisibilityChanges {
        latest = max(latest, now)
        switch internalState {
        case .delayingStart(let deadline) where deadline <= latest:
            guard isBusy else {
                internalState = .inactive
                return .none
            }
            return show(at: deadline)
        case .delayingCompletion(let deadline, _) where deadline <= latest:
            internalState = .inactive
            return VisibilityChanges(isVisible: false, at: deadline)
        case .inactive, .delayingStart, .active, .delayingCompletion:
            return .none
        }
    }

    /// Says whether work is going on. Saying what is the case already only lets time pass.
    public mutating func setBusy(_ busy: Bool, at now: Duration) -> VisibilityChanges {
        let changes = advance(to: now)
        guard busy != isBusy else { return changes }
        isBusy = busy
        guard isEnabled else { return changes }
        return changes + (busy ? workBegan() : workEnded())
    }

    /// Says what has happened since the last call, if that was not told at the time: before the ``deadline`` work began and ended
    /// some number of times. Allowed while the machine is in a ``quietPeriod`` only.
    ///
    /// - Parameters:
    ///   - busy: whether work is going on.
    ///   - idleSince: when work ended last, if it has begun since the last call and is not going on now. Not used while the start
    ///     delay runs.
    mutating func catchUp(isBusy busy: Bool, idleSince: Duration?) {
        isBusy = busy
        guard case .delayingCompletion(let deadline, let hiddenAtEarliest) = internalState else { return }
        if busy {
            internalState = .active(hiddenAtEarliest: hiddenAtEarliest)
        } else if let idleSince {
            latest = max(latest, idleSince)
            internalState = .delayingCompletion(
                deadline: max(deadline, idleSince + delays.completionDelay),
                hiddenAtEarliest: hiddenAtEarliest
            )
        }
    }

    /// How long beginnings and ends of work need not be told: ``catchUp(isBusy:idleSince:)`` makes up for them.
    var quietPeriod: (kind: QuietPeriod.Kind, end: Duration?)? {
        switch internalState {
        case .inactive: isEnabled ? nil : (.level, nil)
        case .delayingStart(let deadline): (.level, deadline)
        case .active: nil
        case .delayingCompletion(let deadline, _): (.levelAndTime, deadline)
        }
    }

    /// Switches the indicator on or off. Disabling hides at once; enabling while busy starts the start delay afresh.
    public mutating func setEnabled(_ enabled: Bool, at now: Duration) -> VisibilityChanges {
        let changes = advance(to: now)
        guard enabled != isEnabled else { return changes }
        isEnabled = enabled
        if enabled {
            return isBusy ? changes + workBegan() : changes
        }
        let wasVisible = isVisible
        internalState = .inactive
        return wasVisible ? changes + VisibilityChanges(isVisible: false, at: latest) : changes
    }

    private mutating func workBegan() -> VisibilityChanges {
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
        return .none
    }

    private mutating func workEnded() -> VisibilityChanges {
        switch internalState {
        case .delayingStart:
            return .none
        case .active(let hiddenAtEarliest):
            let deadline = max(latest + delays.completionDelay, hiddenAtEarliest)
            guard deadline > latest else {
                internalState = .inactive
                return VisibilityChanges(isVisible: false, at: latest)
            }
            internalState = .delayingCompletion(deadline: deadline, hiddenAtEarliest: hiddenAtEarliest)
            return .none
        case .inactive, .delayingCompletion:
            preconditionFailure("work ended in state \(internalState), which is not busy")
        }
    }

    private mutating func show(at instant: Duration) -> VisibilityChanges {
        internalState = .active(hiddenAtEarliest: instant + delays.minimumVisibleTime)
        return VisibilityChanges(isVisible: true, at: instant)
    }
}
