import Foundation

/// Makes all decisions of an indicator: what is in progress, when it is shown, and when a snapshot is published.
///
/// It owns no lock, no timer and no task, and calls no foreign code, with the exceptions that ``IndicatorEngine``
/// lists. Each input returns the actions to perform. ``IndicatorEngine`` calls it under its lock and performs the
/// actions after unlocking; a replay of a trace does neither.
///
/// It cannot be copied: it has shared parts, the ``ActivityCounter``, which other threads change concurrently, and the
/// records of activities.
package struct IndicatorStateMachine: ~Copyable, Sendable {
    /// The actions to perform after an input.
    package struct Actions: @unchecked Sendable {
        // `@unchecked`: `released` is only released.

        /// The updates to deliver to all receivers, with a change if the indicator was shown or hidden.
        package fileprivate(set) var publications: [(update: IndicatorUpdate, change: VisibilityChange?)] = []
        /// When to call ``advance(to:)``, if that has changed.
        fileprivate(set) var wake: Duration?
        /// Objects and identities to release without the lock: they may have no other reference.
        fileprivate(set) var released: [Any] = []
        fileprivate var isEmpty: Bool { publications.isEmpty && wake == nil && released.isEmpty }
    }

    /// The time, read from a clock only if it is needed.
    package typealias Now = ActivityList.Now

    private let counter: ActivityCounter
    private var visibility: VisibilityStateMachine
    var list: ActivityList
    private var publication: PublicationState
    /// Whether a request to cancel would reach anyone.
    private var isCancellable = false
    /// The visibility's state that the current input has published, if any.
    private var publishedState: IndicatorState?
    private var lifetimeCheckDue: Duration?
    /// The time of the last ``Actions/wake``, until it comes.
    private(set) var wakesAt: Duration?
    private var actions = Actions()

    /// How often observed and tracked objects are checked. 1 ms to 100 years.
    private(set) var lifetimeCheckInterval = Duration.seconds(1)

    /// Makes a machine; the counter's count is zero.
    package init(
        delays: IndicatorDelays,
        isEnabled: Bool,
        counter: ActivityCounter,
        now: Duration = .zero,
        wallClock: WallClock? = nil
    ) {
        self.counter = counter
        list = ActivityList(wallClock: wallClock ?? WallClock(at: now), uptimeOrigin: counter.time.origin)
        publication = PublicationState(since: list.date(at: now), uptime: list.uptime(at: now))
        visibility = VisibilityStateMachine(delays: delays, isEnabled: isEnabled)
        counter.setPhase(phase)
    }

    // MARK: - Reading

    /// The delays. A changed one takes effect the next time that it begins.
    package var delays: IndicatorDelays { visibility.delays }

    /// The deadline of the current delay, if any.
    package var deadline: Duration? { visibility.deadline }

    /// The public state now. `isMeasured` is whether the rate estimates take a measurement.
    @inline(__always)
    mutating func snapshot(_ now: Now, isMeasured: Bool = false) -> IndicatorSnapshot {
        let (state, count) = counter.stateAndCount
        var snapshot = IndicatorSnapshot(
            state: state,
            isEnabled: visibility.isEnabled,
            activityCount: count,
            activities: list.activities(at: now, isMeasured: isMeasured),
            since: publication.since
        )
        (snapshot.startDelay, snapshot.isCancellable) = (visibility.delays.startDelay, isCancellable && !isShutDown)
        publication.complete(&snapshot)
        return snapshot
    }

    // MARK: - Inputs: activities

    // Those with the names of functions of ``ActivityList`` are explained there.

    /// Begins an activity that has a record, which may have lasted for a while already.
    mutating func begin(
        _ record: ActivityRecord,
        in group: ActivityRecord?,
        lasted: Duration,
        _ now: Now
    ) -> Actions? {
        let isMember = list.insert(record, in: group, at: now() - lasted)
        return apply(.init(countChange: isMember ? 0 : 1, changesDetails: record.isLabelled || group != nil), now)
    }

    /// Ends an activity, which may have no record.
    mutating func end(_ record: ActivityRecord?, _ outcome: ActivityOutcome, _ now: Now) -> Actions? {
        apply(record.map { list.end($0, outcome, at: now) } ?? .init(countChange: -1), now)
    }

    mutating func end(_ ends: [(record: ActivityRecord, outcome: ActivityOutcome?)], _ now: Now) -> Actions? {
        apply(ends.reduce(into: .init()) { $0.add(list.end($1.record, $1.outcome, at: now)) }, now)
    }

    mutating func hasAdvanced(_ record: ActivityRecord, _ now: Now) -> Actions? {
        apply(.init(changesDetails: list.hasAdvanced(record)), now)
    }

    mutating func merge(
        _ new: ActivityDetails,
        since old: ActivityDetails,
        into record: ActivityRecord,
        _ now: Now
    ) -> Actions? {
        apply(.init(changesDetails: list.merge(new, since: old, into: record)), now)
    }

    mutating func start(
        _ key: ActivityKey,
        label: String?,
        progress: Double?,
        in group: ActivityRecord?,
        _ now: Now
    ) -> Actions? {
        apply(list.start(key, label: label, progress: progress, in: group, at: now), now)
    }

    mutating func stop(_ key: ActivityKey, _ outcome: ActivityOutcome?, _ now: Now) -> Actions? {
        apply(list.stop(key, outcome, at: now), now)
    }

    package mutating func startTask(_ key: ActivityKey, label: String?, _ now: Now) -> Actions? {
        apply(list.startTask(key, label: label, at: now), now)
    }

    package mutating func completeTask(_ key: ActivityKey, _ outcome: ActivityOutcome, _ now: Now) -> Actions? {
        apply(list.completeTask(key, outcome, at: now), now)
    }

    package mutating func increment(_ now: Now) -> Actions? { apply(list.increment(), now) }

    package mutating func decrement(_ now: Now) -> Actions? { apply(list.decrement(), now) }

    mutating func endActivitiesOfEndedObjects(_ table: Int, _ now: Now) -> Actions? {
        apply(list.endActivitiesOfEndedObjects(table, at: now), now)
    }

    private mutating func apply(_ effects: ActivityList.Effects, _ now: Now) -> Actions? {
        list.forgetCompletions(at: now)
        // A change of details has no effect if a refresh is due or no receiver observes details.
        var hasChanged = effects.changesDetails && publication.due == nil && isObserved
        for _ in 0..<max(effects.countChange, 0) where counter.begin() { hasChanged = true }
        for _ in 0..<max(-effects.countChange, 0) where counter.remove() { hasChanged = true }
        if !effects.released.isEmpty { actions.released = effects.released }
        if list.needsLifetimeChecks, lifetimeCheckDue == nil {
            lifetimeCheckDue = now() + lifetimeCheckInterval
            setTimer()
        }
        if !hasChanged, actions.isEmpty { return nil }
        return finish(hasChanged: hasChanged, now)
    }

    /// The count has changed, and the counter requires a report.
    mutating func countChanged(_ now: Now) -> Actions? { finish(hasChanged: true, now) }

    // MARK: - Inputs: settings

    /// Enables or disables the indicator.
    package mutating func setEnabled(_ isEnabled: Bool, at now: Duration) -> Actions? {
        guard isEnabled != visibility.isEnabled, !isShutDown else { return nil }
        if visibility.state != .delayingStart { apply(catchUp(), at: now) }
        apply(visibility.setEnabled(isEnabled, at: now, waitsForTimer: list.objects.count > 0), at: now)
        return finish(hasChanged: true) { now }
    }

    /// Changes the delays. Those that run are not affected.
    package mutating func setDelays(_ delays: IndicatorDelays, at now: Duration) -> Actions? {
        // What is not reported yet happened with the old ones. During the start delay, it does not matter.
        if visibility.state != .delayingStart { apply(catchUp(), at: now) }
        visibility.delays = delays
        return finish(hasChanged: false) { now }
    }

    /// Sets whether a request to cancel would reach anyone.
    mutating func setCancellable(_ isCancellable: Bool, at now: Duration) -> Actions? {
        guard isCancellable != self.isCancellable else { return nil }
        self.isCancellable = isCancellable
        return finish(hasChanged: true) { now }
    }

    mutating func setLifetimeCheckInterval(_ interval: Duration, at now: Duration) -> Actions? {
        lifetimeCheckInterval = min(max(interval, .milliseconds(1)), TimeSource.longest)
        if lifetimeCheckDue != nil { lifetimeCheckDue = now + lifetimeCheckInterval }
        return finish(hasChanged: false) { now }
    }

    /// Sets which changes are observed. Call it before a new receiver's first snapshot is made, so that no change is
    /// missed.
    mutating func setAudience(_ audience: PublicationState.Audience) {
        publication.audience = audience
        counter.setReportsChanges(isObserved && publication.due == nil)
    }

    /// Publishes postponed changes and finished activities, before the receivers change.
    mutating func publishPending(at now: Duration) -> Actions? {
        if publication.due != nil || list.hasFinished { publish(at: now) }
        return finish(hasChanged: false) { now }
    }

    /// Whether the indicator was shut down.
    var isShutDown: Bool { list.objects.isClosed }

    /// Hides the indicator for ever, and publishes what is left.
    mutating func shutDown(at now: Duration) -> Actions? {
        let wasEnabled = visibility.isEnabled
        if let first = setEnabled(false, at: now) { actions = first }
        var all = publishPending(at: now)
        list.objects.isClosed = true
        // The app has not disabled it: the last snapshots must not report that.
        for index in all?.publications.indices ?? 0..<0 {
            all?.publications[index].update.snapshot.isEnabled = wasEnabled
        }
        return all
    }

    // MARK: - Inputs: time

    /// Whether the objects must be checked before ``advance(to:)``: regularly, and before the start delay's deadline is
    /// decided, so that a deallocated object never shows the indicator (rule 11 of <doc:RulesOfVisibility>).
    func isLifetimeCheckDue(at now: Duration) -> Bool {
        guard list.needsLifetimeChecks else { return false }
        if let lifetimeCheckDue, lifetimeCheckDue <= now { return true }
        if visibility.state == .delayingStart, let deadline = visibility.deadline { return deadline <= now }
        return false
    }

    /// Performs the work that is due.
    package mutating func advance(to now: Duration) -> Actions? {
        if let due = wakesAt, due <= now { wakesAt = nil }
        if let due = lifetimeCheckDue, due <= now {
            lifetimeCheckDue = list.needsLifetimeChecks ? now + lifetimeCheckInterval : nil
        }
        list.forgetCompletions { now }
        let stateBefore = visibility.state
        apply(catchUp(), at: now)
        apply(visibility.advance(to: now), at: now)
        settle { now }
        if let due = publication.due, due <= now { publish(at: now) }
        let hasEstimateEnded = isObserved && list.takeEstimateEnd(by: now)
        return finish(hasChanged: visibility.state != stateBefore || hasEstimateEnded) { now }
    }

    // MARK: - Visibility

    /// The counter's phase for the current state.
    private var phase: IndicatorState? { visibility.isEnabled ? visibility.state : nil }

    /// Passes unreported changes to the visibility machine, as if they had happened before any due deadline (rule 10 of
    /// <doc:RulesOfVisibility>).
    private mutating func catchUp() -> [VisibilityChange] {
        let isBusy = counter.isBusy
        switch phase {
        case .inactive, .active:
            return []
        case nil, .delayingStart:
            return visibility.setBusy(isBusy, at: visibility.latest)
        case .delayingCompletion:
            // Taken in any case: an end is obsolete when work has begun again.
            let end = counter.takeTimeOfLastEnd()
            if isBusy { return visibility.setBusy(true, at: visibility.latest) }
            guard let end, end >= visibility.latest else { return [] }
            // Work has begun and ended since.
            return visibility.setBusy(true, at: visibility.latest) + visibility.setBusy(false, at: end)
        }
    }

    /// Sets the counter's phase, and adapts to the count at that moment, until the two agree.
    private mutating func settle(_ now: Now) {
        while true {
            let phase = phase
            let isBusy = counter.setPhase(phase)
            guard phase == .inactive && isBusy || phase == .active && !isBusy else { return }
            let now = now()
            apply(visibility.setBusy(isBusy, at: now), at: now)
        }
    }

    /// Publishes changes of the visibility.
    private mutating func apply(_ changes: [VisibilityChange], at now: Duration) {
        for (index, change) in changes.enumerated() {
            let isLast = index == changes.count - 1
            let state: IndicatorState? = isLast ? nil : change.isVisible ? .active : .inactive
            publish(state: state, change, at: now)
        }
    }

    // MARK: - Publishing

    /// Whether a receiver observes changes that do not affect the visibility.
    private var isObserved: Bool { publication.isObserved(isVisible: visibility.isVisible) }

    private mutating func publish(state: IndicatorState? = nil, _ change: VisibilityChange? = nil, at now: Duration) {
        publishedState = visibility.state
        // The clock is read again: the time of an input may be older.
        publication.shift(by: list.followWallClock { counter.time.now })
        if let change {
            publication.beginPeriod(list.date(at: change.instant), uptime: list.uptime(at: change.instant))
        }
        // Before the snapshot is made: a change that it does not contain is reported.
        counter.setReportsChanges(isObserved)
        counter.setPhase(phase)
        var snapshot = snapshot({ now }, isMeasured: true)
        if let state { snapshot.state = state }
        let finished = list.takeFinished()
        publication.publish(&snapshot, lastEnd: finished.latest.last?.date, at: now) { list.date(at: $0) }
        actions.publications.append((IndicatorUpdate(snapshot, finished), change))
    }

    /// Publishes a change that does not change the visibility, at most every ``PublicationState/interval``.
    private mutating func publishSoon(_ now: Now) {
        guard isObserved else { return counter.setReportsChanges(false) }
        guard publication.due == nil else { return }
        let now = now()
        // Until a postponed publication, further changes need no report.
        if publication.postpone(at: now) { counter.setReportsChanges(false) } else { publish(at: now) }
    }

    /// Completes an input: settles the phase, publishes, sets the timer.
    private mutating func finish(hasChanged: Bool, _ now: Now) -> Actions? {
        settle(now)
        // The state may have changed since it was published.
        if hasChanged, publishedState != visibility.state { publishSoon(now) }
        publishedState = nil
        setTimer()
        return actions.isEmpty ? nil : exchange(&actions, with: Actions())
    }

    /// Requests a wake-up at the earliest deadline.
    private mutating func setTimer() {
        let estimateEnd = isObserved ? list.estimateEnd : nil
        if let next = earliest(earliest(visibility.deadline, publication.due), earliest(lifetimeCheckDue, estimateEnd)),
            wakesAt.map({ next < $0 }) ?? true
        {
            (wakesAt, actions.wake) = (next, next)
        }
    }
}

/// The earlier of two optional times.
private func earliest(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
}
