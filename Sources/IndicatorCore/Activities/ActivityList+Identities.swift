extension ActivityList {
    /// The entry of an activity with an identity.
    struct Entry: Sendable {
        /// `nil` until it has details.
        var record: ActivityRecord?
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

        /// Changes the entry of an activity; `nil` if it is not in progress.
        mutating func update<Result>(_ key: Key, _ change: (inout Entry) -> Result) -> Result? {
            if let index = latestIndex(of: key) { return change(&latest[index].entry) }
            return others.index(forKey: key).map { change(&others.values[$0]) }
        }

        private func latestIndex(of key: Key) -> Int? { latest.lastIndex { $0.key == key } }
    }
}
