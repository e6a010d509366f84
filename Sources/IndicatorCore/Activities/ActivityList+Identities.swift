extension ActivityList {
    /// The activities of one type of identity. (Hashing a text or a number by itself costs half of hashing an enum.)
    struct Identities<Key: Hashable & Sendable>: Sendable {
        /// How many entries there are in ``entries`` at most.
        static var capacity: Int { 1024 }

        // With spare capacity: removing from a crowded dictionary hashes the keys that follow.
        private var entries: [Key: Entry] = Dictionary(minimumCapacity: 48)
        /// Entries that have no place in ``entries``: 256 tables, because a large one would grow in one long step.
        private var shards: [[Key: Entry]] = []
        private var shardedCount = 0

        var count: Int { entries.count + shardedCount }

        /// The sizes of the tables.
        var tableCounts: [Int] { [entries.count] + shards.map(\.count) }

        private func shard(of key: Key) -> Int { key.hashValue & 255 }

        /// Adds an activity, unless it is in progress already. Returns whether it was added.
        mutating func insert(_ key: Key, _ entry: Entry) -> Bool {
            if shardedCount == 0, entries.count < Self.capacity {
                // One lookup: in the rare case that the activity is in progress already, its entry is restored.
                guard let old = entries.updateValue(entry, forKey: key) else { return true }
                entries.updateValue(old, forKey: key)
                return false
            }
            if shards.isEmpty { shards = Array(repeating: [:], count: 256) }
            let shard = shard(of: key)
            guard entries[key] == nil, shards[shard][key] == nil else { return false }
            shards[shard][key] = entry
            shardedCount += 1
            return true
        }

        /// Removes an activity. Returns its entry, and its key, to release without a lock.
        mutating func remove(_ key: Key) -> (key: Key, value: Entry)? {
            if let index = entries.index(forKey: key) { return entries.remove(at: index) }
            guard shardedCount > 0 else { return nil }
            let shard = shard(of: key)
            guard let index = shards[shard].index(forKey: key) else { return nil }
            shardedCount -= 1
            let removed = shards[shard].remove(at: index)
            if shards[shard].isEmpty { shards[shard] = [:] }
            return removed
        }

        /// The record of an activity, made if it has none yet; `nil` if the activity is not in progress.
        mutating func record(of key: Key, at now: () -> Duration) -> ActivityRecord? {
            if let index = entries.index(forKey: key) { return entries.values[index].makeRecord(at: now) }
            guard shardedCount > 0 else { return nil }
            return shards[shard(of: key)][key]?.makeRecord(at: now)
        }
    }
}
