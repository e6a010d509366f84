import CLinux
import Synchronization

/// The objects whose activities must not outlive them: tracked objects, and the tasks of notifications.
///
/// They are in ``shardCount`` small tables, so that growing, shrinking or searching a table holds the manager's lock
/// for a fraction of a millisecond, even with a hundred thousand objects.
struct ObservedObjects: @unchecked Sendable {
    // `@unchecked`: the objects are only retained and compared.

    /// The entry of an object.
    struct Item {
        fileprivate(set) var entry: ActivityList.Entry
        /// The object itself, or the ``WeakBox`` of one that is held weakly.
        fileprivate var holder: AnyObject

        /// Whether the object was deallocated.
        fileprivate var isDeallocated: Bool {
            if let box = holder as? WeakBox { box.object == nil } else { false }
        }
    }

    private final class WeakBox {
        weak var object: AnyObject?

        init(_ object: AnyObject) {
            self.object = object
        }
    }

    /// How many engines of the process observe notifications.
    static let observers = Atomic(0)

    static var shardCount: Int { 256 }

    private(set) var shards: [[ActivityObject.Key: Item]] = Array(repeating: [:], count: shardCount)
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
        let key = object.key
        let shard = Self.shard(of: key)
        let old = shards[shard][key]
        if let old, !old.isDeallocated { return (false, nil) }
        let predecessor = old.flatMap { _ in remove(key)?.entry }
        if isClosed || swift_isDeallocating(Unmanaged.passUnretained(object.object).toOpaque()) {
            return (false, predecessor)
        }
        let isWeak = object.role == .tracked || Self.observers.load(ordering: .relaxed) > 1
        shards[shard][key] = Item(entry: entry, holder: isWeak ? WeakBox(object.object) : object.object)
        count += 1
        return (true, predecessor)
    }

    /// Removes an object that the caller retains.
    mutating func remove(_ object: ActivityObject) -> ActivityList.Entry? { remove(object.key)?.entry }

    private mutating func remove(_ key: ActivityObject.Key) -> Item? {
        guard let item = shards[Self.shard(of: key)].removeValue(forKey: key) else { return nil }
        count -= 1
        return item
    }

    /// The record of an object's activity, made if it has none yet; `nil` if the object is not observed.
    mutating func record(of object: ActivityObject, at now: () -> Duration) -> ActivityRecord? {
        shards[Self.shard(of: object.key)][object.key]?.entry.makeRecord(at: now)
    }

    /// Removes the objects of a shard that have ended: those deallocated, and those that only this table retains.
    ///
    /// - Returns: their entries, and the objects that were checked. Release both without a lock: a reference may be the
    ///   last one.
    mutating func removeEnded(inShard shard: Int) -> (ended: [Item], inUse: [AnyObject]) {
        var ended: [ActivityObject.Key] = []
        var inUse: [AnyObject] = []
        // Strong references first: checking a weak one retains the object.
        for areBoxes in [false, true] {
            var index = shards[shard].startIndex
            while index != shards[shard].endIndex {
                defer { shards[shard].formIndex(after: &index) }
                let box = shards[shard].values[index].holder as? WeakBox
                guard (box != nil) == areBoxes else { continue }
                if let object = box?.object, !isClosed {
                    inUse.append(object)
                } else if areBoxes || isClosed || isKnownUniquelyReferenced(&shards[shard].values[index].holder) {
                    ended.append(shards[shard].keys[index])
                }
            }
        }
        let items = ended.compactMap { remove($0) }
        if shards[shard].capacity > 64, shards[shard].count < shards[shard].capacity / 4 {
            var smaller: [ActivityObject.Key: Item] = Dictionary(minimumCapacity: shards[shard].count)
            for (key, item) in shards[shard] { smaller[key] = item }
            shards[shard] = smaller
        }
        return (items, inUse)
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
        /// object without other references has ended (``ObservedObjects/removeEnded(inShard:)``). If several indicators
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
