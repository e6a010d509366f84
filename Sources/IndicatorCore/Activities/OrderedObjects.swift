/// Objects in the order of their numbers, such as the activities with a label in the order in which they began. It does
/// not retain them.
///
/// Mostly, one is added behind all others, and any may be removed next, or added again at its place. On average, that
/// takes the same time however many there are.
package struct OrderedObjects: Sendable {
    private struct Entry: @unchecked Sendable {
        // `@unchecked`: the object is only returned.

        let number: UInt64
        /// `nil` when it was removed. Not `unowned(unsafe)`: Swift 6.3 confuses one that is `nil` with the absence of
        /// its container.
        var object: Unmanaged<AnyObject>?
    }

    /// In order; the last one has an object.
    private var entries: [Entry] = []
    /// How many have an object.
    private var count = 0
    /// The index of the first object.
    private var start = 0

    package init() {}

    /// The object with the lowest number.
    package var first: AnyObject? { entries.isEmpty ? nil : entries[start].object?.takeUnretainedValue() }

    /// The objects with the lowest numbers.
    package func prefix(_ count: Int) -> [AnyObject] {
        Array(entries[start...].lazy.compactMap { $0.object?.takeUnretainedValue() }.prefix(count))
    }

    /// Adds an object; there must be none with its number.
    package mutating func insert(_ object: AnyObject, at number: UInt64) {
        let entry = Entry(number: number, object: .passUnretained(object))
        count += 1
        if entries.isEmpty || entries[entries.count - 1].number < number { return entries.append(entry) }
        let index = index(of: number)
        if entries[index].number == number { entries[index] = entry } else { entries.insert(entry, at: index) }
        start = min(start, index)
    }

    /// Removes the object with a number, which must be there.
    package mutating func remove(at number: UInt64) {
        let index = index(of: number)
        if index == entries.count - 1 { entries.removeLast() } else { entries[index].object = nil }
        count -= 1
        while !entries.isEmpty, entries[entries.count - 1].object == nil { entries.removeLast() }
        while start < entries.count, entries[start].object == nil { start += 1 }
        start = min(start, entries.count)
        // Not one by one, which would move all others. A copy, because there may have been many once.
        guard entries.count > 2 * count + 64 || entries.isEmpty && entries.capacity > 1024 else { return }
        (entries, start) = (entries.filter { $0.object != nil }, 0)
    }

    /// The index of the entry with this number, or of the next one; it is not behind the last one.
    private func index(of number: UInt64) -> Int {
        var (low, high) = (0, entries.count - 1)
        if entries[high].number == number { return high }
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
