import Foundation
package import Synchronization

/// The signal that ends the process; 0 before it has arrived. An activity that ends after that was interrupted, as the
/// app's waits were, whatever outcome the app reports.
package let endingSignal = Atomic<CInt>(0)

/// The activities in progress that have an identity or details: their labels, progress and order; and the labelled ones
/// that have ended.
///
/// Plain data behind the manager's lock. It does not count: ``ActivityCounter`` does.
package struct ActivityList: Sendable {
    /// How many activities a snapshot lists at most.
    static var longestList: Int { 16 }

    /// The time, read from a clock only if it is needed.
    package typealias Now = () -> Duration

    /// The effects of a change of the list.
    package struct Effects {
        /// How many activities began that are not members of a group in progress; negative if some ended.
        var countChange = 0
        /// Whether an activity with an identity has ended.
        var hasEnded = false
        /// Whether a snapshot would show the change.
        var changesDetails = false
        /// Values to release without a lock, because that may run the caller's code.
        var released: [Any] = []

        /// Adds the effects of another change.
        mutating func add(_ other: Self) {
            countChange += other.countChange
            changesDetails = changesDetails || other.changesDetails
        }
    }

    /// The activities of each type of identity. (Hashing a text or a number by itself costs half of hashing an enum.)
    private var texts = Identities<String>()
    private var numbers = Identities<Int>()
    private var values = Identities<ActivityKey.Value>()
    var objects = ObservedObjects()
    private var earlyCompletions = EarlyCompletions()
    /// The activities with a label, in the order in which they began.
    private var labelled = OrderedObjects()
    private var anonymousCount = 0
    private var lastOrder: UInt64 = 0
    /// The list for snapshots; `nil` after a change.
    private var cachedActivities: [ActivityDetails]?
    /// When the first of the estimates in the last published list expires.
    private(set) var estimateEnd: Duration?

    /// The labelled activities that have ended and are not in any published snapshot yet, and how many more there were.
    /// Only those that a snapshot takes become values: if many end, few do.
    private var ended: [ActivityRecord] = []
    private var omittedCount = 0

    private var wallClock: WallClock
    private let uptimeOrigin: Int64?

    /// `uptimeOrigin` is the origin of the times, as of `ServiceThread.now`, if they are of that clock.
    init(wallClock: WallClock, uptimeOrigin: Int64? = nil) {
        self.wallClock = wallClock
        self.uptimeOrigin = uptimeOrigin
    }

    /// Converts a time of the manager's clock to one of `ServiceThread.now`, if that is the same clock.
    func uptime(at time: Duration) -> Int64? { uptimeOrigin.map { $0 + time.wholeNanoseconds } }

    /// Follows the wall clock if it was set. Returns by how many seconds.
    mutating func followWallClock(_ now: Now) -> TimeInterval {
        let shift = wallClock.follow(now)
        if shift != 0 { cachedActivities = nil }
        return shift
    }

    /// Converts a time of the manager's clock to the wall clock.
    func date(at time: Duration) -> Date { wallClock.origin + time / .seconds(1) }

    /// Whether objects must be checked: those observed, and those whose beginning was ignored.
    var needsLifetimeChecks: Bool { objects.count > 0 || earlyCompletions.hasIgnored }

    /// The first ``longestList`` activities with a label, in the order in which they began; the members of a group
    /// follow it. `isMeasured` is whether the estimates take a measurement.
    @inline(__always)
    mutating func activities(at now: Now, isMeasured: Bool = false) -> [ActivityDetails] {
        if isMeasured { estimateEnd = nil }
        return cachedActivities ?? uncachedActivities(at: now, isMeasured: isMeasured)
    }

    private mutating func uncachedActivities(at now: Now, isMeasured: Bool) -> [ActivityDetails] {
        let records = labelled.prefix(Self.longestList).map { unsafeDowncast($0, to: ActivityRecord.self) }
        // Not cached if there are steps: they advance without the lock.
        let isConstant = records.allSatisfy(\.isConstant)
        let time = isConstant ? .zero : now()
        var rows: [(record: ActivityRecord, details: ActivityDetails)] = []
        for record in records {
            var details = snapshotDetails(of: record, at: time, isMeasured: isMeasured)
            var index = rows.count
            // A group begins before its members, so it is there already.
            if let group = labelledGroup(of: record), let place = rows.firstIndex(where: { $0.record === group }) {
                details.depth = rows[place].details.depth + 1
                index = rows[(place + 1)...].firstIndex { $0.details.depth < details.depth } ?? rows.count
            }
            rows.insert((record, details), at: index)
        }
        var activities = rows.map(\.details)
        for (index, details) in activities.enumerated() {
            // A group does not end before its members.
            guard let remaining = details.remaining else { continue }
            let members = activities[(index + 1)...].prefix { $0.depth > details.depth }
            activities[index].remaining = max(remaining, members.compactMap(\.remaining).max() ?? .zero)
        }
        if isConstant { cachedActivities = activities }
        return activities
    }

    /// The nearest group in progress that has a label. (A group that has ended is in no other one.)
    private func labelledGroup(of record: ActivityRecord) -> ActivityRecord? {
        var group = record.parent
        while let other = group, !other.isLabelled { group = other.parent }
        return group
    }

    /// The details that an activity has itself, without its members.
    func details(of record: ActivityRecord) -> ActivityDetails {
        var details = record.currentDetails
        details.since = date(at: record.began)
        return details
    }

    private mutating func snapshotDetails(
        of record: ActivityRecord,
        at now: Duration,
        isMeasured: Bool
    ) -> ActivityDetails {
        var (details, earlier) = record.summary
        details.since = date(at: record.began)
        details.sinceUptime = uptime(at: record.began)
        if record.isConstant { return details }
        var rate = record.rate ?? RateEstimate(at: record.began)
        // Of one without members, the first change is not measured.
        if record.group == nil { earlier = (0, 0) }
        details.estimate(&rate, earlier, isMeasured: isMeasured, at: now)
        // Reading has no effect.
        guard isMeasured else { return details }
        record.rate = rate
        if let end = rate.end, end > now { estimateEnd = min(estimateEnd ?? end, end) }
        return details
    }

    /// Whether one of the estimates in the last published list has expired. Returns `true` once.
    mutating func takeEstimateEnd(by now: Duration) -> Bool {
        guard let estimateEnd, estimateEnd <= now else { return false }
        self.estimateEnd = nil
        return true
    }

    // MARK: - Records

    private mutating func order() -> UInt64 {
        lastOrder += 1
        return lastOrder
    }

    /// Lists the record of an activity with a handle, when it begins with details or first gets some. Returns whether
    /// it became a member of a group, which is not counted.
    @discardableResult
    mutating func insert(_ record: ActivityRecord, in parent: ActivityRecord?, at began: Duration) -> Bool {
        record.begin(order: order(), at: began)
        return join(record, parent)
    }

    /// Makes an activity that begins a member of a group, if one is given and still in progress, and lists it. Returns
    /// whether it became a member.
    private mutating func join(_ record: ActivityRecord, _ parent: ActivityRecord?) -> Bool {
        let isMember = parent.map { !$0.hasEnded } ?? false
        if isMember, let parent {
            let group = parent.group ?? ActivityGroup()
            parent.group = group
            group.memberCount += 1
            record.membership = ActivityGroup.Membership(in: parent)
            cachedActivities = nil
            record.updateShare()
        }
        list(record)
        return isMember
    }

    /// Adds an activity to the list, or removes it, when it gets or loses its label or ends.
    private mutating func list(_ record: ActivityRecord) {
        let isLabelled = record.label != nil && !record.hasEnded
        guard isLabelled != record.isLabelled else { return }
        cachedActivities = nil
        record.isLabelled = isLabelled
        // Not retained: an activity in progress has an owner, and leaves the list when it ends.
        if isLabelled { labelled.insert(record, at: record.order) } else { labelled.remove(at: record.order) }
    }

    /// Merges a changed copy of the details of an activity. Returns whether a snapshot shows the change. Without effect
    /// after its end.
    mutating func merge(_ new: ActivityDetails, since old: ActivityDetails, into record: ActivityRecord) -> Bool {
        guard !record.hasEnded else { return false }
        let wasLabelled = record.isLabelled
        record.merge(new, since: old)
        list(record)
        record.updateShare()
        return hasChanged(record, wasLabelled || record.isLabelled)
    }

    /// An activity has advanced. Returns whether a snapshot shows that.
    mutating func hasAdvanced(_ record: ActivityRecord) -> Bool {
        record.updateShare()
        return hasChanged(record, record.isLabelled)
    }

    private mutating func hasChanged(_ record: ActivityRecord, _ isLabelled: Bool) -> Bool {
        guard isLabelled || record.parent != nil else { return false }
        cachedActivities = nil
        return true
    }

    /// Ends an activity. Its members become independent, and are counted from then on; if it is a member itself, it was
    /// not counted.
    ///
    /// - Parameter outcome: how it ended; `nil` if it only pauses or is removed, which is no end to report or count.
    mutating func end(_ record: ActivityRecord, _ outcome: ActivityOutcome?, at now: Now) -> Effects {
        guard !record.hasEnded else { return Effects() }
        let group = record.parent.flatMap { $0.hasEnded ? nil : $0 }
        var effects = Effects(countChange: (record.group?.memberCount ?? 0) - (group == nil ? 1 : 0))
        effects.changesDetails = record.isLabelled || record.group != nil || record.parent != nil
        var finalOutcome = outcome?.safe ?? .unspecified
        if endingSignal.load(ordering: .relaxed) != 0 { finalOutcome = .cancelled }
        if let own = record.group {
            finalOutcome = own.outcome(finalOutcome, failsWithMembers: record.failsWithMembers)
        }
        group?.group?.finish(record, outcome == nil ? nil : finalOutcome, record.membership?.share, record.currentShare)
        record.outcome = finalOutcome
        record.membership = nil
        list(record)
        group?.updateShare()
        guard record.label != nil, outcome != nil else { return effects }
        (record.ended, record.hasEndedInGroup) = (now(), group != nil)
        ended.append(record)
        if ended.count > FinishedActivities.capacity {
            ended.remove(at: ended.firstIndex { $0.outcome?.isFailure == false } ?? 0)
            omittedCount += 1
        }
        return effects
    }

    /// Whether a labelled activity has ended that is not in any published snapshot yet.
    var hasFinished: Bool { !ended.isEmpty }

    /// Removes and returns the labelled activities that have ended.
    mutating func takeFinished() -> FinishedActivities {
        defer { (ended, omittedCount) = ([], 0) }
        let latest = ended.map { record in
            let outcome = record.outcome ?? .unspecified
            var activity = FinishedActivity(
                label: record.label ?? "",
                outcome: outcome,
                duration: record.ended - record.began,
                date: date(at: record.ended)
            )
            (activity.id, activity.isMember) = (record.order, record.hasEndedInGroup)
            activity.messageAfterMembers = record.group?.message(afterMembers: outcome)
            (activity.completed, activity.doneEarlier, activity.unit) = record.amount
            return activity
        }
        return FinishedActivities(latest: latest, omittedCount: omittedCount)
    }

    // MARK: - Identities

    /// Starts an activity, as a member of a group if one is given; without effect if it is in progress already.
    mutating func start(
        _ key: ActivityKey,
        label: String?,
        progress: Double?,
        in parent: ActivityRecord? = nil,
        at now: () -> Duration
    ) -> Effects {
        var entry = Entry()
        if label != nil || progress != nil || parent != nil {
            entry.record = ActivityRecord(label: label, progress: progress)
            entry.record?.begin(order: order(), at: now())
        }
        let isNew =
            switch key {
            case .text(let key): texts.insert(key, entry)
            case .number(let key): numbers.insert(key, entry)
            case .value(let key): values.insert(key, entry)
            case .object(let object): objects.insert(object, entry)
            }
        guard isNew else { return Effects() }
        guard let record = entry.record else { return Effects(countChange: 1) }
        let isMember = join(record, parent)
        return Effects(countChange: isMember ? 0 : 1, changesDetails: record.label != nil || parent != nil)
    }

    /// The record of an activity, made if it has none yet; `nil` if it is not in progress.
    mutating func record(of key: ActivityKey, at now: () -> Duration) -> ActivityRecord? {
        // As one with a handle, it counts as begun with its first detail.
        let order = order()
        func record(_ entry: inout Entry) -> ActivityRecord {
            if let record = entry.record { return record }
            let record = ActivityRecord()
            record.begin(order: order, at: now())
            entry.record = record
            return record
        }
        return switch key {
        case .text(let key): texts.update(key, record)
        case .number(let key): numbers.update(key, record)
        case .value(let key): values.update(key, record)
        case .object(let object): objects.update(object, record)
        }
    }

    /// Stops an activity, or pauses it if there is no outcome; without effect if it is not in progress.
    mutating func stop(_ key: ActivityKey, _ outcome: ActivityOutcome?, at now: () -> Duration) -> Effects {
        var effects = Effects()
        let entry: Entry?
        switch key {
        case .text(let key): entry = texts.remove(key)?.entry
        case .number(let key): entry = numbers.remove(key)?.entry
        case .value(let key):
            let removed = values.remove(key)
            if let removed { effects.released.append(removed.key) }
            entry = removed?.entry
        case .object(let object):
            entry = objects.remove(object)
            if entry == nil { earlyCompletions.forgetBeginning(of: object) }
        }
        if let entry { end(entry, outcome, at: now, &effects) }
        return effects
    }

    private mutating func end(_ entry: Entry, _ outcome: ActivityOutcome?, at now: Now, _ effects: inout Effects) {
        effects.add(entry.record.map { end($0, outcome, at: now) } ?? Effects(countChange: -1))
        effects.hasEnded = true
    }

    /// Starts the task of a notification, unless its completion has overtaken it.
    package mutating func startTask(_ key: ActivityKey, label: String?, at now: () -> Duration) -> Effects {
        if earlyCompletions.consume(key, label: label, at: now) { return Effects() }
        return start(key, label: label, progress: nil, at: now)
    }

    /// Ends the task of a notification; a completion of one that is not in progress is remembered.
    package mutating func completeTask(
        _ key: ActivityKey,
        _ outcome: ActivityOutcome = .unspecified,
        at now: () -> Duration
    ) -> Effects {
        let effects = stop(key, outcome, at: now)
        earlyCompletions.remember(key, isEnd: effects.hasEnded, at: now())
        return effects
    }

    /// Begins an activity without an identity.
    package mutating func increment() -> Effects {
        anonymousCount += 1
        return Effects(countChange: 1)
    }

    /// Ends an activity without an identity; without effect if there is none.
    package mutating func decrement() -> Effects {
        guard anonymousCount > 0 else { return Effects() }
        anonymousCount -= 1
        return Effects(countChange: -1)
    }

    /// Forgets the completions of tasks that are out of date.
    mutating func forgetCompletions(at now: Now) {
        if !earlyCompletions.isEmpty { earlyCompletions.forget(at: now()) }
    }

    /// Ends the activities of the ended objects in one table; with the first, starts those whose beginning was ignored
    /// although they go on.
    mutating func endActivitiesOfEndedObjects(_ table: Int, at now: () -> Duration) -> Effects {
        let (ended, inUse) = objects.removeEnded(table)
        var effects = Effects(released: inUse)
        for item in ended {
            end(item.entry, .unspecified, at: now, &effects)
            effects.released.append(item)
        }
        guard table == 0 else { return effects }
        for beginning in earlyCompletions.takeIgnored() {
            guard let object = beginning.object.retained else { continue }
            // Released without the lock: the reference may be the last one.
            effects.released.append(object)
            let key = ActivityKey.object(ActivityObject(object: object, role: .notified))
            effects.add(start(key, label: beginning.label, progress: nil, at: now))
        }
        return effects
    }
}
