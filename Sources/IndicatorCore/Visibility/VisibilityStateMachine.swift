/// Decides when the indicator is shown and hidden.
///
/// A plain value: it owns no timer, no lock and no task. Its owner reports when work begins and ends, calls
/// ``advance(to:)`` at ``deadline``, and shows or hides the indicator as the returned ``VisibilityChanges`` say. "Now" is
/// any time that does not run backwards, as the `Duration` since an origin of the owner's choice.
///
/// The rules are those of the two best-known iOS managers, Alamofire's and AFNetworking's, with their known bugs fixed:
///
/// - Work that begins starts the start delay, which then runs out whatever starts or stops meanwhile. At its end the
///   indicator is shown if work is in progress, and nothing happens if none is.
/// - Work that ends starts the completion delay. Work that begins within it keeps the indicator visible, and no backend
///   notices.
/// - A deadline and an event at the same instant: the deadline comes first.
/// - A change of ``delays`` holds from the next time that the delay begins. The minimum visible time begins when the
///   indicator is shown.
package struct VisibilityStateMachine: Sendable {
    private enum State {
        /// Hidden, and no delay runs. Busy only while disabled.
        case inactive
        /// Hidden; at `deadline` the indicator is shown if work is in progress.
        case delayingStart(deadline: Duration)
        /// Shown, and busy.
        case active(hiddenAtEarliest: Duration)
        /// Shown, and not busy; to be hidden at `deadline`.
        case delayingCompletion(deadline: Duration, hiddenAtEarliest: Duration)
    }

    /// The delays that begin from now on.
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

    /// The present state.
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

    /// Lets the deadlines up to and including `now` pass.
    package mutating func advance(to now: Duration) -> VisibilityChanges {
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

    /// Reports whether work is in progress. A report of what is known already only lets time pass.
    package mutating func setBusy(_ busy: Bool, at now: Duration) -> VisibilityChanges {
        let changes = advance(to: now)
        guard busy != isBusy else { return changes }
        isBusy = busy
        guard isEnabled else { return changes }
        return changes + (busy ? workBegan() : workEnded())
    }

    /// Switches the indicator on or off. Disabling hides at once; enabling while busy starts the start delay afresh.
    package mutating func setEnabled(_ enabled: Bool, at now: Duration) -> VisibilityChanges {
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

/// What to do with the indicator: nothing, or one or two changes of its visibility, in order.
///
/// There are two when a deadline that was already due is followed by the event that was reported.
package struct VisibilityChanges: Sendable, Hashable, RandomAccessCollection {
    /// The indicator was shown or hidden.
    package struct Element: Sendable, Hashable {
        /// Whether it is shown from now on.
        package var isVisible: Bool
        /// The time of the change by the rules: for a delay that ran out its deadline, however late it was noticed.
        package var instant: Duration
    }

    private var first: Element?
    private var second: Element?

    /// Nothing to do.
    static var none: Self { Self() }

    private init() {}

    init(isVisible: Bool, at instant: Duration) {
        first = Element(isVisible: isVisible, instant: instant)
    }

    /// The index of the first change.
    package var startIndex: Int { 0 }

    /// One more than the index of the last change.
    package var endIndex: Int { first == nil ? 0 : second == nil ? 1 : 2 }

    /// The change at a position.
    package subscript(position: Int) -> Element {
        guard let element = position == 0 ? first : position == 1 ? second : nil else {
            preconditionFailure("index \(position) is out of the range \(startIndex)..<\(endIndex)")
        }
        return element
    }

    static func + (earlier: Self, later: Self) -> Self {
        guard let head = earlier.first else { return later }
        guard let tail = later.first else { return earlier }
        precondition(earlier.second == nil && later.second == nil, "an event changes the visibility twice at most")
        var both = Self()
        both.first = head
        both.second = tail
        return both
    }
}
