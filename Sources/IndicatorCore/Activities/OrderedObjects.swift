/// Objects in the order of their numbers, such as the activities with a label in the order in which they began. It does
/// not retain them.
///
/// Mostly, one is added behind all others, and any may be removed next. Either moves a chunk at most, so it takes the
/// same time however many there are.
package struct OrderedObjects: Sendable {
    private struct Entry: @unchecked Sendable {
        // `@unchecked`: the object is only returned.

        let number: UInt64
        unowned(unsafe) let object: AnyObject
    }

    private static var chunkSize: Int { 256 }

    /// Only the last one may be empty, if it is the only one.
    private var chunks: [[Entry]] = [[]]

    package init() {}

    /// The object with the lowest number.
    package var first: AnyObject? { chunks[0].first?.object }

    /// The objects with the lowest numbers.
    package func prefix(_ count: Int) -> [AnyObject] {
        chunks[0].count >= count || chunks.count == 1
            ? chunks[0].prefix(count).map(\.object) : chunks.joined().prefix(count).map(\.object)
    }

    /// Adds an object; there must be none with its number.
    package mutating func insert(_ object: AnyObject, at number: UInt64) {
        let entry = Entry(number: number, object: object)
        let chunk = chunkIndex(of: number)
        guard let last = chunks[chunk].last, last.number > number else {
            // The greatest number of all, or of a chunk in the middle.
            let isFull = chunks[chunk].count >= Self.chunkSize
            if isFull { chunks.insert([entry], at: chunk + 1) } else { chunks[chunk].append(entry) }
            return
        }
        chunks[chunk].insert(entry, at: index(of: number, in: chunk))
        guard chunks[chunk].count == 2 * Self.chunkSize else { return }
        chunks.insert(Array(chunks[chunk][Self.chunkSize...]), at: chunk + 1)
        chunks[chunk].removeLast(Self.chunkSize)
    }

    /// Removes the object with a number, which must be there.
    package mutating func remove(at number: UInt64) {
        let chunk = chunkIndex(of: number)
        chunks[chunk].remove(at: index(of: number, in: chunk))
        if chunks[chunk].isEmpty, chunks.count > 1 { chunks.remove(at: chunk) }
    }

    /// The last chunk that begins with this number or a lower one; the first one if none does.
    private func chunkIndex(of number: UInt64) -> Int {
        var (low, high) = (0, chunks.count - 1)
        if high == 0 || chunks[high][0].number <= number { return high }
        while low + 1 < high {
            let middle = (low + high) / 2
            if chunks[middle][0].number <= number { low = middle } else { high = middle }
        }
        return low
    }

    /// The index of the entry with this number, or of the next one.
    private func index(of number: UInt64, in chunk: Int) -> Int {
        let entries = chunks[chunk]
        if let last = entries.last, last.number <= number { return entries.count - (last.number == number ? 1 : 0) }
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
