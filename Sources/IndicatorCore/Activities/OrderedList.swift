import DequeModule

/// Values in the order of the activities that they belong to.
///
/// Each activity has an order, a unique number that grows with each activity. So new values are nearly always appended,
/// and removed ones are mostly near an end: both take constant time, a search O(log n).
struct OrderedList<Value> {
    private var entries: Deque<(order: UInt64, value: Value)> = []
    /// The largest number of values since the table was made.
    private var largestCount = 0

    var count: Int { entries.count }

    /// The value of lowest order, and its order.
    var first: (order: UInt64, value: Value)? { entries.first }

    /// The values in order.
    var values: some Sequence<Value> { entries.lazy.map(\.value) }

    /// Sets or removes the value of an order. Returns the previous value.
    @discardableResult
    mutating func set(_ order: UInt64, to value: Value?) -> Value? {
        let position = position(of: order)
        let isThere = position < entries.count && entries[position].order == order
        guard let value else { return isThere ? remove(at: position) : nil }
        if isThere {
            defer { entries[position].value = value }
            return entries[position].value
        }
        entries.insert((order, value), at: position)
        largestCount = max(largestCount, entries.count)
        return nil
    }

    private mutating func remove(at position: Int) -> Value {
        let isLast = position == entries.count - 1
        let value = (isLast ? entries.removeLast() : entries.remove(at: position)).value
        // A large table is released with its last value.
        if entries.isEmpty, largestCount > 1024 { self = Self() }
        return value
    }

    /// The index of an order, or where to insert it.
    private func position(of order: UInt64) -> Int {
        guard let last = entries.last, last.order >= order else { return entries.count }
        if last.order == order { return entries.count - 1 }
        if let first = entries.first, first.order >= order { return 0 }
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].order < order { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension OrderedList: Sendable where Value: Sendable {}
