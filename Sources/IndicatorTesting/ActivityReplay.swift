package import IndicatorCore
import IndicatorThreads

/// The rules of the indicator without a manager: events in, changes of visibility out, at the times that the events
/// carry.
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
    private let clock = VirtualClock()

    /// Makes an indicator with nothing to do.
    package init(delays: IndicatorDelays = .standard, isEnabled: Bool = true) {
        counter = ActivityCounter(phase: .inactive, time: .reading(clock))
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
    package mutating func apply(_ event: Event, at now: Duration) -> [VisibilityChange] {
        let changes = advance(to: now)
        let actions =
            switch event {
            case .enable, .disable: machine.setEnabled(event == .enable, at: now)
            case .start, .stop:
                machine.change({ now }) { list in
                    switch event {
                    case .start(let id?): list.start(.text(id), label: nil, progress: nil, at: { now })
                    case .stop(let id?): list.stop(.text(id), .unspecified, at: { now })
                    case .start(nil): list.increment()
                    case .stop(nil), .enable, .disable: list.decrement()
                    }
                }
            }
        return changes + Self.changes(actions)
    }

    /// Changes the delays.
    package mutating func setDelays(_ delays: IndicatorDelays, at now: Duration) -> [VisibilityChange] {
        advance(to: now) + Self.changes(machine.setDelays(delays, at: now))
    }

    /// Lets time pass without an event.
    package mutating func advance(to now: Duration) -> [VisibilityChange] {
        var changes: [VisibilityChange] = []
        // As a timer does: a deadline may be followed by another one.
        while let deadline = machine.deadline, deadline <= now {
            clock.advance(to: deadline)
            changes += Self.changes(machine.advance(to: deadline))
        }
        clock.advance(to: now)
        return changes
    }

    /// Lets the delay that is running run out, as it does when no event follows.
    package mutating func finish() -> [VisibilityChange] {
        var changes: [VisibilityChange] = []
        while let deadline = machine.deadline { changes += advance(to: deadline) }
        return changes
    }

    private static func changes(_ actions: [IndicatorStateMachine.Action]) -> [VisibilityChange] {
        actions.compactMap { action in
            if case .publish(_, let change) = action { change } else { nil }
        }
    }
}
