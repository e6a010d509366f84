import DequeModule
import Foundation

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

    /// The activities of one type of identity. (Hashing a text or a number by itself costs half of hashing an enum.)
    private struct Identities<Key: Hashable & Sendable>: Sendable {
        // With room to spare: removing from a dictionary hashes the keys that follow in a crowded one.
        private var entries: [Key: Entry] = Dictionary(minimumCapacity: 48)
        private var earlyStops = EarlyStops<Key>()

        var count: Int { entries.count }

        /// Adds an activity, unless it is in progress already, or its stop has overtaken it. Returns whether it did.
        mutating func insert(_ key: Key, _ entry: Entry, at now: () -> Duration) -> Bool {
            // One search: an activity that is in progress already, which is rare, gets its entry back.
            if let old = entries.updateValue(entry, forKey: key) {
                entries.updateValue(old, forKey: key)
                return false
            }
            if !earlyStops.isEmpty, earlyStops.consume(key, at: now()) {
                entries[key] = nil
                return false
            }
            return true
        }

        /// Removes an activity; a stop of one that is not in progress is remembered.
        ///
        /// - Parameter released: gets the keys that are to be released without a lock, if it is not `nil`.
        /// - Returns: what was kept of it.
        mutating func remove(_ key: Key, at now: () -> Duration, released: inout [Any]?) -> Entry? {
            guard let index = entries.index(forKey: key) else {
                let forgotten = earlyStops.remember(key, at: now())
                released?.append(contentsOf: forgotten)
                return nil
            }
            let (key, entry) = entries.remove(at: index)
            released?.append(key)
            return entry
        }

        /// The record of an activity, and whether it is new; `nil` if the activity is not in progress.
        mutating func record(of key: Key, at now: () -> Duration) -> (record: ActivityRecord, isNew: Bool)? {
            guard let index = entries.index(forKey: key) else { return nil }
            if let record = entries.values[index].record { return (record, false) }
            let record = ActivityRecord(entries.values[index].order, at: now())
            entries.values[index].record = record
            return (record, true)
        }
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

    private var texts = Identities<String>()
    private var numbers = Identities<Int>()
    private var values = Identities<ActivityKey.Value>()
    private var objects = ObservedObjects()
    private var records = OrderedSlots<ActivityRecord>()
    private var earlyObjectStops = EarlyStops<ObservedObjects.Key>()
    private var anonymousCount = 0
    private var nextOrder: UInt64 = 0
    /// The list for snapshots, while nothing in it has changed.
    private var cachedActivities: [ActivityDetails]?

    /// The labelled activities that have ended and are not in any published snapshot yet, and how many more there were.
    private var finished: Deque<FinishedActivity> = []
    private var omittedFinishedCount = 0

    /// What the wall clock says at the origin of the manager's clock. Read when the indicator is shown or hidden.
    private var origin: Date

    /// Makes an empty list.
    ///
    /// - Parameter origin: what the wall clock says at the origin of the manager's clock.
    init(origin: Date) {
        self.origin = origin
    }

    /// Corrects the wall clock.
    mutating func setOrigin(_ origin: Date) {
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

    /// The activities in progress with a label in the order of their beginning, at most ``longestList``.
    mutating func activities() -> [ActivityDetails] {
        if let cachedActivities { return cachedActivities }
        let activities = records.firstRanked(Self.longestList).map { record in
            var details = record.details
            details.since = date(at: record.began)
            return details
        }
        cachedActivities = activities
        return activities
    }

    /// Removes what has finished, and returns it.
    mutating func takeFinished() -> FinishedActivities {
        defer {
            finished.removeAll(keepingCapacity: true)
            omittedFinishedCount = 0
        }
        return finished.isEmpty
            ? FinishedActivities() : FinishedActivities(latest: Array(finished), omittedCount: omittedFinishedCount)
    }

    // MARK: - Records

    private mutating func order() -> UInt64 {
        defer { nextOrder += 1 }
        return nextOrder
    }

    /// Makes the record of an activity that says something for the first time.
    mutating func makeRecord(_ details: ActivityDetails, at now: Duration) -> ActivityRecord {
        let record = ActivityRecord(order: order(), began: now, details: details)
        insert(record)
        return record
    }

    /// Begins to keep what an activity says of itself.
    private mutating func insert(_ record: ActivityRecord) {
        let isListed = record.details.label != nil
        record.slot = records.insert(record, order: record.order, isRanked: isListed)
        if isListed { cachedActivities = nil }
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
        let now = now()
        finished.append(
            FinishedActivity(
                label: label,
                outcome: outcome ?? record.outcome,
                duration: now - record.began,
                date: date(at: now)
            )
        )
        if finished.count > FinishedActivities.capacity {
            finished.removeFirst()
            omittedFinishedCount += 1
        }
        return true
    }

    // MARK: - Identities

    /// Starts an activity. Nothing changes if it is in progress already, or if its stop has overtaken it.
    mutating func start(_ key: String, label: String?, progress: Double?, at now: () -> Duration) -> Change {
        let entry = entry(label, progress, at: now)
        return texts.insert(key, entry, at: now) ? began(entry) : Change()
    }

    /// Starts an activity. Nothing changes if it is in progress already, or if its stop has overtaken it.
    mutating func start(_ key: Int, label: String?, progress: Double?, at now: () -> Duration) -> Change {
        let entry = entry(label, progress, at: now)
        return numbers.insert(key, entry, at: now) ? began(entry) : Change()
    }

    /// Starts an activity. Nothing changes if it is in progress already, or if its stop has overtaken it.
    mutating func start(_ key: ActivityKey.Value, label: String?, progress: Double?, at now: () -> Duration) -> Change {
        let entry = entry(label, progress, at: now)
        return values.insert(key, entry, at: now) ? began(entry) : Change()
    }

    private mutating func entry(_ label: String?, _ progress: Double?, at now: () -> Duration) -> Entry {
        let order = order()
        guard label != nil || progress != nil else { return Entry(order: order) }
        return Entry(order: order, record: ActivityRecord(order, label, progress, at: now()))
    }

    private mutating func began(_ entry: Entry) -> Change {
        guard let record = entry.record else { return Change(changesCount: true) }
        insert(record)
        return Change(changesCount: true, changesDetails: record.details.label != nil)
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
        guard let (record, isNew) = found else { return Change() }
        if isNew { insert(record) }
        return Change(changesDetails: update(record, change))
    }

    /// Stops an activity; a stop of one that is not in progress is remembered.
    mutating func stop(_ key: String, _ outcome: ActivityOutcome, at now: () -> Duration) -> Change {
        // Releasing texts and numbers runs no code of the caller's.
        var released: [Any]?
        return ended(texts.remove(key, at: now, released: &released), outcome, at: now)
    }

    /// Stops an activity; a stop of one that is not in progress is remembered.
    mutating func stop(_ key: Int, _ outcome: ActivityOutcome, at now: () -> Duration) -> Change {
        // Releasing texts and numbers runs no code of the caller's.
        var released: [Any]?
        return ended(numbers.remove(key, at: now, released: &released), outcome, at: now)
    }

    /// Stops an activity; a stop of one that is not in progress is remembered.
    mutating func stop(_ key: ActivityKey.Value, _ outcome: ActivityOutcome, at now: () -> Duration) -> Change {
        var released: [Any]? = []
        var change = ended(values.remove(key, at: now, released: &released), outcome, at: now)
        change.released = released ?? []
        return change
    }

    private mutating func ended(_ entry: Entry?, _ outcome: ActivityOutcome, at now: () -> Duration) -> Change {
        guard let entry else { return Change() }
        guard let record = entry.record else { return Change(changesCount: true) }
        return Change(changesCount: true, changesDetails: end(record, outcome, at: now))
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
            let record = ActivityRecord(order, label, at: now())
            insert(record)
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
        let record = entry.record ?? ActivityRecord(entry.order, at: now())
        if entry.record == nil {
            insert(record)
            objects[key]?.record = record
        }
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
        guard let record = entry.record else { return Change(changesCount: true) }
        return Change(changesCount: true, changesDetails: end(record, outcome, at: now))
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
