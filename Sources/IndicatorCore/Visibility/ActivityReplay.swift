/// The rules of the indicator without a manager: events in, changes of visibility out, on whatever time the events carry.
///
/// Replays traces in tests and in `indicator-demo replay`, and tells what an indicator should have done.
package struct ActivityReplay: Sendable {
    /// Something that happens to an indicator.
    package enum Event: Sendable, Hashable {
        /// An activity begins; without an identity it only counts.
        case start(id: String?)
        /// An activity ends.
        case stop(id: String?)
        /// The indicator is switched on.
        case enable
        /// The indicator is switched off.
        case disable
    }

    private struct Nothing: Sendable {}

    private var registry = ActivityRegistry<String, Nothing>()
    private var anonymousCount = 0
    private var machine: VisibilityStateMachine

    /// Makes an indicator with nothing to do.
    package init(delays: IndicatorDelays = .standard, isEnabled: Bool = true) {
        machine = VisibilityStateMachine(delays: delays, isEnabled: isEnabled)
    }

    /// The delays for whatever begins from now on.
    package var delays: IndicatorDelays {
        get { machine.delays }
        set { machine.delays = newValue }
    }

    /// The present state.
    package var state: IndicatorState { machine.state }

    /// How many activities are in progress.
    package var activityCount: Int { registry.count + anonymousCount }

    /// When a delay runs out; `nil` when none is running.
    package var deadline: Duration? { machine.deadline }

    /// Applies an event. Deadlines up to and including `now` pass first.
    package mutating func apply(_ event: Event, at now: Duration) -> VisibilityChanges {
        switch event {
        case .start(let id?):
            _ = registry.start(id, at: now, entry: Nothing())
        case .start(nil):
            anonymousCount += 1
        case .stop(let id?):
            _ = registry.stop(id, at: now)
        case .stop(nil):
            anonymousCount = max(anonymousCount - 1, 0)
        case .enable, .disable:
            return machine.setEnabled(event == .enable, at: now)
        }
        return machine.setBusy(activityCount > 0, at: now)
    }

    /// Lets time pass without an event.
    package mutating func advance(to now: Duration) -> VisibilityChanges {
        machine.advance(to: now)
    }

    /// Lets the delay that is running run out, as it does when no event follows.
    package mutating func finish() -> VisibilityChanges {
        machine.deadline.map { machine.advance(to: $0) } ?? .none
    }
}
