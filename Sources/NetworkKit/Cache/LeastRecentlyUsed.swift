/// A dictionary of entries with costs. When their total cost exceeds the capacity, it evicts the least recently used
/// ones, down to three quarters of it: so they are seldom sorted.
struct LeastRecentlyUsed<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var value: Value
        var cost: Int
        /// When it was last used.
        var turn: Int
    }

    private let capacity: Int
    private(set) var cost = 0
    private var entries: [String: Entry] = [:]
    private var turn = 0

    init(capacity: Int) { self.capacity = max(0, capacity) }

    /// Returns a value and marks it as used.
    mutating func use(_ key: String) -> Value? {
        turn += 1
        entries[key]?.turn = turn
        return entries[key]?.value
    }

    /// Inserts a value, unless it alone exceeds the capacity.
    mutating func insert(_ value: Value, for key: String, cost newCost: Int) {
        remove(key)
        guard newCost <= capacity else { return }
        turn += 1
        entries[key] = Entry(value: value, cost: newCost, turn: turn)
        cost += newCost
        guard cost > capacity else { return }
        for (old, _) in entries.sorted(by: { $0.value.turn < $1.value.turn }) where old != key {
            remove(old)
            if cost <= capacity / 4 * 3 { break }
        }
    }

    mutating func remove(_ key: String) { cost -= entries.removeValue(forKey: key)?.cost ?? 0 }

    mutating func removeAll() { (entries, cost) = ([:], 0) }
}
