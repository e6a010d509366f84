import Foundation
import IndicatorThreads

/// Decides everything that an indicator does: what is in progress, when it is shown, and when a snapshot is published.
///
/// It owns no lock, no timer and no task, and calls no code of others. Each input returns the actions to perform, in
/// order. ``IndicatorEngine`` holds the lock around it and performs the actions after unlocking; ``ActivityReplay``
/// drives it without either.
///
/// It is a value around shared parts: the ``ActivityCounter``, which other threads change meanwhile, and the records of
/// activities. There is one machine for a counter; do not copy it.
package struct IndicatorStateMachine: Sendable {
    /// What is to be done after an input.
    package enum Action: Sendable {
        /// Deliver a snapshot to all receivers. With a change if the indicator was shown or hidden.
        case publish(IndicatorSnapshot, VisibilityChange?)
        /// Call ``advance(to:)`` at this time. Supersedes those with a lower version.
        case wake(at: Duration, version: UInt64)
        /// Release what may run the caller's code when it is released.
        case release(Garbage)
    }

    /// Objects and identities that may have no other reference.
    package struct Garbage: @unchecked Sendable {
        // `@unchecked`: nothing but its release happens to it.
        fileprivate let values: [Any]
    }

    /// Who wants to hear of changes other than those of the visibility.
    enum Audience: Int, Sendable, Comparable {
        case nobody
        /// Receivers that show the indicator while it is visible.
        case whileVisible
        /// At least one receiver that follows the count and the label while the indicator is hidden, too.
        case always

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// The time, read from a clock only if it is needed.
    package typealias Now = ActivityList.Now

    /// The least time between two snapshots that do not change the visibility: a tenth of a second.
    static var refreshInterval: Duration { .milliseconds(100) }

    private let counter: ActivityCounter
    private var visibility: VisibilityStateMachine
    private var list: ActivityList
    private var since: Date
    /// The label that was published last, and since when it is that.
    private var label: String?
    private var labelSince: Date
    private var audience = Audience.nobody
    private var isOrphaned = false
    private var publishedAt: Duration?
    /// The phase that the present input has published, if it has.
    private var publishedPhase: ActivityCounter.Phase?
    /// When changes that were held back are published.
    private var refreshDue: Duration?
    private var lifetimeCheckDue: Duration?
    /// The time that the last ``Action/wake(at:)`` named, until it comes.
    private var wakesAt: Duration?
    private var wakeVersion: UInt64 = 0
    private var actions: [Action] = []

    /// How often observed and tracked objects are looked at. 1 ms to 100 years.
    private(set) var lifetimeCheckInterval = Duration.seconds(1)

    /// Makes a machine.
    ///
    /// - Parameters:
    ///   - delays: when the indicator is shown and hidden.
    ///   - isEnabled: whether it may be shown.
    ///   - counter: what counts the activities. It counts none yet.
    ///   - now: the time.
    package init(delays: IndicatorDelays, isEnabled: Bool, counter: ActivityCounter, now: Duration = .zero) {
        self.counter = counter
        since = Date()
        labelSince = since
        list = ActivityList(origin: since.addingTimeInterval(-(now / .seconds(1))))
        visibility = VisibilityStateMachine(delays: delays, isEnabled: isEnabled)
        counter.setPhase(phase)
    }

    // MARK: - Reading

    /// The delays that begin from now on.
    package var delays: IndicatorDelays { visibility.delays }

    /// Whether the indicator may be shown.
    var isEnabled: Bool { visibility.isEnabled }

    /// When a delay runs out, if one runs.
    package var deadline: Duration? { visibility.deadline }

    /// How many activities are in progress that somebody holds, as opposed to those that are stopped by their identity.
    var heldActivityCount: Int { counter.count - list.count }

    /// The public state now.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - isMeasured: whether the estimates of the time left take a measurement.
    @inline(__always)
    mutating func snapshot(_ now: Now, isMeasured: Bool = false) -> IndicatorSnapshot {
        let (state, count) = counter.stateAndCount
        var snapshot = IndicatorSnapshot(
            state: state,
            isEnabled: visibility.isEnabled,
            activityCount: count - list.memberCount,
            activities: list.activities(at: now, isMeasured: isMeasured),
            since: since
        )
        snapshot.labelSince = labelSince
        return snapshot
    }

    // MARK: - Inputs: activities

    /// Something begins, ends, or changes what it says of itself.
    ///
    /// - Parameter change: makes the change to the list, and returns what follows from it.
    package mutating func change(_ now: Now, _ change: (inout ActivityList) -> ActivityList.Change) -> [Action] {
        let change = change(&list)
        // While a refresh is due already, or nobody observes details, nothing follows from a change of them.
        var hasChanged = change.changesDetails && refreshDue == nil && isHeard
        for _ in 0..<max(change.countChange, 0) where counter.begin() { hasChanged = true }
        counter.setMemberCount(list.memberCount)
        for _ in 0..<max(-change.countChange, 0) where counter.remove() { hasChanged = true }
        if !change.released.isEmpty { actions.append(.release(Garbage(values: change.released))) }
        if list.objectCount > 0, lifetimeCheckDue == nil {
            lifetimeCheckDue = now() + lifetimeCheckInterval
            setTimer()
        }
        if !hasChanged, actions.isEmpty { return [] }
        return finish(hasChanged: hasChanged, now)
    }

    /// The counter asked for a report.
    mutating func countChanged(_ now: Now) -> [Action] {
        finish(hasChanged: true, now)
    }

    // MARK: - Inputs: settings

    /// Switches the indicator on or off.
    package mutating func setEnabled(_ isEnabled: Bool, at now: Duration) -> [Action] {
        guard isEnabled != visibility.isEnabled else { return [] }
        apply(catchUp(), at: now)
        apply(visibility.setEnabled(isEnabled, at: now), at: now)
        return finish(hasChanged: true) { now }
    }

    /// Changes the delays. What is due by now follows the old ones, though its timer may be late.
    package mutating func setDelays(_ delays: IndicatorDelays, at now: Duration) -> [Action] {
        apply(catchUp(), at: now)
        apply(visibility.advance(to: now), at: now)
        visibility.delays = delays
        return finish(hasChanged: false) { now }
    }

    /// Changes how often objects are looked at.
    mutating func setLifetimeCheckInterval(_ interval: Duration, at now: Duration) -> [Action] {
        lifetimeCheckInterval = min(max(interval, .milliseconds(1)), TimeSource.longest)
        if lifetimeCheckDue != nil { lifetimeCheckDue = now + lifetimeCheckInterval }
        return finish(hasChanged: false) { now }
    }

    /// Says who wants to hear of changes. Call it before the snapshot for a newcomer is made: then no change is missed.
    mutating func setAudience(_ audience: Audience) {
        self.audience = audience
        setWatched(isHeard && refreshDue == nil)
    }

    /// Publishes what was held back and what has finished, before receivers come or end.
    mutating func publishPending(at now: Duration) -> [Action] {
        if refreshDue != nil || list.hasFinished { publish(at: now) }
        return finish(hasChanged: false) { now }
    }

    /// The manager is deallocated: from now on every change is reported.
    mutating func setOrphaned() {
        isOrphaned = true
        setWatched(true)
    }

    // MARK: - Inputs: time

    /// Whether the objects are to be looked at before ``advance(to:)``: regularly, and before the start delay's
    /// deadline is decided, so that an object that was deallocated never shows the indicator (rule 11 of the design).
    func isLifetimeCheckDue(at now: Duration) -> Bool {
        guard list.objectCount > 0 else { return false }
        if let lifetimeCheckDue, lifetimeCheckDue <= now { return true }
        if visibility.state == .delayingStart, let deadline = visibility.deadline { return deadline <= now }
        return false
    }

    /// How many parts the objects are looked at in.
    static var lifetimeCheckPartCount: Int { ObservedObjects.shardCount }

    /// Ends the activities of the objects of one part that have ended.
    mutating func checkLifetimes(part: Int, at now: Duration) -> [Action] {
        change({ now }) { $0.endActivitiesOfEndedObjects(inShard: part, at: { now }) }
    }

    /// Does what is due.
    package mutating func advance(to now: Duration) -> [Action] {
        if let due = wakesAt, due <= now { wakesAt = nil }
        if let due = lifetimeCheckDue, due <= now {
            lifetimeCheckDue = list.objectCount == 0 ? nil : now + lifetimeCheckInterval
        }
        let stateBefore = visibility.state
        apply(catchUp(), at: now)
        apply(visibility.advance(to: now), at: now)
        settle { now }
        if let due = refreshDue, due <= now { publish(at: now) }
        let hasEstimateEnded = isHeard && list.takeEstimateEnd(by: now)
        return finish(hasChanged: visibility.state != stateBefore || hasEstimateEnded) { now }
    }

    // MARK: - Visibility

    /// The phase that the counter is to have.
    private var phase: ActivityCounter.Phase {
        guard visibility.isEnabled else { return .disabled }
        return switch visibility.state {
        case .inactive: .inactive
        case .delayingStart: .delayingStart
        case .active: .active
        case .delayingCompletion: .delayingCompletion
        }
    }

    /// Brings what was not reported to the visibility machine, as if it had happened before any deadline that is due
    /// (rule 10 of the design).
    private mutating func catchUp() -> [VisibilityChange] {
        let isBusy = counter.isBusy
        switch phase {
        case .inactive, .active:
            return []
        case .disabled, .delayingStart:
            return visibility.setBusy(isBusy, at: visibility.latest)
        case .delayingCompletion:
            // Taken in any case: what ended before work began again does not count any more.
            let end = counter.takeTimeOfLastEnd()
            if isBusy { return visibility.setBusy(true, at: visibility.latest) }
            guard let end, end >= visibility.latest else { return [] }
            // Work has begun and ended since.
            return visibility.setBusy(true, at: visibility.latest) + visibility.setBusy(false, at: end)
        }
    }

    /// Sets the counter's phase, and follows the count that it met, until the two agree.
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
        guard !changes.isEmpty else { return }
        list.setOrigin(Date().addingTimeInterval(-(now / .seconds(1))))
        for (index, change) in changes.enumerated() {
            since = list.date(at: change.instant)
            let isLast = index == changes.count - 1
            let state: IndicatorState? = isLast ? nil : change.isVisible ? .active : .inactive
            publish(state: state, change, at: now)
        }
    }

    // MARK: - Publishing

    /// Whether anybody wants to hear of changes that do not change the visibility.
    private var isHeard: Bool { audience == .always || audience == .whileVisible && visibility.isVisible }

    private func setWatched(_ isWatched: Bool) {
        counter.setWatched(isWatched || isOrphaned)
    }

    private mutating func publish(
        state: IndicatorState? = nil,
        _ change: VisibilityChange? = nil,
        at now: Duration
    ) {
        let before = publishedAt
        publishedAt = now
        publishedPhase = phase
        refreshDue = nil
        // First: a change that the snapshot does not contain is reported.
        setWatched(isHeard)
        counter.setPhase(phase)
        var snapshot = snapshot({ now }, isMeasured: true)
        if let state { snapshot.state = state }
        snapshot.finishedActivities = list.takeFinished()
        if snapshot.label != label {
            label = snapshot.label
            let beginning = snapshot.activities.first?.since ?? .distantPast
            let isNew = before.map { beginning > list.date(at: $0) } ?? true
            labelSince = snapshot.finished.last?.date ?? (isNew ? beginning : list.date(at: now))
            snapshot.labelSince = labelSince
        }
        actions.append(.publish(snapshot, change))
    }

    /// Publishes a change that does not change the visibility, at most every ``refreshInterval``.
    private mutating func publishSoon(_ now: Now) {
        guard isHeard else { return setWatched(false) }
        guard refreshDue == nil else { return }
        let now = now()
        if let publishedAt, now < publishedAt + Self.refreshInterval {
            refreshDue = publishedAt + Self.refreshInterval
            // Until then nobody needs to hear of further changes.
            setWatched(false)
        } else {
            publish(at: now)
        }
    }

    /// Completes an input: follows the count, publishes, sets the timer.
    private mutating func finish(hasChanged: Bool, _ now: Now) -> [Action] {
        settle(now)
        // The state may have gone on since it was published.
        if hasChanged, publishedPhase != phase { publishSoon(now) }
        publishedPhase = nil
        setTimer()
        if actions.isEmpty { return [] }
        defer { actions = [] }
        return actions
    }

    /// Asks to be woken when the next thing is due.
    private mutating func setTimer() {
        let estimateEnd = isHeard ? list.estimateEnd : nil
        if let next = earliest(earliest(visibility.deadline, refreshDue), earliest(lifetimeCheckDue, estimateEnd)),
            wakesAt.map({ next < $0 }) ?? true
        {
            wakesAt = next
            wakeVersion += 1
            actions.append(.wake(at: next, version: wakeVersion))
        }
    }
}

/// The earlier of two times, of which either may be missing.
private func earliest(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
}
