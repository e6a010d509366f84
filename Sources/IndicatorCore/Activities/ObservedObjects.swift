/// The objects whose activities must not outlive them: those that are tracked, and those that notifications name as
/// tasks.
///
/// They are kept in ``shardCount`` small tables. So a table that grows, shrinks or is searched for deallocated objects
/// holds the manager's lock for a fraction of a millisecond, also with a hundred thousand objects.
struct ObservedObjects: @unchecked Sendable {
    // `@unchecked`: the objects are held and compared, and never used.

    /// What an object is observed for. The same object may be observed for both, apart from each other.
    enum Role: UInt {
        /// ``IndicatorManager/track(_:label:)``. Held weakly, so that it is deallocated when its last user releases it.
        case tracked = 0
        /// A notification named it as its task. Held strongly: a weak reference would make every later retain of it
        /// slow. An object that nobody else holds has ended (``removeEnded(inShard:)``). Where several indicators
        /// observe, they hold tasks weakly, or each would keep those of the others alive.
        case notified = 1
    }

    /// An object's address and role. While an object is held, no other one has its address.
    typealias Key = UInt

    /// What is kept for an object.
    struct Entry {
        let order: UInt64
        var record: ActivityRecord?
        /// The object itself, or the ``WeakBox`` of one that is held weakly.
        fileprivate var holder: AnyObject
    }

    private final class WeakBox {
        weak var object: AnyObject?

        init(_ object: AnyObject) {
            self.object = object
        }
    }

    static var shardCount: Int { 256 }

    private var shards: [[Key: Entry]] = Array(repeating: [:], count: shardCount)
    /// How many objects are observed.
    private(set) var count = 0

    /// The key of an object. Objects are aligned to 16 bytes, so the lowest bits are free for the role.
    static func key(_ object: AnyObject, role: Role) -> Key {
        UInt(bitPattern: ObjectIdentifier(object)) | role.rawValue
    }

    private static func shard(of key: Key) -> Int {
        Int(truncatingIfNeeded: (key >> 4) ^ (key >> 12)) & (shardCount - 1)
    }

    /// What is kept for an object.
    subscript(key: Key) -> Entry? {
        get { shards[Self.shard(of: key)][key] }
        set { shards[Self.shard(of: key)][key] = newValue }
    }

    /// Adds an object. Without effect, and `false`, when it is there already.
    mutating func insert(_ object: AnyObject, role: Role, holdsWeakly: Bool, order: UInt64) -> Bool {
        let key = Self.key(object, role: role)
        let shard = Self.shard(of: key)
        guard shards[shard][key] == nil else { return false }
        let holder = holdsWeakly ? WeakBox(object) : object
        shards[shard][key] = Entry(order: order, record: nil, holder: holder)
        count += 1
        return true
    }

    /// Removes an object. The caller holds a reference of its own to a notified one.
    mutating func remove(_ key: Key) -> Entry? {
        guard let entry = shards[Self.shard(of: key)].removeValue(forKey: key) else { return nil }
        count -= 1
        return entry
    }

    /// Removes what is kept of an object that was deallocated, and whose address another one has now.
    mutating func removePredecessor(of key: Key) -> Entry? {
        guard let box = self[key]?.holder as? WeakBox, box.object == nil else { return nil }
        return remove(key)
    }

    /// Removes the objects of a shard that have ended: those deallocated, and those that only this table holds.
    ///
    /// - Returns: what was kept of them, and the objects that were looked at, both to be released without a lock: a
    ///   reference among them may be the last one.
    mutating func removeEnded(inShard shard: Int) -> (ended: [Entry], inUse: [AnyObject]) {
        var ended: [Key] = []
        var inUse: [AnyObject] = []
        // Those held strongly first: to look at one that is held weakly takes a reference of it.
        for areBoxes in [false, true] {
            var index = shards[shard].startIndex
            while index != shards[shard].endIndex {
                defer { shards[shard].formIndex(after: &index) }
                let box = shards[shard].values[index].holder as? WeakBox
                guard (box != nil) == areBoxes else { continue }
                if let object = box?.object {
                    inUse.append(object)
                } else if areBoxes || isKnownUniquelyReferenced(&shards[shard].values[index].holder) {
                    ended.append(shards[shard].keys[index])
                }
            }
        }
        let entries = ended.compactMap { remove($0) }
        if shards[shard].capacity > 64, shards[shard].count < shards[shard].capacity / 4 {
            var smaller: [Key: Entry] = Dictionary(minimumCapacity: shards[shard].count)
            for (key, entry) in shards[shard] { smaller[key] = entry }
            shards[shard] = smaller
        }
        return (entries, inUse)
    }

    /// How many objects a shard has, and how many it has room for; for tests.
    func size(ofShard shard: Int) -> Int { shards[shard].count }
    func capacity(ofShard shard: Int) -> Int { shards[shard].capacity }
}
