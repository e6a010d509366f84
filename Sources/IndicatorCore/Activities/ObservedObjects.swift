import CIndicatorLinux

/// A reference to an object that lets it be deallocated, and keeps only its memory.
///
/// Not a weak one, which moves the object's reference count to a side table: from then on, each retain of the app's
/// object would take several times as long. Not optional where it is stored: Swift 6.3 confuses an unowned reference
/// that is `nil` with the absence of its container.
struct ObservedObject: @unchecked Sendable {
    // `@unchecked`: the object is only retained and compared.

    /// Never read: that would trap when the object is deallocated.
    private unowned let object: AnyObject

    init(_ object: AnyObject) { self.object = object }

    /// The object; `nil` when its `deinit` has begun.
    var retained: AnyObject? {
        withUnsafeBytes(of: self) { linux_retain_unless_deallocated($0.load(as: UnsafeMutableRawPointer.self)) }
            .map { Unmanaged<AnyObject>.fromOpaque($0).takeRetainedValue() }
    }
}

/// The objects whose activities must not outlive them: tracked objects, and the tasks of notifications.
///
/// They are in small tables, so that growing, shrinking or checking one holds the manager's lock for some microseconds
/// only, even with a hundred thousand objects.
struct ObservedObjects: Sendable {
    /// An object and the entry of its activity.
    struct Item: Sendable {
        fileprivate let object: ObservedObject
        fileprivate(set) var entry: ActivityList.Entry
    }

    static var tableCount: Int { 1024 }

    /// The tables; none before the first object.
    private(set) var items: [[ActivityObject.Key: Item]] = []
    /// How many objects are observed.
    private(set) var count = 0
    /// Whether no object is added, and all end at the next check.
    var isClosed = false

    private static func table(of key: ActivityObject.Key) -> Int {
        Int(truncatingIfNeeded: (key >> 4) ^ (key >> 12)) & (tableCount - 1)
    }

    /// Adds an object, unless it is observed already, or its `deinit` has begun. Returns whether it was added.
    mutating func insert(_ object: ActivityObject, _ entry: ActivityList.Entry) -> Bool {
        let item = Item(object: ObservedObject(object.object), entry: entry)
        if isClosed || item.object.retained == nil { return false }
        if items.isEmpty { items = Array(repeating: [:], count: Self.tableCount) }
        let table = Self.table(of: object.key)
        guard let old = items[table].updateValue(item, forKey: object.key) else {
            count += 1
            return true
        }
        // One lookup: in the rare case that the object is observed already, its item is restored.
        items[table].updateValue(old, forKey: object.key)
        return false
    }

    /// Removes an object that the caller retains.
    mutating func remove(_ object: ActivityObject) -> ActivityList.Entry? { remove(object.key)?.entry }

    private mutating func remove(_ key: ActivityObject.Key) -> Item? {
        guard count > 0, let item = items[Self.table(of: key)].removeValue(forKey: key) else { return nil }
        count -= 1
        return item
    }

    /// Changes the entry of an object; `nil` if it is not observed.
    mutating func update<Result>(_ object: ActivityObject, _ change: (inout ActivityList.Entry) -> Result) -> Result? {
        let table = Self.table(of: object.key)
        guard count > 0, let index = items[table].index(forKey: object.key) else { return nil }
        return change(&items[table].values[index].entry)
    }

    /// The tables to check: the first one, and those that have objects.
    var tables: [Int] { [0] + items.indices.dropFirst().filter { !items[$0].isEmpty } }

    /// Removes the deallocated objects of a table.
    ///
    /// - Returns: their entries, and the other objects. Release both without a lock: a reference may be the last one.
    mutating func removeEnded(_ table: Int) -> (ended: [Item], inUse: [AnyObject]) {
        guard count > 0, !items[table].isEmpty else { return ([], []) }
        var ended: [Item] = []
        var inUse: [AnyObject] = []
        for (key, item) in items[table] {
            let object = item.object.retained
            if let object { inUse.append(object) }
            if object == nil || isClosed, let item = remove(key) { ended.append(item) }
        }
        // There may have been many once.
        if items[table].isEmpty { items[table] = [:] }
        return (ended, inUse)
    }
}

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
        // Not a lazy chain: to look up its types takes 6 % of a launch.
        var objects: [AnyObject] = []
        for entry in entries[start...] {
            if objects.count == count { break }
            if let object = entry.object?.takeUnretainedValue() { objects.append(object) }
        }
        return objects
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
