/// The objects whose activities must not outlive them: tracked objects, and the tasks of notifications.
///
/// They are in ``shardCount`` small tables, so that growing, shrinking or checking one holds the manager's lock for a
/// few microseconds, even with a hundred thousand objects. That long, a thread that needs the lock looks again before
/// it sleeps; one that sleeps may be woken on the core of the thread that had the lock, and wait for its time slice.
struct ObservedObjects: @unchecked Sendable {
    // `@unchecked`: the objects are only compared, and retained by a check.

    /// An object and the entry of its activity.
    struct Item {
        fileprivate weak var object: AnyObject?
        fileprivate(set) var entry: ActivityList.Entry
    }

    static var shardCount: Int { 4096 }

    /// The tables; none before the first object.
    private(set) var shards: [[ActivityObject.Key: Item]] = []
    /// How many objects are observed.
    private(set) var count = 0
    /// Whether no object is added, and all end at the next check.
    var isClosed = false

    private static func shard(of key: ActivityObject.Key) -> Int {
        Int(truncatingIfNeeded: (key >> 4) ^ (key >> 12)) & (shardCount - 1)
    }

    /// Adds an object, unless it is observed already, or its `deinit` has begun: then a weak reference to it is `nil`.
    ///
    /// - Returns: whether it was added, and the entry of a deallocated object that had the same address.
    mutating func insert(
        _ object: ActivityObject,
        _ entry: ActivityList.Entry
    ) -> (isNew: Bool, predecessor: ActivityList.Entry?) {
        if shards.isEmpty { shards = Array(repeating: [:], count: Self.shardCount) }
        let key = object.key
        let shard = Self.shard(of: key)
        let item = Item(object: object.object, entry: entry)
        if isClosed || item.object == nil { return (false, nil) }
        guard let old = shards[shard].updateValue(item, forKey: key) else {
            count += 1
            return (true, nil)
        }
        // One lookup: in the rare case that the object is observed already, its item is restored.
        guard old.object != nil else { return (true, old.entry) }
        shards[shard].updateValue(old, forKey: key)
        return (false, nil)
    }

    /// Removes an object that the caller retains.
    mutating func remove(_ object: ActivityObject) -> ActivityList.Entry? { remove(object.key)?.entry }

    private mutating func remove(_ key: ActivityObject.Key) -> Item? {
        guard count > 0, let item = shards[Self.shard(of: key)].removeValue(forKey: key) else { return nil }
        count -= 1
        return item
    }

    /// Changes the entry of an object; `nil` if it is not observed.
    mutating func update<Result>(_ object: ActivityObject, _ change: (inout ActivityList.Entry) -> Result) -> Result? {
        let shard = Self.shard(of: object.key)
        guard count > 0, let index = shards[shard].index(forKey: object.key) else { return nil }
        return change(&shards[shard].values[index].entry)
    }

    /// In how many parts to check the objects, 16 or fewer in each if there are less than 65,000.
    var partCount: Int { min(count / 16 + 1, Self.shardCount) }

    /// Removes the deallocated objects of a part.
    ///
    /// - Returns: their entries, and the other objects. Release both without a lock: a reference may be the last one.
    mutating func removeEnded(part: Int, of parts: Int) -> (ended: [Item], inUse: [AnyObject]) {
        var ended: [Item] = []
        var inUse: [AnyObject] = []
        if shards.isEmpty { return (ended, inUse) }
        for shard in (part * Self.shardCount / parts)..<((part + 1) * Self.shardCount / parts)
        where !shards[shard].isEmpty {
            removeEnded(inShard: shard, &ended, &inUse)
        }
        return (ended, inUse)
    }

    private mutating func removeEnded(inShard shard: Int, _ ended: inout [Item], _ inUse: inout [AnyObject]) {
        var keys: [ActivityObject.Key] = []
        for (key, item) in shards[shard] {
            let object = item.object
            if let object { inUse.append(object) }
            if object == nil || isClosed { keys.append(key) }
        }
        if keys.isEmpty { return }
        ended += keys.compactMap { remove($0) }
        // There may have been many once.
        if shards[shard].isEmpty { shards[shard] = [:] }
    }
}
