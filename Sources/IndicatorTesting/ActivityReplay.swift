package import IndicatorCore
import Synchronization

/// Applies the indicator's rules without a manager: turns events with times into changes of visibility.
///
/// Uses the same ``IndicatorStateMachine`` as a manager. It replays traces in tests and in the `replay` command, and
/// computes the expected visibility of an indicator.
package final class ActivityReplay {
    /// An input of the indicator.
    package enum Event: Sendable, Hashable {
        /// An activity begins. With an identity it is an observed task; without one it is only counted.
        case start(id: String?)
        /// An activity ends: an observed task is completed.
        case stop(id: String?)
        /// The indicator is enabled.
        case enable
        /// The indicator is disabled.
        case disable
    }

    private var machine: IndicatorStateMachine
    private let counter: ActivityCounter
    /// The time of the last event, in nanoseconds.
    private let now = SharedTime()

    private final class SharedTime: Sendable {
        let nanoseconds = Atomic<Int64>(0)
    }

    /// Creates an inactive indicator.
    package init(delays: IndicatorDelays = .standard, isEnabled: Bool = true) {
        // Nothing waits for a time.
        let time = TimeSource(read: { [now] in now.nanoseconds.load(ordering: .relaxed) }, schedule: { _, _ in {} })
        counter = ActivityCounter(phase: .inactive, time: time)
        machine = IndicatorStateMachine(delays: delays, isEnabled: isEnabled, counter: counter)
    }

    /// The delays that apply from now on.
    package var delays: IndicatorDelays { machine.delays }

    /// The number of activities in progress.
    package var activityCount: Int { counter.count }

    /// Applies an event. Deadlines up to and including `now` pass first.
    package func apply(_ event: Event, at now: Duration) -> [VisibilityChange] {
        let changes = advance(to: now)
        let actions =
            switch event {
            case .enable, .disable: machine.setEnabled(event == .enable, at: now)
            case .start(let id?): machine.startTask(.text(id), label: nil) { now }
            case .stop(let id?): machine.completeTask(.text(id), .unspecified) { now }
            case .start(nil): machine.increment { now }
            case .stop(nil): machine.decrement { now }
            }
        return changes + Self.changes(actions)
    }

    /// Changes the delays.
    package func setDelays(_ delays: IndicatorDelays, at now: Duration) -> [VisibilityChange] {
        advance(to: now) + Self.changes(machine.setDelays(delays, at: now))
    }

    /// Advances the time without an event.
    package func advance(to now: Duration) -> [VisibilityChange] {
        var changes: [VisibilityChange] = []
        // A deadline may be followed by another one.
        while let deadline = machine.deadline, deadline <= now {
            set(deadline)
            changes += Self.changes(machine.advance(to: deadline))
        }
        set(now)
        return changes
    }

    /// Lets all running delays end, as without further events.
    package func finish() -> [VisibilityChange] {
        var changes: [VisibilityChange] = []
        while let deadline = machine.deadline { changes += advance(to: deadline) }
        return changes
    }

    private func set(_ time: Duration) { now.nanoseconds.max(time.wholeNanoseconds, ordering: .relaxed) }

    private static func changes(_ actions: IndicatorStateMachine.Actions?) -> [VisibilityChange] {
        actions?.publications.compactMap(\.change) ?? []
    }
}
