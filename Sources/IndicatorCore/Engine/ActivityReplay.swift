import IndicatorThreads
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
    private let clock = ReplayClock()

    /// Creates an inactive indicator.
    package init(delays: IndicatorDelays = .standard, isEnabled: Bool = true) {
        counter = ActivityCounter(phase: .inactive, time: .reading(clock))
        machine = IndicatorStateMachine(delays: delays, isEnabled: isEnabled, counter: counter)
    }

    /// The delays that apply from now on.
    package var delays: IndicatorDelays { machine.delays }

    /// The current state.
    package var state: IndicatorState { counter.state }

    /// The number of activities in progress.
    package var activityCount: Int { counter.count }

    /// When the running delay ends; `nil` when none is running.
    package var deadline: Duration? { machine.deadline }

    /// Applies an event. Deadlines up to and including `now` pass first.
    package func apply(_ event: Event, at now: Duration) -> [VisibilityChange] {
        let changes = advance(to: now)
        let actions =
            switch event {
            case .enable, .disable: machine.setEnabled(event == .enable, at: now)
            case .start, .stop:
                machine.change({ now }) { list in
                    switch event {
                    case .start(let id?): list.startTask(.text(id), label: nil, at: { now })
                    case .stop(let id?): list.completeTask(.text(id), at: { now })
                    case .start(nil): list.increment()
                    case .stop(nil), .enable, .disable: list.decrement()
                    }
                }
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
            clock.set(deadline)
            changes += Self.changes(machine.advance(to: deadline))
        }
        clock.set(now)
        return changes
    }

    /// Lets all running delays end, as without further events.
    package func finish() -> [VisibilityChange] {
        var changes: [VisibilityChange] = []
        while let deadline = machine.deadline { changes += advance(to: deadline) }
        return changes
    }

    private static func changes(_ actions: IndicatorStateMachine.Actions?) -> [VisibilityChange] {
        actions?.publications.compactMap(\.change) ?? []
    }
}

/// A clock that shows the time of the last event. Nothing waits for it.
private final class ReplayClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration

        func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
        func duration(to other: Self) -> Duration { other.offset - offset }
        static func < (one: Self, other: Self) -> Bool { one.offset < other.offset }
    }

    private let offset = Locked(Duration.zero)

    var now: Instant { Instant(offset: offset.withLock { $0 }) }
    var minimumResolution: Duration { .nanoseconds(1) }

    func set(_ time: Duration) { offset.withLock { $0 = max($0, time) } }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
}
