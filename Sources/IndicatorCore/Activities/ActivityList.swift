import DequeModule
import Foundation

/// Knows which activities are in progress that have an identity or say something of themselves: their labels, progress
/// and order, and what was said of those that ended.
///
/// Plain data behind the manager's lock. It does not count: ``ActivityCounter`` does.
package struct ActivityList: Sendable {
    /// How many activities a snapshot lists at most.
    static var longestList: Int { 16 }

    /// The time, read from a clock only if it is needed.
    package typealias Now = () -> Duration

    /// What is kept for an activity with an identity.
    private struct Entry: Sendable {
        let order: UInt64
        var record: ActivityRecord?
    }

    /// The activities of one type of identity. (Hashing a text or a number by itself costs half of hashing an enum.)
    private struct Identities<Key: Hashable & Sendable>: Sendable {
        // With room to spare: removing from a dictionary hashes the keys that follow in a crowded one.
        private var entries: [Key: Entry] = Dictionary(minimumCapacity: 48)
        private var earlyStops = EarlyStops<Key>()

        var count: Int { entries.count }

        /// Adds an activity, unless it is in progress already, or its stop has overtaken it. Returns whether it did.
        mutating func insert(_ key: Key, _ entry: Entry, at now: () -> Duration, released: inout [Any]) -> Bool {
            // One search: an activity that is in progress already, which is rare, gets its entry back.
            if let old = entries.updateValue(entry, forKey: key) {
                entries.updateValue(old, forKey: key)
                return false
            }
            if !earlyStops.isEmpty, earlyStops.consume(key, at: now(), released: &released) {
                entries[key] = nil
                return false
            }
            return true
        }

        /// Removes an activity; a stop of one that is not in progress is remembered. Returns what was kept of it.
        ///
        /// - Parameter released: gets the keys that are to be released without a lock.
        mutating func remove(_ key: Key, at now: () -> Duration, released: inout [Any]) -> Entry? {
            guard let index = entries.index(forKey: key) else {
                released += earlyStops.remember(key, at: now())
                return nil
            }
            let (key, entry) = entries.remove(at: index)
            released.append(key)
            return entry
        }

        /// The same for texts and numbers: releasing them runs no code of the caller's.
        mutating func remove(_ key: Key, at now: () -> Duration) -> Entry? {
            guard let index = entries.index(forKey: key) else {
                _ = earlyStops.remember(key, at: now())
                return nil
            }
            let entry = entries.remove(at: index).value
            // A large table is released with its last entry.
            if entries.isEmpty, entries.capacity > 1024 { entries = [:] }
            return entry
        }

        /// The record of an activity, made if it has none yet; `nil` if the activity is not in progress.
        mutating func record(of key: Key, at now: () -> Duration) -> ActivityRecord? {
            guard let index = entries.index(forKey: key) else { return nil }
            if let record = entries.values[index].record { return record }
            let record = ActivityRecord(entries.values[index].order, at: now())
            entries.values[index].record = record
            return record
        }
    }

    /// What one call is to do beyond the list.
    package struct Change {
        /// How many activities began; less than zero when some ended.
        var countChange = 0
        /// Whether a snapshot would show the change.
        var changesDetails = false
        /// What is to be released without a lock, since that may run the caller's code.
        var released: [Any] = []
    }

    private var texts = Identities<String>()
    private var numbers = Identities<Int>()
    private var values = Identities<ActivityKey.Value>()
    private var objects = ObservedObjects()
    /// The records of the activities that a snapshot lists, but for members of groups, which their groups know.
    private var listed = OrderedList<ActivityRecord>()
    /// How many members of groups are in progress. They are in the count of activities, and a group is one to the user.
    private(set) var memberCount = 0
    private var earlyObjectStops = EarlyStops<ObservedObjects.Key>()
    private var anonymousCount = 0
    private var nextOrder: UInt64 = 0
    /// The list for snapshots, while nothing in it has changed.
    private var cachedActivities: [ActivityDetails]?
    /// When the first of the estimates in the last published list means nothing any more.
    private(set) var estimateEnd: Duration?

    /// The labelled activities that have ended and are not in any published snapshot yet, and how many more there were.
    private var finished: Deque<(record: ActivityRecord, end: Duration)> = []
    private var omittedFinishedCount = 0

    /// What the wall clock says at the origin of the manager's clock. Read when the indicator is shown or hidden.
    private var origin: Date

    /// Makes an empty list.
    ///
    /// - Parameter origin: what the wall clock says at the origin of the manager's clock.
    init(origin: Date) {
        self.origin = origin
    }

    /// Corrects the wall clock if it was set. A smaller difference is the time between reading the two clocks, and
    /// would put events that follow each other closely into the wrong order.
    mutating func setOrigin(_ origin: Date) {
        guard abs(origin.timeIntervalSince(self.origin)) > 0.1 else { return }
        self.origin = origin
        cachedActivities = nil
    }

    /// The wall clock at a time of the manager's clock.
    func date(at time: Duration) -> Date {
        origin.addingTimeInterval(time / .seconds(1))
    }

    /// How many objects are observed.
    var objectCount: Int { objects.count }

    /// How many activities are in progress that the list itself keeps: those that nobody holds.
    var count: Int {
        texts.count + numbers.count + values.count + objects.count + anonymousCount
    }

    /// The activities in progress with a label in the order of their beginning, at most ``longestList``; the members of
    /// a group follow it.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - isMeasured: whether the estimates take a measurement.
    mutating func activities(at now: Now, isMeasured: Bool = false) -> [ActivityDetails] {
        if isMeasured { estimateEnd = nil }
        if let cachedActivities { return cachedActivities }
        var activities: [ActivityDetails] = []
        var time: Duration?
        for record in listed.first(Self.longestList) {
            if !record.isConstant, time == nil { time = now() }
            append(record, to: &activities, depth: 0, at: time ?? .zero, isMeasured: isMeasured)
        }
        // What advances does so without the lock.
        if time == nil { cachedActivities = activities }
        return activities
    }

    /// Lists an activity and its members. Returns what it says now.
    @discardableResult
    private mutating func append(
        _ record: ActivityRecord,
        to activities: inout [ActivityDetails],
        depth: Int,
        at now: Duration,
        isMeasured: Bool
    ) -> ActivityDetails {
        var details = record.currentDetails
        details.id = record.order
        details.depth = depth
        details.since = date(at: record.began)
        let index = activities.count
        let isShown = details.label != nil && index < Self.longestList
        if isShown { activities.append(details) }
        if record.isConstant { return details }
        if record.group != nil {
            var members: [ActivityDetails] = []
            for member in record.group?.members.first(.max) ?? [] {
                let depth = depth + (details.label == nil ? 0 : 1)
                members.append(
                    append(member, to: &activities, depth: depth, at: now, isMeasured: isMeasured)
                )
            }
            record.group?.summarize(members, in: &details)
        }
        details.estimate(&record.rate, isMeasured: isMeasured, at: now)
        if isShown {
            activities[index] = details
            if isMeasured, let end = record.rate.end, end > now { estimateEnd = min(estimateEnd ?? end, end) }
        }
        return details
    }

    /// Whether one of the estimates in the last published list means nothing any more. Says so once.
    mutating func takeEstimateEnd(by now: Duration) -> Bool {
        guard let estimateEnd, estimateEnd <= now else { return false }
        self.estimateEnd = nil
        return true
    }

    /// Whether something has finished since ``takeFinished()``.
    var hasFinished: Bool { !finished.isEmpty }

    /// Removes what has finished, and returns it.
    mutating func takeFinished() -> FinishedActivities {
        defer {
            finished.removeAll(keepingCapacity: true)
            omittedFinishedCount = 0
        }
        if finished.isEmpty { return FinishedActivities() }
        let latest = finished.map { record, end -> FinishedActivity in
            var activity = FinishedActivity(
                label: record.details.label ?? "",
                outcome: record.outcome,
                duration: end - record.began,
                date: date(at: end)
            )
            activity.id = record.order
            activity.isMember = record.endedAsMember
            return activity
        }
        return FinishedActivities(latest: latest, omittedCount: omittedFinishedCount)
    }

    // MARK: - Records

    private mutating func order() -> UInt64 {
        defer { nextOrder += 1 }
        return nextOrder
    }

    /// An activity that somebody holds begins and says something of itself, or does so later for the first time.
    ///
    /// - Parameter parent: the group that it is a member of.
    mutating func makeRecord(
        _ details: consuming ActivityDetails,
        in parent: ActivityRecord?,
        at now: Now
    ) -> ActivityRecord {
        let record = ActivityRecord(order: order(), began: now(), details: details)
        if let parent, !parent.hasEnded {
            record.parent = parent
            parent.group = parent.group ?? ActivityGroup()
            parent.group?.members.set(record.order, to: record)
            memberCount += 1
            cachedActivities = nil
            if parent.parent == nil { listed.set(parent.order, to: parent) }
        } else {
            insert(record)
        }
        return record
    }

    /// Lists a record that is no member of a group.
    private mutating func insert(_ record: ActivityRecord) {
        guard record.isListed else { return }
        listed.set(record.order, to: record)
        cachedActivities = nil
    }

    /// Changes what an activity says of itself. Returns whether a snapshot shows the change. Without effect after its
    /// end.
    mutating func update(
        _ record: ActivityRecord,
        at now: Now,
        _ change: (inout ActivityDetails) -> Void
    ) -> Bool {
        guard !record.hasEnded else { return false }
        let wasListed = record.isListed
        record.update(change, at: now)
        let isListed = record.isListed
        if wasListed != isListed, record.parent == nil { listed.set(record.order, to: isListed ? record : nil) }
        return hasChanged(record, wasListed || isListed)
    }

    /// An activity got on. Returns whether a snapshot shows that.
    mutating func hasAdvanced(_ record: ActivityRecord) -> Bool {
        hasChanged(record, !record.hasEnded && record.isListed)
    }

    private mutating func hasChanged(_ record: ActivityRecord, _ isListed: Bool) -> Bool {
        guard isListed || record.parent != nil else { return false }
        cachedActivities = nil
        return true
    }

    /// Removes the record of an activity that ends. Returns whether a snapshot showed it.
    mutating func end(_ record: ActivityRecord, _ outcome: ActivityOutcome, at now: Now) -> Bool {
        guard !record.hasEnded else { return false }
        record.hasEnded = true
        record.outcome = outcome
        guard record.isListed || record.parent != nil else { return false }
        cachedActivities = nil
        if record.group != nil || record.parent != nil {
            endInGroup(record)
        } else {
            listed.set(record.order, to: nil)
        }
        guard record.details.label != nil else { return true }
        finished.append((record, now()))
        if finished.count > FinishedActivities.capacity {
            finished.removeFirst()
            omittedFinishedCount += 1
        }
        return true
    }

    /// Ends a group, or a member of one. Members that go on when their group ends are activities like others.
    private mutating func endInGroup(_ record: ActivityRecord) {
        var details = record.currentDetails
        if let group = record.group.take() {
            record.outcome = group.outcome(record.outcome, details)
            group.count(in: &details)
            for member in group.members.first(.max) {
                member.parent = nil
                memberCount -= 1
                insert(member)
            }
        }
        if let parent = record.parent.take() {
            record.endedAsMember = true
            parent.group?.finish(record, details)
            memberCount -= 1
        } else {
            listed.set(record.order, to: nil)
        }
    }

    // MARK: - Identities

    /// Starts an activity. Nothing changes if it is in progress already, or if its stop has overtaken it.
    package mutating func start(_ key: ActivityKey, label: String?, progress: Double?, at now: () -> Duration) -> Change
    {
        let order = order()
        let record = label == nil && progress == nil ? nil : ActivityRecord(order, label, progress, at: now())
        let entry = Entry(order: order, record: record)
        var change = Change()
        let isNew =
            switch key {
            case .text(let key): texts.insert(key, entry, at: now, released: &change.released)
            case .number(let key): numbers.insert(key, entry, at: now, released: &change.released)
            case .value(let key): values.insert(key, entry, at: now, released: &change.released)
            }
        guard isNew else { return change }
        change.countChange = 1
        if let record {
            insert(record)
            change.changesDetails = record.details.label != nil
        }
        return change
    }

    /// Changes what an activity says of itself; without effect when it is not in progress.
    mutating func update(
        _ key: ActivityKey,
        at now: () -> Duration,
        _ change: (inout ActivityDetails) -> Void
    ) -> Change {
        let found =
            switch key {
            case .text(let key): texts.record(of: key, at: now)
            case .number(let key): numbers.record(of: key, at: now)
            case .value(let key): values.record(of: key, at: now)
            }
        return found.map { Change(changesDetails: update($0, at: now, change)) } ?? Change()
    }

    /// Stops an activity; a stop of one that is not in progress is remembered.
    package mutating func stop(_ key: ActivityKey, _ outcome: ActivityOutcome, at now: () -> Duration) -> Change {
        var change = Change()
        let entry =
            switch key {
            case .text(let key): texts.remove(key, at: now)
            case .number(let key): numbers.remove(key, at: now)
            case .value(let key): values.remove(key, at: now, released: &change.released)
            }
        guard let entry else { return change }
        change.countChange = -1
        if let record = entry.record { change.changesDetails = end(record, outcome, at: now) }
        return change
    }

    /// Counts one more of the activities that have no identity.
    package mutating func increment() -> Change {
        anonymousCount += 1
        return Change(countChange: 1)
    }

    /// Counts one less; without effect when there is none.
    package mutating func decrement() -> Change {
        guard anonymousCount > 0 else { return Change() }
        anonymousCount -= 1
        return Change(countChange: -1)
    }

    // MARK: - Objects

    /// Starts the activity of an object, as ``start(_:label:progress:at:)`` does for an identity.
    mutating func start(
        _ object: AnyObject,
        as role: ObservedObjects.Role,
        holdsWeakly: Bool,
        label: String?,
        at now: () -> Duration
    ) -> Change {
        let key = ObservedObjects.key(object, role: role)
        var change = Change()
        if holdsWeakly, let predecessor = objects.removePredecessor(of: key) {
            change.countChange = -1
            if let record = predecessor.record { change.changesDetails = end(record, .unspecified, at: now) }
        }
        if role == .notified, !earlyObjectStops.isEmpty,
            earlyObjectStops.consume(key, at: now(), released: &change.released)
        {
            return change
        }
        let order = order()
        guard objects.insert(object, role: role, holdsWeakly: holdsWeakly, order: order) else { return change }
        change.countChange += 1
        if let label {
            let record = ActivityRecord(order, label, at: now())
            insert(record)
            objects[key]?.record = record
            change.changesDetails = true
        }
        return change
    }

    /// Changes what the activity of an object says of itself; without effect when it is not in progress.
    mutating func update(
        _ object: AnyObject,
        as role: ObservedObjects.Role,
        at now: () -> Duration,
        _ change: (inout ActivityDetails) -> Void
    ) -> Change {
        let key = ObservedObjects.key(object, role: role)
        guard let entry = objects[key] else { return Change() }
        let record = entry.record ?? ActivityRecord(entry.order, at: now())
        if entry.record == nil { objects[key]?.record = record }
        return Change(changesDetails: update(record, at: now, change))
    }

    /// Stops the activity of an object. A stop of a task that is not in progress is remembered; a tracked object's is
    /// not.
    mutating func stop(
        _ object: AnyObject,
        as role: ObservedObjects.Role,
        _ outcome: ActivityOutcome,
        at now: () -> Duration
    ) -> Change {
        let key = ObservedObjects.key(object, role: role)
        guard let entry = objects.remove(key) else {
            if role == .notified { _ = earlyObjectStops.remember(key, object: object, at: now()) }
            return Change()
        }
        guard let record = entry.record else { return Change(countChange: -1) }
        return Change(countChange: -1, changesDetails: end(record, outcome, at: now))
    }

    /// Ends the activities of the objects of one shard that have ended.
    mutating func endActivitiesOfEndedObjects(inShard shard: Int, at now: () -> Duration) -> Change {
        let (ended, inUse) = objects.removeEnded(inShard: shard)
        var change = Change(countChange: -ended.count, released: inUse)
        for entry in ended {
            if let record = entry.record, end(record, .unspecified, at: now) { change.changesDetails = true }
            change.released.append(entry)
        }
        return change
    }
}

/// The labelled activities that have ended since a moment, in order: the last ones, and how many more there were.
struct FinishedActivities: Sendable, Hashable {
    /// How many are kept.
    static var capacity: Int { 64 }

    private(set) var latest: [FinishedActivity] = []
    /// How many more have ended, before those.
    private(set) var omittedCount = 0

    init(latest: [FinishedActivity] = [], omittedCount: Int = 0) {
        self.latest = latest
        self.omittedCount = omittedCount
    }

    var isEmpty: Bool { latest.isEmpty }

    /// Adds those that ended later.
    mutating func append(_ later: Self) {
        guard !later.isEmpty else { return }
        latest += later.latest
        let surplus = max(latest.count - Self.capacity, 0)
        latest.removeFirst(surplus)
        omittedCount += later.omittedCount + surplus
    }
}
