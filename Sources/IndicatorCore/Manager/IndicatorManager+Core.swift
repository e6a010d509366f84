import Foundation

/// Something that lives and ends with a manager, such as whatever watches its config file.
package protocol ManagerResource: AnyObject, Sendable {
    /// The manager is being shut down: let go, in bounded time.
    func managerWillShutDown() async
    /// The manager was deallocated without having been shut down: let go, without waiting.
    func managerIsGone()
}

extension IndicatorManager {
    /// What is kept for an activity that has an identity.
    struct IdentifiedActivity: Sendable {
        var order: UInt64
        var slot: ActivityDetails.Slot?
        /// The object whose life bounds the activity.
        var object: ObservedObject?
    }

    /// All that the manager's lock protects.
    struct Core: Sendable {
        var machine: VisibilityStateMachine
        var identities = ActivityRegistry<ActivityKey, IdentifiedActivity>()
        var objects = ActivityRegistry<ObservedObject.Key, IdentifiedActivity>()
        var anonymousCount = 0
        var details = ActivityDetails()
        var publisher = SnapshotPublisher()
        var observations: [NotificationObservation] = []
        var resources: [any ManagerResource] = []
        var since = Date()
        var lifetimeCheckInterval = Duration.seconds(1)
        var lifetimeCheckDue: Duration?
        var isShutDown = false
        var timer: DeadlineTimer?
        /// When the timer goes off at the latest, so that the lock of the timer is not taken for nothing.
        var timerDue: Duration?

        init(machine: VisibilityStateMachine) {
            self.machine = machine
        }

        var nextDeadline: Duration? {
            earlier(earlier(machine.deadline, publisher.refreshDue), lifetimeCheckDue)
        }
    }

    // Everything below is called with the lock held.

    /// Tells the surfaces of changes of visibility, and sets the timer. Returns whether there were any: the surfaces then know all
    /// that there is to know.
    @discardableResult
    func apply(_ changes: VisibilityChanges, to core: inout Core, at now: Duration) -> Bool {
        if !changes.isEmpty {
            let wallClock = Date()
            for (index, change) in changes.enumerated() {
                core.since = wallClock.addingTimeInterval(-((now - change.instant) / .seconds(1)))
                let isLast = index == changes.count - 1
                let state: IndicatorState = isLast ? core.machine.state : change.isVisible ? .active : .inactive
                core.publisher.publish(snapshot(of: core, state: state), at: now)
            }
            core.publisher.watchCount(word)
        }
        arm(&core)
        return !changes.isEmpty
    }

    /// Notes that something other than the visibility has changed: the surfaces hear of it within a tenth of a second.
    func noteChange(_ core: inout Core, at now: Duration) {
        guard core.publisher.isInterested else {
            word.unwatch()
            return
        }
        if core.publisher.mayRefresh(at: now) {
            refresh(&core, at: now)
        } else {
            // Until the refresh nobody needs to hear of further changes.
            word.unwatch()
            arm(&core)
        }
    }

    func refresh(_ core: inout Core, at now: Duration) {
        core.publisher.refresh(snapshot(of: core, state: core.machine.state), at: now)
        core.publisher.watchCount(word)
    }

    func snapshot(of core: borrowing Core, state: IndicatorState) -> IndicatorSnapshot {
        IndicatorSnapshot(
            state: state,
            isEnabled: core.machine.isEnabled,
            activityCount: word.value.count,
            label: core.details.label,
            progress: core.details.progress,
            since: core.since
        )
    }

    /// Sees to it that the timer goes off when something is due.
    func arm(_ core: inout Core) {
        guard let next = core.nextDeadline else { return }
        if let due = core.timerDue, due <= next { return }
        core.timerDue = next
        core.timer?.wake(at: next)
    }

    /// Does what is due. Called by the timer, which goes off again when the returned time has come.
    func deadlineIsDue() -> Duration? {
        core.withLock { core in
            let now = time.now
            core.timerDue = nil
            if let due = core.lifetimeCheckDue, due <= now { endActivitiesOfGoneObjects(&core, at: now) }
            let changes = core.machine.advance(to: now)
            if changes.isEmpty {
                if let due = core.publisher.refreshDue, due <= now { refresh(&core, at: now) }
            } else {
                apply(changes, to: &core, at: now)
            }
            core.timerDue = core.nextDeadline
            return core.timerDue
        }
    }
}

/// The earlier of two times, of which either may be missing.
private func earlier(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first else { return second }
    guard let second else { return first }
    return min(first, second)
}
