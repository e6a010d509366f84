import DequeModule

/// Knows which activities are in progress that have an identity or say something of themselves: their labels, progress
/// and order, and what was said of those that ended.
///
/// Plain data behind the manager's lock. It does not count: ``ActivityCounter`` does.
struct ActivityList: Sendable {
    /// How many activities a snapshot lists at most.
    static var longestList: Int { 16 }

    /// What is kept for an activity with an identity.
    private struct Entry: Sendable {
        let order: UInt64
        var record: ActivityRecord?
    }

    /// What one call is to do beyond the list.
    struct Change {
        /// Whether an activity began or ended.
        var changesCount = false
        /// Whether a snapshot would show the change.
        var changesDetails = false
        /// What is to be released without a lock, since that may run the caller's code.
        var released: [Any] = []
    }

    private var identified: [ActivityKey: Entry] = [:]
    private var objects = ObservedObjects()
    private var records = OrderedSlots<ActivityRecord>()
    private var earlyStops = EarlyStops<ActivityKey>()
    private var earlyObjectStops = EarlyStops<ObservedObjects.Key>()
    private var anonymousCount = 0
    private var nextOrder: UInt64 = 0
    /// The list for snapshots, while nothing in it has changed.
    private var cachedActivities: [ActivityDetails]?

    /// The labelled activities that have ended and are not in any published snapshot yet.
    var finished = FinishedActivities()

    /// How many objects are observed.
    var objectCount: Int { objects.count }

    /// The activities in progress with a label in the order of their beginning, at most ``longestList``.
    mutating func activities() -> [ActivityDetails] {
        if let cachedActivities { return cachedActivities }
        let activities = records.firstRanked(Self.longestList).map(\.details)
        cachedActivities = activities
        return activities
    }

    // MARK: - Records

    private mutating func order() -> UInt64 {
        defer { nextOrder += 1 }
        return nextOrder
    }

    /// Makes the record of an activity that says something for the first time.
    mutating func makeRecord(_ details: ActivityDetails, order: UInt64? = nil, at now: Duration) -> ActivityRecord {
        let record = ActivityRecord(order: order ?? self.order(), began: now, details: details)
        record.slot = records.insert(record, order: record.order, isRanked: details.label != nil)
        if details.label != nil { cachedActivities = nil }
        return record
    }

    /// Removes the record of an activity. Returns whether a snapshot showed it.
    mutating func remove(_ record: ActivityRecord) -> Bool {
        guard let slot = record.slot else { return false }
        records.remove(slot)
        record.slot = nil
        if record.details.label != nil { cachedActivities = nil }
        return record.details.label != nil
    }

    /// Changes what an activity says of itself. Returns whether a snapshot shows the change. Without effect after its end.
    mutating func update(_ record: ActivityRecord, _ change: (inout ActivityDetails) -> Void) -> Bool {
        guard let slot = record.slot else { return false }
        let wasListed = record.details.label != nil
        change(&record.details)
        let isListed = record.details.label != nil
        records.setRanked(isListed, slot: slot)
        if wasListed || isListed { cachedActivities = nil }
        return wasListed || isListed
    }

    /// Removes the record of an activity that ends. Returns whether a snapshot showed it.
    mutating func end(_ record: ActivityRecord, _ outcome: ActivityOutcome? = nil, at now: () -> Duration) -> Bool {
        guard remove(record), let label = record.details.label else { return false }
        let duration = now() - record.began
        finished.append(FinishedActivity(label: label, outcome: outcome ?? record.outcome, duration: duration))
        return true
    }

    // MARK: - Identities

    /// Starts an activity. Nothing changes if it is in progress already, or if its stop has overtaken it.
    mutating func start(
        _ key: ActivityKey,
        label: String?,
        progress: Double?,
        at now: () -> Duration
    ) -> Change {
        guard identified[key] == nil else { return Change() }
        if !earlyStops.isEmpty, earlyStops.consume(key, at: now()) { return Change() }
        var entry = Entry(order: order())
        if label != nil || progress != nil {
            let details = ActivityDetails(label: label, progress: progress)
            entry.record = makeRecord(details, order: entry.order, at: now())
        }
        identified[key] = entry
        return Change(changesCount: true, changesDetails: label != nil)
    }

