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
        /// How many of the latest are found without being hashed.
        private static var latestLimit: Int { 4 }

        /// The latest: what begins often ends soon.
        private var latest: [(key: Key, entry: Entry)] = []
        private var others: [Key: Entry] = [:]

        var count: Int { latest.count + others.count }

        /// Adds an activity, unless it is in progress already. Returns whether it was added.
        mutating func insert(_ key: Key, _ entry: Entry) -> Bool {
            if latestIndex(of: key) != nil || !others.isEmpty && others.index(forKey: key) != nil { return false }
            if latest.count == Self.latestLimit {
                for (key, entry) in latest { others[key] = entry }
                latest.removeAll(keepingCapacity: true)
            }
            latest.append((key, entry))
            return true
        }

        /// Removes an activity. Returns its entry, and its key, to release without a lock.
        mutating func remove(_ key: Key) -> (key: Key, entry: Entry)? {
            if let index = latestIndex(of: key) { return latest.remove(at: index) }
            guard let index = others.index(forKey: key) else { return nil }
            defer { if others.isEmpty, others.capacity > 1024 { others = [:] } }
            let (key, entry) = others.remove(at: index)
            return (key, entry)
        }

        /// The record of an activity, made if it has none yet; `nil` if the activity is not in progress.
        mutating func record(of key: Key, at now: () -> Duration) -> ActivityRecord? {
            if let index = latestIndex(of: key) { return latest[index].entry.makeRecord(at: now) }
            return others.index(forKey: key).map { others.values[$0].makeRecord(at: now) }
        }

        private func latestIndex(of key: Key) -> Int? { latest.lastIndex { $0.key == key } }
    }
}
