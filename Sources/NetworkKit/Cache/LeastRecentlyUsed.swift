/// Entries with costs, in two generations. When the younger one has half of the capacity, it becomes the older one, and
/// what was not used since the last time is evicted.
struct LeastRecentlyUsed<Value: Sendable>: Sendable {
    private typealias Entries = [String: (value: Value, cost: Int)]

    let capacity: Int
    private var (young, old): (Entries, Entries) = ([:], [:])
    private var cost = 0

    init(capacity: Int) { self.capacity = capacity }

    /// Returns a value and marks it as used.
    mutating func use(_ key: String) -> Value? {
        if let entry = young[key] { return entry.value }
        guard let entry = old[key] else { return nil }
        insert(entry.value, for: key, cost: entry.cost)
        return entry.value
    }

    /// Inserts a value, unless it exceeds half of the capacity.
    mutating func insert(_ value: Value, for key: String, cost newCost: Int) {
        remove(key)
        guard newCost <= capacity / 2 else { return }
        if cost + newCost > capacity / 2 { (old, young, cost) = (young, [:], 0) }
        young[key] = (value, newCost)
        cost += newCost
    }

    mutating func remove(_ key: String) {
        cost -= young.removeValue(forKey: key)?.cost ?? 0
        old[key] = nil
    }
}
