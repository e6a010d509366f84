/// A dictionary of entries with costs. It evicts the least recently used ones when their total cost exceeds the
/// capacity.
struct LeastRecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var value: Value
        var cost: Int
        var lastUse: UInt64
    }

    let capacity: Int
    private(set) var cost = 0
    private var entries: [Key: Entry] = [:]
    private var clock: UInt64 = 0

    init(capacity: Int) {
        self.capacity = max(0, capacity)
    }

    var count: Int { entries.count }
    var keys: [Key] { Array(entries.keys) }

    /// Returns a value and marks it as used.
    mutating func use(_ key: Key) -> Value? {
        guard entries[key] != nil else { return nil }
        clock += 1
        entries[key]?.lastUse = clock
        return entries[key]?.value
    }

    /// Inserts a value, unless it alone exceeds the capacity. Returns the keys that are not, or no longer, stored.
    mutating func insert(_ value: Value, for key: Key, cost newCost: Int) -> [Key] {
        remove(key)
        guard newCost <= capacity else { return [key] }
        clock += 1
        entries[key] = Entry(value: value, cost: newCost, lastUse: clock)
        cost += newCost
        guard cost > capacity else { return [] }
        var evicted: [Key] = []
        for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) where cost > capacity {
            entries[key] = nil
            cost -= entry.cost
            evicted.append(key)
        }
        return evicted
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let entry = entries.removeValue(forKey: key) else { return nil }
        cost -= entry.cost
        return entry.value
    }

    mutating func removeAll() {
        entries = [:]
        cost = 0
    }
}
