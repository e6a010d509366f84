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
    struct Entry: Sendable {
        let order: UInt64
        /// The slot of the activity's label and progress, or -1 when it has neither.
        private var storedSlot: ActivityDetails.Slot = -1

        var slot: ActivityDetails.Slot? {
            get { storedSlot < 0 ? nil : storedSlot }
            set { storedSlot = newValue ?? -1 }
        }

        init(order: UInt64) {
            self.order = order
        }
    }

    /// What is kept for an activity that is bounded by the life of an object.
    struct ObjectEntry: Sendable {
        var entry: Entry
        let object: ObservedObject
    }

    /// All that the manager's lock protects.
    struct Core: Sendable {
        var machine: VisibilityStateMachine
        var texts = ActivityRegistry<String, Entry>()
        var numbers = ActivityRegistry<Int, Entry>()
        var values = ActivityRegistry<ActivityKey.Other, Entry>()
        var objects = ActivityRegistry<ObservedObject.Key, ObjectEntry>()
        var anonymousCount = 0
        /// The number, for ``ActivityOrder``, of the entry that began last.
        var entryNumber: UInt64 = 0
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
        /// The order of the next activity when the quiet period began: has it changed, then work has begun since.
        var quietOrder: UInt64 = 0
        /// When the quiet period began.
        var quietBeginning = Duration.zero

        init(machine: VisibilityStateMachine) {
            self.machine = machine
        }

        var nextDeadline: Duration? {
            earlier(earlier(machine.deadline, publisher.refreshDue), lifetimeCheckDue)
        }

        /// What is kept for an activity that has an identity.
        func entry(_ key: ActivityKey) -> Entry? {
            switch key {
            case .text(let text): texts[text]
            case .number(let number): numbers[number]
            case .value(let value): values[value]
            }
        }

        mutating func replace(_ key: ActivityKey, by entry: Entry) {
            switch key {
            case .text(let text): texts.update(text) { $0 = entry }
            case .number(let number): numbers.update(number) { $0 = entry }
            case .value(let value): values.update(value) { $0 = entry }
            }
        }
    }

    // Everything below is called with the lock held.

    /// What was the case before a change of the visibility's causes.
    enum Earlier {
        /// What the count says now.
        case asNow
        /// Work was going on.
        case busy
        /// None was; this was the count.
        case idle(ActivityWord.Value)
    }

    /// Makes a change that may change the visibility, and ends and begins quiet periods about it.
    ///
    /// - Parameters:
    ///   - core: what the lock protects.
    ///   - earlier: what was the case before the change.
    ///   - change: makes it at the time that it is given, and returns whether the surfaces know all that there is to know.
    func changeVisibility(
        _ core: inout Core,
        from earlier: Earlier = .asNow,
        _ change: (inout Core, Duration) -> Bool
    ) {
        let now = time.now
        endQuietPeriod(&core, earlier, at: now)
        let isKnown = change(&core, now)
        beginQuietPeriod(&core, at: now)
        arm(&core)
        if isKnown { publishState(core) } else { noteChange(&core) }
    }

    private func endQuietPeriod(_ core: inout Core, _ earlier: Earlier, at now: Duration) {
        guard quiet.isRunning else { return }
        quiet.end()
        // Never the last reference: whoever calls has one.
        if word.endQuietPeriod() { Unmanaged.passUnretained(self).release() }
        let value: ActivityWord.Value
        switch earlier {
        case .busy: return core.machine.catchUp(isBusy: true, idleSince: nil)
        case .idle(let before): value = before
        case .asNow: value = word.value
        }
        guard !value.isBusy else { return core.machine.catchUp(isBusy: true, idleSince: nil) }
        guard value.order != core.quietOrder else { return core.machine.catchUp(isBusy: false, idleSince: nil) }
        // Who ended the work and has not noted it yet is just about to.
        let noted = quiet.idleSince(value, now: now.wholeNanoseconds).map { Duration.nanoseconds($0) }
        let isOfThisPeriod = noted.map { $0 >= core.quietBeginning } ?? false
        core.machine.catchUp(isBusy: false, idleSince: isOfThisPeriod ? noted : now)
    }

    private func beginQuietPeriod(_ core: inout Core, at now: Duration) {
        guard let (kind, end) = core.machine.quietPeriod else { return }
        let nanoseconds = end?.wholeNanoseconds ?? TimeSource.distantFuture
        if kind == .levelAndTime, nanoseconds - now.wholeNanoseconds > QuietPeriod.longest { return }
        let value = word.value
        // Work that began since it was seen that there was none counts as having begun afterwards.
        core.quietOrder = kind == .levelAndTime && value.isBusy ? value.order &- 1 : value.order
        core.quietBeginning = now
        if end != nil { word.beginQuietPeriod() }
        quiet.begin(until: nanoseconds, kind)
    }

    /// The state, also while edges are not reported.
    private func state(of core: borrowing Core) -> IndicatorState {
        guard quiet.isRunning, core.machine.isVisible else { return core.machine.state }
        return word.value.isBusy ? .active : .delayingCompletion
    }

    private func publishState(_ core: borrowing Core) {
        published.publish(
            state: core.machine.state,
            isEnabled: core.machine.isEnabled,
            hasDetails: !core.details.isEmpty,
            since: core.since
        )
    }

    /// Tells the surfaces of changes of visibility, and sets the timer. Returns whether there were any: the surfaces then know all
    /// that there is to know.
    @discardableResult
    func apply(_ changes: VisibilityChanges, to core: inout Core, at now: Duration) -> Bool {
        if !changes.isEmpty {
            word.watch()
            let wallClock = Date()
            for (index, change) in changes.enumerated() {
                core.since = wallClock.addingTimeInterval(-((now - change.instant) / .seconds(1)))
                let isLast = index == changes.count - 1
                let state: IndicatorState = isLast ? core.machine.state : change.isVisible ? .active : .inactive
                core.publisher.publish(snapshot(of: core, state: state), at: now)
            }
            core.publisher.watchCount(word)
        }
        return !changes.isEmpty
    }

    /// Notes that something other than the visibility has changed: the surfaces hear of it within a tenth of a second.
    func noteChange(_ core: inout Core) {
        publishState(core)
        guard core.publisher.isInterested else {
            word.unwatch()
            return
        }
        if core.publisher.mayRefresh(time) {
            refresh(&core, at: time.now)
        } else {
            // Until the refresh nobody needs to hear of further changes.
            word.unwatch()
            arm(&core)
        }
    }

    func refresh(_ core: inout Core, at now: Duration) {
        // First: a change that the snapshot does not have in it is told.
        word.watch()
        core.publisher.refresh(snapshot(of: core), at: now)
        core.publisher.watchCount(word)
    }

    func snapshot(of core: borrowing Core) -> IndicatorSnapshot {
        snapshot(of: core, state: state(of: core))
    }

    func snapshot(of core: borrowing Core, state: IndicatorState) -> IndicatorSnapshot {
        IndicatorSnapshot(
            state: state,
            isEnabled: core.machine.isEnabled,
            activityCount: activityCount,
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
    package func deadlineIsDue() -> Duration? {
        // Objects that were looked at may have no other reference by now: they go when the lock has been let go of.
        let (next, objects): (Duration?, [AnyObject]) = core.withLock { core in
            let now = time.now
            core.timerDue = nil
            var objects: [AnyObject] = []
            if let due = core.lifetimeCheckDue, due <= now { objects = endActivitiesOfGoneObjects(&core, at: now) }
            if let due = core.machine.deadline, due <= now {
                changeVisibility(&core) { core, now in
                    apply(core.machine.advance(to: now), to: &core, at: now)
                }
            }
            if let due = core.publisher.refreshDue, due <= now { refresh(&core, at: now) }
            core.timerDue = core.nextDeadline
            return (core.timerDue, objects)
        }
        withExtendedLifetime(objects) {}
        return next
    }
}

extension ActivityDetails {
    /// Changes what is told of an activity. Returns whether the entry was changed: it had told nothing so far.
    mutating func update(_ entry: inout IndicatorManager.Entry, label: String?, progress: Double?) -> Bool {
        if let slot = entry.slot {
            update(slot, label: label, progress: progress)
            return false
        }
        entry.slot = insert(label: label, progress: progress, order: entry.order)
        return true
    }
}

extension ActivityRegistry where Entry == IndicatorManager.Entry {
    /// Starts an activity of which something may be told. Returns whether it is in progress from now on and was not before.
    @inline(__always)
    mutating func start(
        _ key: Key,
        _ entry: Entry,
        label: String?,
        progress: Double?,
        in details: inout ActivityDetails,
        at now: @autoclosure () -> Duration
    ) -> Bool {
        guard start(key, at: now(), entry: entry) else { return false }
        if label != nil || progress != nil {
            update(key) { _ = details.update(&$0, label: label, progress: progress) }
        }
        return true
    }
}

/// The earlier of two times, of which either may be missing.
private func earlier(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first else { return second }
    guard let second else { return first }
    return min(first, second)
}
