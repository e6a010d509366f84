/// Values in the order of the activities that they belong to.
///
/// Each activity has an order, a unique number that grows with each activity. So new values are nearly always appended,
/// and removed ones are mostly near an end. The values are in small parts, so that any change, also growth, moves few
/// of them; a search takes O(log n).
package struct OrderedList<Value> {
    /// How many values a part has at most.
    static var partCapacity: Int { 64 }

    /// A value and its order.
    package struct Element {
        package let order: UInt64
        package fileprivate(set) var value: Value
    }

    /// Parts in order. Only the first one may be empty, if it is the only one.
    private var parts: [[Element]] = []

    package init() {}

    package private(set) var count = 0

    /// The sizes of the parts.
    var partCounts: [Int] { parts.map(\.count) }

    /// The value of lowest order, and its order.
    package var first: Element? { parts.first?.first }

    /// The values in order.
    package var values: some Sequence<Value> { parts.lazy.joined().map(\.value) }

    /// At most `limit` values from an order on.
    package func values(from order: UInt64, limit: Int) -> [Value] {
        var values: [Value] = []
        if count == 0 { return values }
        var (part, index) = position(of: order)
        // Lazy sequences are slow where the type of the values is not known to the compiler.
        while part < parts.count, values.count < limit {
            for element in parts[part][index...].prefix(limit - values.count) { values.append(element.value) }
            (part, index) = (part + 1, 0)
        }
        return values
    }

    /// The last part that begins with an order or a lower one, and the index in it of that order or the next.
    @inline(__always)
    private func position(of order: UInt64) -> (part: Int, index: Int) {
        // Nearly always.
        if let last = parts.last, let value = last.last, value.order <= order {
            return (parts.count - 1, value.order == order ? last.count - 1 : last.count)
        }
        let part = max(Self.firstIndex(upTo: parts.count) { !parts[$0].isEmpty && parts[$0][0].order > order } - 1, 0)
        return (part, Self.firstIndex(upTo: parts[part].count) { parts[part][$0].order >= order })
    }

    /// Sets or removes the value of an order. Returns the previous value.
    @discardableResult
    package mutating func set(_ order: UInt64, to value: Value?) -> Value? {
        if parts.isEmpty { parts.append([]) }
        let (part, index) = position(of: order)
        let isThere = index < parts[part].count && parts[part][index].order == order
        switch (isThere, value) {
        case (true, let value?):
            return exchange(&parts[part][index].value, with: value)
        case (true, nil):
            return remove(at: index, inPart: part)
        case (false, let value?):
            insert(Element(order: order, value: value), at: index, inPart: part)
            return nil
        case (false, nil):
            return nil
        }
    }

    @inline(__always)
    private mutating func insert(_ entry: Element, at index: Int, inPart part: Int) {
        count += 1
        if index == parts[part].count, index < Self.partCapacity {
            // Much faster than to insert at the end.
            parts[part].append(entry)
        } else if parts[part].count < Self.partCapacity {
            parts[part].insert(entry, at: index)
        } else if index == Self.partCapacity {
            parts.insert([entry], at: part + 1)
        } else {
            let half = Self.partCapacity / 2
            parts.insert(Array(parts[part].suffix(half)), at: part + 1)
            parts[part].removeLast(half)
            if index <= half {
                parts[part].insert(entry, at: index)
            } else {
                parts[part + 1].insert(entry, at: index - half)
            }
        }
    }

    private mutating func remove(at index: Int, inPart part: Int) -> Value {
        count -= 1
        let isLast = index == parts[part].count - 1
        let value = (isLast ? parts[part].removeLast() : parts[part].remove(at: index)).value
        if parts[part].isEmpty, parts.count > 1 {
            parts.remove(at: part)
        } else if parts[part].count < Self.partCapacity / 4, part + 1 < parts.count,
            parts[part + 1].count < Self.partCapacity / 4
        {
            let next = parts.remove(at: part + 1)
            parts[part] += next
        }
        return value
    }

    /// The first index up to `end` with a property that all later ones have; `end` if none has. Tries the last first.
    private static func firstIndex(upTo end: Int, where isAfter: (Int) -> Bool) -> Int {
        guard end > 0, isAfter(end - 1) else { return end }
        var (low, high) = (0, end - 1)
        while low < high {
            let middle = (low + high) / 2
            if isAfter(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension OrderedList: Sendable where Value: Sendable {}
extension OrderedList.Element: Sendable where Value: Sendable {}
