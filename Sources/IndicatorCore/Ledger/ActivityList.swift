import Foundation
import IndicatorThreads

/// The activities in progress that have an identity or details: their labels, progress and order; and the labelled ones
/// that have ended.
///
/// Plain data behind the manager's lock. It does not count: ``ActivityCounter`` does.
package struct ActivityList: Sendable {
    /// How many activities a snapshot lists at most.
    static var longestList: Int { 16 }
    /// In how many groups an activity can be nested; one in more is a member of the last of these.
    static var greatestDepth: Int { 32 }

    /// The time, read from a clock only if it is needed.
    package typealias Now = () -> Duration

    /// The consequences of a change of the list.
    package struct Change {
        /// How many activities began that are not members of a group in progress; negative if some ended.
        var countChange = 0
        /// Whether an activity with an identity has ended.
        var hasEnded = false
        /// Whether a snapshot would show the change.
        var changesDetails = false
        /// Values to release without a lock, because that may run the caller's code.
        var released: [Any] = []
    }

    /// The activities of each type of identity. (Hashing a text or a number by itself costs half of hashing an enum.)
    private var texts = Identities<String>()
    private var numbers = Identities<Int>()
    private var values = Identities<ActivityKey.Value>()
    private var objects = ObservedObjects()
    private var earlyCompletions = EarlyCompletions()
    /// The records of the activities that a snapshot lists, except members of groups, which are in their groups.
    private var listed = OrderedList<ActivityRecord>()
    private var anonymousCount = 0
    private var lastOrder: UInt64 = 0
    /// The list for snapshots; `nil` after a change.
    private var cachedActivities: [ActivityDetails]?
    /// When the first of the estimates in the last published list expires.
    private(set) var estimateEnd: Duration?

    /// The labelled activities that have ended and are not in any published snapshot yet.
    private(set) var finished = FinishedActivities()

    private var wallClock: WallClock
    private let uptimeOrigin: Int64?

    /// Makes an empty list.
    ///
    /// - Parameter uptimeOrigin: the origin of its times, as of `ServiceThread.now`, if they are of that clock.
    init(wallClock: WallClock, uptimeOrigin: Int64? = nil) {
        self.wallClock = wallClock
        self.uptimeOrigin = uptimeOrigin
    }

    /// Converts a time of the manager's clock to one of `ServiceThread.now`, if that is the same clock.
    func uptime(at time: Duration) -> Int64? { uptimeOrigin.map { $0 + time.wholeNanoseconds } }

    /// Follows the wall clock if it was set. Returns by how many seconds.
    mutating func followWallClock(_ now: Now) -> TimeInterval {
        let shift = wallClock.follow(now)
        if shift != 0 {
            cachedActivities = nil
            for index in finished.latest.indices { finished.latest[index].date += shift }
        }
        return shift
    }

    /// Converts a time of the manager's clock to the wall clock.
    func date(at time: Duration) -> Date { wallClock.origin + time.inSeconds }

    /// How many objects are observed.
    var objectCount: Int { objects.count }
    /// Whether objects must be checked: those observed, and those whose beginning was ignored.
    var needsLifetimeChecks: Bool { objects.count > 0 || earlyCompletions.hasIgnored }

    /// The activities in progress with a label in the order in which they began, at most ``longestList``; the members
    /// of a group follow it.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - isMeasured: whether the estimates take a measurement.
    @inline(__always)
    mutating func activities(at now: Now, isMeasured: Bool = false) -> [ActivityDetails] {
        if isMeasured { estimateEnd = nil }
        return cachedActivities ?? uncachedActivities(at: now, isMeasured: isMeasured)
    }

    private mutating func uncachedActivities(at now: Now, isMeasured: Bool) -> [ActivityDetails] {
        var activities: [ActivityDetails] = []
        var time: Duration?
        for record in roots {
            if !record.isConstant, time == nil { time = now() }
            _ = append(record, to: &activities, depth: 0, at: time ?? .zero, isMeasured: isMeasured)
        }
        // Not cached if there are steps: they advance without the lock.
        if time == nil { cachedActivities = activities }
        return activities
    }

    /// The first activities at the top of the list, in the order in which they began. The members of a group without a
    /// label, or of one that has ended, take its place.
    private var roots: [ActivityRecord] { Self.roots(of: listed, before: .max) }

    private static func roots(of list: OrderedList<ActivityRecord>, before bound: UInt64) -> [ActivityRecord] {
        var (roots, bound): ([ActivityRecord], UInt64) = ([], bound)
        for record in list.values {
            // Further members may have begun after what follows their group.
            if record.listedAt > bound { break }
            if record.label != nil, !record.hasEnded {
                roots.append(record)
            } else if let group = record.group {
                roots += Self.roots(of: group.listed, before: bound)
            }
            guard roots.count >= longestList else { continue }
            roots.sort { $0.order < $1.order }
            roots.removeLast(roots.count - longestList)
            bound = roots[roots.count - 1].order
        }
        return roots.sorted { $0.order < $1.order }
    }

    /// The details that an activity has itself, without its members.
    func details(of record: ActivityRecord) -> ActivityDetails {
        var details = record.currentDetails
        details.since = date(at: record.began)
        return details
    }

    /// Lists an activity and its members. Returns the longest time left of those.
    private mutating func append(
        _ record: ActivityRecord,
        to activities: inout [ActivityDetails],
        depth: Int,
        at now: Duration,
        isMeasured: Bool
    ) -> Duration? {
        guard activities.count < Self.longestList else { return nil }
        let index = activities.count
        let isShown = record.label != nil
        if isShown {
            var (details, doneEarlier) = record.summary
            (details.since, details.depth) = (date(at: record.began), depth)
            details.sinceUptime = uptime(at: record.began)
            if !record.isConstant {
                var rate = record.rate ?? RateEstimate(at: record.began)
                if record.group == nil { doneEarlier = 0 }
                details.estimate(&rate, doneEarlier: doneEarlier, isMeasured: isMeasured, at: now)
                // Reading has no effect.
                if isMeasured { record.rate = rate }
                if isMeasured, let end = rate.end, end > now { estimateEnd = min(estimateEnd ?? end, end) }
            }
            activities.append(details)
        }
        var longest: Duration?
        let members = record.group?.listed.values.prefix(Self.longestList).map(\.self) ?? []
        for member in members {
            let remaining = append(
                member,
                to: &activities,
                depth: isShown ? depth + 1 : depth,
                at: now,
                isMeasured: isMeasured
            )
            if let remaining { longest = max(longest ?? .zero, remaining) }
        }
        guard isShown else { return longest }
        // A group does not end before its members.
        guard let remaining = activities[index].remaining else { return longest }
        activities[index].remaining = max(remaining, longest ?? .zero)
        return activities[index].remaining
    }

    /// Whether one of the estimates in the last published list has expired. Returns `true` once.
    mutating func takeEstimateEnd(by now: Duration) -> Bool {
        guard let estimateEnd, estimateEnd <= now else { return false }
        self.estimateEnd = nil
        return true
    }

    /// Removes the finished activities, and returns them.
    mutating func takeFinished() -> FinishedActivities {
        finished.limit()
        return finished.takeAll()
    }

    // MARK: - Records

    private mutating func order() -> UInt64 {
        lastOrder += 1
        return lastOrder
    }

    /// Lists the record of an activity with a handle, when it begins with details or first gets some.
    ///
    /// - Parameters:
    ///   - parent: the group that it is a member of.
    ///   - now: the time.
    ///   - lasted: how long its work has lasted already.
    /// - Returns: whether it became a member, which is not counted.
    @discardableResult
    mutating func insert(
        _ record: ActivityRecord,
        in parent: ActivityRecord?,
        at now: Now,
        lasted: Duration = .zero
    ) -> Bool {
        record.begin(order: order(), at: now() - lasted)
        return join(record, parent)
    }

    /// Makes an activity that begins a member of a group, if one is given and still in progress, and lists it. Returns
    /// whether it became a member.
    private mutating func join(_ record: ActivityRecord, _ parent: ActivityRecord?) -> Bool {
        let isTooDeep = parent.map { $0.depth >= Self.greatestDepth } ?? false
        let parent = isTooDeep ? parent?.parent : parent
        let isMember = parent.map { !$0.hasEnded } ?? false
        if isMember, let parent {
            let group = parent.group ?? ActivityGroup()
            parent.group = group
            group.memberCount += 1
            record.membership = ActivityGroup.Membership(in: parent)
            cachedActivities = nil
            record.updateShare()
        }
        if record.place != 0 { list(record) }
        return isMember
    }

    /// Adds an activity to the list of its group, or removes it, if that has changed; then its group to that of its
    /// own, and so on.
    private mutating func list(_ record: ActivityRecord) {
        cachedActivities = nil
        let place = record.place
        guard place != record.listedAt else { return }
        // Recursive, at most ``greatestDepth`` times: a loop would retain and release the record.
        guard let parent = record.parent, let group = parent.group else {
            return Self.move(record, in: &listed, to: place)
        }
        Self.move(record, in: &group.listed, to: place)
        list(parent)
    }

    private static func move(_ record: ActivityRecord, in list: inout OrderedList<ActivityRecord>, to place: UInt64) {
        if record.isListed { list.set(record.listedAt, to: nil) }
        if place != 0 { list.set(place, to: record) }
        record.listedAt = place
    }

    /// Merges a changed copy of the details of an activity. Returns whether a snapshot shows the change. Without effect
    /// after its end.
    mutating func merge(_ new: ActivityDetails, since old: ActivityDetails, into record: ActivityRecord) -> Bool {
        guard !record.hasEnded else { return false }
        let wasListed = record.isListed
        record.merge(new, since: old)
        if record.place != record.listedAt { list(record) }
        record.updateShare()
        return hasChanged(record, wasListed || record.isListed)
    }

    /// An activity has advanced. Returns whether a snapshot shows that.
    mutating func hasAdvanced(_ record: ActivityRecord) -> Bool {
        record.updateShare()
        return hasChanged(record, !record.hasEnded && record.isListed)
    }

    private mutating func hasChanged(_ record: ActivityRecord, _ isListed: Bool) -> Bool {
        guard isListed || record.parent != nil else { return false }
        cachedActivities = nil
        return true
    }

    /// Removes the record of an activity that ends. Its members become independent, and are counted from then on; if it
    /// is a member itself, it was not counted.
    ///
    /// - Parameter outcome: how it ended; `nil` if it only pauses, which is no end to report.
    mutating func end(_ record: ActivityRecord, _ outcome: ActivityOutcome?, at now: Now) -> Change {
        guard !record.hasEnded else { return Change() }
        let isMember = record.parent.map { !$0.hasEnded } ?? false
        let countChange = (record.group?.memberCount ?? 0) - (isMember ? 0 : 1)
        return Change(countChange: countChange, changesDetails: finish(record, outcome, at: now))
    }

    /// Returns whether a snapshot showed it.
    private mutating func finish(_ record: ActivityRecord, _ outcome: ActivityOutcome?, at now: Now) -> Bool {
        let wasListed = record.isListed
        let end = now()
        record.hasEnded = true
        guard wasListed || record.parent != nil || record.group != nil else { return false }
        var finalOutcome = outcome ?? .unspecified
        if case .failed(let text) = outcome { finalOutcome = .failed(ActivityDetails.limited(text) ?? "") }
        let wasMember = endInGroup(record, &finalOutcome)
        guard let label = record.label, outcome != nil else { return true }
        finished.latest.append(
            FinishedActivity(
                label: label,
                outcome: finalOutcome,
                duration: end - record.began,
                date: date(at: end),
                id: record.order,
                isMember: wasMember,
                messageAfterMembers: record.group?.message(afterMembers: finalOutcome),
                amount: record.amount
            )
        )
        // Not one by one, which would move all others each time.
        if finished.latest.count == 2 * FinishedActivities.capacity { finished.limit() }
        return true
    }

    /// Removes an activity from the list. Members that are still in progress when their group ends become independent:
    /// they are listed in the place of the group, which stays in the list without being shown.
    ///
    /// - Parameter outcome: its outcome, which that of its members may change.
    /// - Returns: whether it was a member of a group in progress.
    private mutating func endInGroup(_ record: ActivityRecord, _ outcome: inout ActivityOutcome) -> Bool {
        defer { list(record) }
        if record.group == nil, record.parent == nil { return false }
        let share = record.currentShare
        if let group = record.group {
            outcome = group.outcome(outcome, failsWithMembers: record.failsWithMembers)
        }
        guard let membership = record.membership else { return false }
        let parent = membership.group
        if let group = parent.group { Self.move(record, in: &group.listed, to: 0) }
        list(parent)
        record.membership = nil
        if parent.hasEnded { return false }
        parent.group?.finish(record, outcome, membership.share, share)
        parent.updateShare()
        return true
    }

    // MARK: - Identities

    /// Starts an activity; without effect if it is in progress already.
    ///
    /// - Parameters:
    ///   - parent: the group that it is a member of.
    ///   - now: the time.
    mutating func start(
        _ key: ActivityKey,
        label: String?,
        progress: Double?,
        in parent: ActivityRecord? = nil,
        at now: () -> Duration
    ) -> Change {
        let order = order()
        var record: ActivityRecord?
        if label != nil || progress != nil || parent != nil {
            record = ActivityRecord(label: label, progress: progress)
            record?.begin(order: order, at: now())
        }
        let entry = Entry(order: order, record: record)
        var change = Change()
        let isNew =
            switch key {
            case .text(let key): texts.insert(key, entry)
            case .number(let key): numbers.insert(key, entry)
            case .value(let key): values.insert(key, entry)
            case .object(let object): insert(object, entry, at: now, &change)
            }
        guard isNew else { return change }
        change.countChange += 1
        if let record {
            if join(record, parent) { change.countChange -= 1 }
            if record.label != nil || parent != nil { change.changesDetails = true }
        }
        return change
    }

    /// Adds an object, and ends the activity of a deallocated one that had the same address.
    private mutating func insert(
        _ object: ActivityObject,
        _ entry: Entry,
        at now: () -> Duration,
        _ change: inout Change
    ) -> Bool {
        let (isNew, predecessor) = objects.insert(object, entry)
        if let predecessor { end(predecessor, .unspecified, at: now, &change) }
        return isNew
    }

    /// The record of an activity, made if it has none yet; `nil` if it is not in progress.
    mutating func record(of key: ActivityKey, at now: () -> Duration) -> ActivityRecord? {
        switch key {
        case .text(let key): texts.record(of: key, at: now)
        case .number(let key): numbers.record(of: key, at: now)
        case .value(let key): values.record(of: key, at: now)
        case .object(let object): objects.record(of: object, at: now)
        }
    }

    /// Stops an activity, or pauses it if there is no outcome; without effect if it is not in progress.
    mutating func stop(_ key: ActivityKey, _ outcome: ActivityOutcome?, at now: () -> Duration) -> Change {
        var change = Change()
        let entry: Entry?
        switch key {
        case .text(let key): entry = texts.remove(key)?.value
        case .number(let key): entry = numbers.remove(key)?.value
        case .value(let key):
            let removed = values.remove(key)
            if let removed { change.released.append(removed.key) }
            entry = removed?.value
        case .object(let object):
            entry = objects.remove(object)
            if entry == nil { earlyCompletions.forgetBeginning(of: object) }
        }
        if let entry { end(entry, outcome, at: now, &change) }
        return change
    }

    private mutating func end(_ entry: Entry, _ outcome: ActivityOutcome?, at now: Now, _ change: inout Change) {
        let own = if let record = entry.record { end(record, outcome, at: now) } else { Change(countChange: -1) }
        change.countChange += own.countChange
        change.changesDetails = change.changesDetails || own.changesDetails
        change.hasEnded = true
    }

    /// Starts the task of a notification, unless its completion has overtaken it.
    package mutating func startTask(_ key: ActivityKey, label: String?, at now: () -> Duration) -> Change {
        if earlyCompletions.consume(key, label: label, at: now) { return Change() }
        return start(key, label: label, progress: nil, at: now)
    }

    /// Ends the task of a notification; a completion of one that is not in progress is remembered.
    package mutating func completeTask(
        _ key: ActivityKey,
        _ outcome: ActivityOutcome = .unspecified,
        at now: () -> Duration
    ) -> Change {
        let change = stop(key, outcome, at: now)
        earlyCompletions.remember(key, isEnd: change.hasEnded, at: now())
        return change
    }

    /// Begins an activity without an identity.
    package mutating func increment() -> Change {
        anonymousCount += 1
        return Change(countChange: 1)
    }

    /// Ends an activity without an identity; without effect if there is none.
    package mutating func decrement() -> Change {
        guard anonymousCount > 0 else { return Change() }
        anonymousCount -= 1
        return Change(countChange: -1)
    }

    /// Whether no object is added, and all end at the next check.
    var isClosed: Bool {
        get { objects.isClosed }
        set { objects.isClosed = newValue }
    }

    /// In how many parts to check the objects.
    var objectPartCount: Int { objects.partCount }

    /// Forgets the completions of tasks that are out of date.
    mutating func forgetCompletions(at now: Now) {
        if !earlyCompletions.isEmpty { earlyCompletions.forget(at: now()) }
    }

    /// Ends the activities of the ended objects in one part; with the first part, starts those whose beginning was
    /// ignored although they go on.
    mutating func endActivitiesOfEndedObjects(part: Int, of parts: Int, at now: () -> Duration) -> Change {
        let (ended, inUse) = objects.removeEnded(part: part, of: parts)
        var change = Change(released: inUse)
        for item in ended {
            end(item.entry, .unspecified, at: now, &change)
            change.released.append(item)
        }
        guard part == 0 else { return change }
        for beginning in earlyCompletions.takeIgnored() {
            guard let object = beginning.object else { continue }
            // Released without the lock: the reference may be the last one.
            change.released.append(object)
            let key = ActivityKey.object(ActivityObject(object: object, role: .notified))
            let beginning = start(key, label: beginning.label, progress: nil, at: now)
            change.countChange += beginning.countChange
            change.changesDetails = change.changesDetails || beginning.changesDetails
        }
        return change
    }
}
