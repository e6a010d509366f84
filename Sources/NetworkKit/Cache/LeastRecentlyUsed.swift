/// A dictionary of entries with costs. It evicts the least recently used ones when their total cost exceeds the
/// capacity. No operation takes longer with more entries, except by what it evicts.
struct LeastRecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// An entry, and those that were used before and after it.
    private struct Entry: Sendable {
        var value: Value
        var cost: Int
        var older: Key?
        var newer: Key?
    }

    let capacity: Int
    private(set) var cost = 0
    private var entries: [Key: Entry] = [:]
    private var oldest: Key?
    private var newest: Key?

    init(capacity: Int) {
        self.capacity = max(0, capacity)
    }

    var count: Int { entries.count }
    var keys: [Key] { Array(entries.keys) }

    /// Returns a value and marks it as used.
    mutating func use(_ key: Key) -> Value? {
        guard let entry = entries[key] else { return nil }
        guard newest != key else { return entry.value }
        remove(key)
        append(entry.value, for: key, cost: entry.cost)
        return entry.value
    }

    /// Inserts a value, unless it alone exceeds the capacity. Returns the keys that are not, or no longer, stored.
    mutating func insert(_ value: Value, for key: Key, cost newCost: Int) -> [Key] {
        remove(key)
        guard newCost <= capacity else { return [key] }
        append(value, for: key, cost: newCost)
        var evicted: [Key] = []
        while cost > capacity, let oldest {
            remove(oldest)
            evicted.append(oldest)
        }
        return evicted
    }

    private mutating func append(_ value: Value, for key: Key, cost newCost: Int) {
        entries[key] = Entry(value: value, cost: newCost, older: newest)
        if let newest { entries[newest]?.newer = key } else { oldest = key }
        newest = key
        cost += newCost
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let entry = entries.removeValue(forKey: key) else { return nil }
        if let older = entry.older { entries[older]?.newer = entry.newer } else { oldest = entry.newer }
        if let newer = entry.newer { entries[newer]?.older = entry.older } else { newest = entry.older }
        cost -= entry.cost
        return entry.value
    }

    mutating func removeAll() {
        (entries, oldest, newest, cost) = ([:], nil, nil, 0)
    }
}
