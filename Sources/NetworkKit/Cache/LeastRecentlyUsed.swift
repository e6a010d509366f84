/// Entries with a cost each, of which those that were not used for the longest time go when the costs exceed a
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

    /// Looks at a value without using it.
    func peek(_ key: Key) -> Value? { entries[key]?.value }

    /// Uses a value.
    mutating func use(_ key: Key) -> Value? {
        guard entries[key] != nil else { return nil }
        clock += 1
        entries[key]?.lastUse = clock
        return entries[key]?.value
    }

    /// Takes a value, unless it alone exceeds the capacity. Returns the keys that had to go for it.
    mutating func insert(_ value: Value, for key: Key, cost newCost: Int) -> [Key] {
        remove(key)
        guard newCost <= capacity else { return [key] }
        clock += 1
        entries[key] = Entry(value: value, cost: newCost, lastUse: clock)
        cost += newCost
        guard cost > capacity else { return [] }
        var gone: [Key] = []
        for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) where cost > capacity {
            entries[key] = nil
            cost -= entry.cost
            gone.append(key)
        }
        return gone
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
