extension ActivityList {
    /// The entry of an activity with an identity.
    struct Entry: Sendable {
        let order: UInt64
        var record: ActivityRecord?

        /// The activity's record, made if it has none yet.
        mutating func makeRecord(at now: () -> Duration) -> ActivityRecord {
            if let record { return record }
            let record = ActivityRecord()
            record.begin(order: order, at: now())
            self.record = record
            return record
        }
    }

    /// The activities of one type of identity.
    struct Identities<Key: Hashable & Sendable>: Sendable {
        /// With spare capacity: removing from a crowded dictionary hashes the keys that follow.
        private static var capacity: Int { 48 }

        private var entries: [Key: Entry] = Dictionary(minimumCapacity: capacity)

        var count: Int { entries.count }

        /// Adds an activity, unless it is in progress already. Returns whether it was added.
        mutating func insert(_ key: Key, _ entry: Entry) -> Bool {
            // One lookup: in the rare case that the activity is in progress already, its entry is restored.
            guard let old = entries.updateValue(entry, forKey: key) else { return true }
            entries.updateValue(old, forKey: key)
            return false
        }

        /// Removes an activity. Returns its entry, and its key, to release without a lock.
        mutating func remove(_ key: Key) -> (key: Key, value: Entry)? {
            guard let index = entries.index(forKey: key) else { return nil }
            defer { if entries.isEmpty, entries.capacity > 1024 { self = Self() } }
            return entries.remove(at: index)
        }

        /// The record of an activity, made if it has none yet; `nil` if the activity is not in progress.
        mutating func record(of key: Key, at now: () -> Duration) -> ActivityRecord? {
            entries.index(forKey: key).map { entries.values[$0].makeRecord(at: now) }
        }
    }
}
