import CLinux
import Synchronization

/// The objects whose activities must not outlive them: tracked objects, and the tasks of notifications.
///
/// They are in ``shardCount`` small tables, so that growing, shrinking or checking one holds the manager's lock for a
/// few microseconds, even with a hundred thousand objects. That long, a thread that needs the lock looks again before
/// it sleeps; one that sleeps may be woken on the core of the thread that had the lock, and wait for its time slice.
struct ObservedObjects: @unchecked Sendable {
    // `@unchecked`: the objects are only retained and compared.

    /// The entry of an object.
    struct Item {
        fileprivate(set) var entry: ActivityList.Entry
        /// The object, if it is held strongly.
        fileprivate var object: AnyObject?
        /// The reference to an object that is held weakly.
        fileprivate var box: WeakBox?

        /// Whether the object was deallocated.
        fileprivate var isDeallocated: Bool { box.map { $0.object == nil } ?? false }
    }

    fileprivate final class WeakBox {
        weak var object: AnyObject?

        init(_ object: AnyObject) {
            self.object = object
        }
    }

    /// How many engines of the process observe notifications.
    static let observers = Atomic(0)

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

    /// Adds an object, unless it is observed already, or its `deinit` has begun: then it must not be retained any
    /// more.
    ///
    /// - Returns: whether it was added, and the entry of a deallocated object that had the same address.
    mutating func insert(
        _ object: ActivityObject,
        _ entry: ActivityList.Entry
    ) -> (isNew: Bool, predecessor: ActivityList.Entry?) {
        if shards.isEmpty { shards = Array(repeating: [:], count: Self.shardCount) }
        let key = object.key
        let shard = Self.shard(of: key)
        let old = shards[shard][key]
        if let old, !old.isDeallocated { return (false, nil) }
        let predecessor = old.flatMap { _ in remove(key)?.entry }
        if isClosed || swift_isDeallocating(Unmanaged.passUnretained(object.object).toOpaque()) {
            return (false, predecessor)
        }
        let isWeak = object.role == .tracked || Self.observers.load(ordering: .relaxed) > 1
        shards[shard][key] = Item(
            entry: entry,
            object: isWeak ? nil : object.object,
            box: isWeak ? WeakBox(object.object) : nil
        )
        count += 1
        return (true, predecessor)
    }

    /// Removes an object that the caller retains.
    mutating func remove(_ object: ActivityObject) -> ActivityList.Entry? { remove(object.key)?.entry }

    private mutating func remove(_ key: ActivityObject.Key) -> Item? {
        guard count > 0, let item = shards[Self.shard(of: key)].removeValue(forKey: key) else { return nil }
        count -= 1
        return item
    }

    /// The record of an object's activity, made if it has none yet; `nil` if the object is not observed.
    mutating func record(of object: ActivityObject, at now: () -> Duration) -> ActivityRecord? {
        count == 0 ? nil : shards[Self.shard(of: object.key)][object.key]?.entry.makeRecord(at: now)
    }

    /// In how many parts to check the objects, 16 or fewer in each if there are less than 65,000.
    var partCount: Int { min(count / 16 + 1, Self.shardCount) }

    /// Removes the objects of a part that have ended: those deallocated, and those that only this table retains.
    ///
    /// - Returns: their entries, and the objects that were checked. Release both without a lock: a reference may be the
    ///   last one.
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
        // Strong references first: checking a weak one retains the object.
        for areWeak in [false, true] {
            var index = shards[shard].startIndex
            while index != shards[shard].endIndex {
                defer { shards[shard].formIndex(after: &index) }
                let box = shards[shard].values[index].box
                guard (box != nil) == areWeak else { continue }
                let object = box?.object
                if let object { inUse.append(object) }
                let isGone =
                    areWeak ? object == nil : isKnownUniquelyReferenced(&shards[shard].values[index].object)
                if isGone || isClosed { keys.append(shards[shard].keys[index]) }
            }
        }
        if keys.isEmpty { return }
        ended += keys.compactMap { remove($0) }
        guard shards[shard].capacity > 8, shards[shard].count < shards[shard].capacity / 4 else { return }
        var smaller: [ActivityObject.Key: Item] = Dictionary(minimumCapacity: shards[shard].count)
        for (key, item) in shards[shard] { smaller[key] = item }
        shards[shard] = smaller
    }
}

/// An object as the identity of an activity.
@usableFromInline
package struct ActivityObject: @unchecked Sendable {
    // `@unchecked`: the object is only retained and compared.

    /// Why an object is observed. An object may have both roles, independently of each other.
    package enum Role: UInt, Sendable {
        /// ``IndicatorManager/track(_:label:)``. Held weakly, so that it is deallocated when the app releases it.
        case tracked = 0
        /// The task of a notification. Held strongly: a weak reference would make every later retain of it slow. An
        /// object without other references has ended (``ObservedObjects/removeEnded(part:of:)``). If several indicators
        /// observe, they hold tasks weakly; otherwise they would keep each other's tasks alive.
        case notified = 1
    }

    /// An object's address and role. While an object is retained, no other one has its address.
    typealias Key = UInt

    let object: AnyObject
    let role: Role

    /// Objects are aligned to 16 bytes, so the lowest bits are free for the role.
    var key: Key { UInt(bitPattern: ObjectIdentifier(object)) | role.rawValue }
}
