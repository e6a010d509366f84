/// The rules of the indicator without a manager: events in, changes of visibility out, at the times that the events carry.
///
/// Drives the same ``IndicatorStateMachine`` as a manager does. It replays traces in tests and in the `replay` command,
/// and computes what an indicator should have done.
package struct ActivityReplay {
    /// Something that happens to an indicator.
    package enum Event: Sendable, Hashable {
        /// An activity begins; without an identity it only counts.
        case start(id: String?)
        /// An activity ends.
        case stop(id: String?)
        /// The indicator is enabled.
        case enable
        /// The indicator is disabled.
        case disable
    }

    private var machine: IndicatorStateMachine
    private let counter: ActivityCounter
    private let time = ReplayTimeSource()

    /// Makes an indicator with nothing to do.
    package init(delays: IndicatorDelays = .standard, isEnabled: Bool = true) {
        counter = ActivityCounter(phase: .inactive, time: time)
        machine = IndicatorStateMachine(delays: delays, isEnabled: isEnabled, counter: counter)
    }

    /// The delays that begin from now on.
    package var delays: IndicatorDelays { machine.delays }

    /// The present state.
    package var state: IndicatorState { counter.state }

    /// How many activities are in progress.
    package var activityCount: Int { counter.count }

    /// When a delay runs out; `nil` when none is running.
    package var deadline: Duration? { machine.deadline }

    /// Applies an event. Deadlines up to and including `now` pass first.
    package mutating func apply(_ event: Event, at now: Duration) -> [VisibilityChanges.Element] {
        let changes = advance(to: now)
        let actions =
            switch event {
            case .start(let id?): machine.start(id, label: nil, progress: nil, now: { now })
            case .start(nil): machine.increment(now: { now })
            case .stop(let id?): machine.stop(id, .unspecified, now: { now })
            case .stop(nil): machine.decrement(now: { now })
            case .enable, .disable: machine.setEnabled(event == .enable, at: now)
            }
        return changes + Self.changes(actions)
    }

    /// Changes the delays.
    package mutating func setDelays(_ delays: IndicatorDelays, at now: Duration) -> [VisibilityChanges.Element] {
        advance(to: now) + Self.changes(machine.setDelays(delays, at: now))
    }

    /// Lets time pass without an event.
    package mutating func advance(to now: Duration) -> [VisibilityChanges.Element] {
        var changes: [VisibilityChanges.Element] = []
        // As a timer does: a deadline may be followed by another one.
        while let deadline = machine.deadline, deadline <= now {
            time.set(to: deadline)
            changes += Self.changes(machine.advance(to: deadline))
        }
        time.set(to: now)
        return changes
    }

    /// Lets the delay that is running run out, as it does when no event follows.
    package mutating func finish() -> [VisibilityChanges.Element] {
        var changes: [VisibilityChanges.Element] = []
        while let deadline = machine.deadline { changes += advance(to: deadline) }
        return changes
    }

    private static func changes(_ actions: [IndicatorStateMachine.Action]) -> [VisibilityChanges.Element] {
        actions.compactMap { action in
            if case .publish(_, let change) = action { change } else { nil }
        }
    }
}