    /// Changes what an activity says of itself; without effect when it is not in progress.
    mutating func update(
        _ key: ActivityKey,
        at now: () -> Duration,
        _ change: (inout ActivityDetails) -> Void
    ) -> Change {
        guard let index = identified.index(forKey: key) else { return Change() }
        let entry = identified.values[index]
        let record = entry.record ?? makeRecord(ActivityDetails(), order: entry.order, at: now())
        if entry.record == nil { identified.values[index].record = record }
        return Change(changesDetails: update(record, change))
    }

    /// Stops an activity; a stop of one that is not in progress is remembered.
    mutating func stop(_ key: ActivityKey, _ outcome: ActivityOutcome, at now: () -> Duration) -> Change {
        guard let index = identified.index(forKey: key) else {
            let forgotten = earlyStops.remember(key, at: now())
            return Change(released: forgotten.filter(\.isForeign))
        }
        let (key, entry) = identified.remove(at: index)
        let wasListed = entry.record.map { end($0, outcome, at: now) } ?? false
        return Change(changesCount: true, changesDetails: wasListed, released: key.isForeign ? [key] : [])
    }

    /// Counts one more of the activities that have no identity.
    mutating func increment() -> Change {
        anonymousCount += 1
        return Change(changesCount: true)
    }

    /// Counts one less; without effect when there is none.
    mutating func decrement() -> Change {
        guard anonymousCount > 0 else { return Change() }
        anonymousCount -= 1
        return Change(changesCount: true)
    }

    // MARK: - Objects

    /// Starts the activity of an object, as ``start(_:label:progress:at:)`` does for an identity.
    mutating func start(
        _ object: AnyObject,
        as role: ObservedObjects.Role,
        label: String?,
        at now: () -> Duration
    ) -> (change: Change, endsPredecessor: Bool) {
        let key = ObservedObjects.key(object, role: role)
        var change = Change()
        var endsPredecessor = false
        if role == .tracked, let predecessor = objects.removePredecessor(of: key) {
            endsPredecessor = true
            if let record = predecessor.record { change.changesDetails = end(record, at: now) }
        }
        if role == .notified, !earlyObjectStops.isEmpty, earlyObjectStops.consume(key, at: now()) {
            return (change, endsPredecessor)
        }
        let order = order()
        guard objects.insert(object, role: role, order: order) else { return (change, endsPredecessor) }
        change.changesCount = true
        if let label {
            let record = makeRecord(ActivityDetails(label: label), order: order, at: now())
            objects[key]?.record = record
            change.changesDetails = true
        }
        return (change, endsPredecessor)
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
        let record = entry.record ?? makeRecord(ActivityDetails(), order: entry.order, at: now())
        if entry.record == nil { objects[key]?.record = record }
        return Change(changesDetails: update(record, change))
    }

    /// Stops the activity of an object. A stop of a task that is not in progress is remembered; a tracked object's is not.
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
        return Change(changesCount: true, changesDetails: entry.record.map { end($0, outcome, at: now) } ?? false)
    }

    /// Ends the activities of the objects of one shard that have ended. Returns how many those are.
    mutating func endActivitiesOfEndedObjects(
        inShard shard: Int,
        at now: () -> Duration
    ) -> (change: Change, endedCount: Int) {
        let (ended, inUse) = objects.removeEnded(inShard: shard)
        var change = Change(changesCount: !ended.isEmpty, released: inUse)
        for entry in ended {
            if let record = entry.record, end(record, at: now) { change.changesDetails = true }
            change.released.append(entry)
        }
        return (change, ended.count)
    }
}

/// The labelled activities that have ended since a moment, in order: the last ones, and how many more there were.
struct FinishedActivities: Sendable, Hashable {
    /// How many are kept.
    static var capacity: Int { 64 }

    private(set) var latest: Deque<FinishedActivity> = []
    /// How many more have ended, before those.
    private(set) var omittedCount = 0

    var isEmpty: Bool { latest.isEmpty }

    mutating func append(_ activity: FinishedActivity) {
        latest.append(activity)
        guard latest.count > Self.capacity else { return }
        latest.removeFirst()
        omittedCount += 1
    }

    /// Adds those that ended later.
    mutating func append(_ later: Self) {
        guard !later.isEmpty else { return }
        for activity in later.latest { append(activity) }
        omittedCount += later.omittedCount
    }
}
