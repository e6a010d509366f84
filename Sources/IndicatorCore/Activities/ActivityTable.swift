/// A hash table for what is kept of activities in progress: compact, and with one search for each start or stop.
///
/// Open addressing with linear probing; a removal moves what follows back, so that there are no tombstones. A table of a million
/// entries has between 1.1 and 1.7 places for each, of the size of the key, the entry and 4 bytes. A plain value: copies are
/// made on writing.
struct ActivityTable<Key: ActivityIdentity, Entry> {
    /// The place of a key that is there.
    struct Index {
        fileprivate var position: Int
    }

    /// The result of a search: the place of the key, or one where it can go until the table is changed.
    enum Place {
        case found(Index)
        case vacant(Vacancy)
    }

    /// Where a key can go.
    struct Vacancy {
        fileprivate var position: Int
        fileprivate var hash: UInt32
    }

    fileprivate final class Storage {
        let capacity: Int
        let seed: UInt64
        /// The hash of each key; zero where there is none.
        let hashes: UnsafeMutablePointer<UInt32>
        let keys: UnsafeMutablePointer<Key>
        let entries: UnsafeMutablePointer<Entry>

        init(capacity: Int, seed: UInt64) {
            self.capacity = capacity
            self.seed = seed
            hashes = .allocate(capacity: capacity)
            hashes.initialize(repeating: 0, count: capacity)
            keys = .allocate(capacity: capacity)
            entries = .allocate(capacity: capacity)
        }

        deinit {
            for position in 0..<capacity where hashes[position] != 0 {
                (keys + position).deinitialize(count: 1)
                (entries + position).deinitialize(count: 1)
            }
            hashes.deallocate()
            keys.deallocate()
            entries.deallocate()
        }

        /// The position after another one, cyclically.
        @inline(__always)
        func next(_ position: Int) -> Int {
            position + 1 == capacity ? 0 : position + 1
        }

        /// Where a key of this hash would be if the table were empty.
        @inline(__always)
        func home(_ hash: UInt32) -> Int {
            Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(truncatingIfNeeded: capacity)) &>> 32)
        }

        /// How far a position is behind another one, cyclically.
        @inline(__always)
        func distance(from start: Int, to end: Int) -> Int {
            end >= start ? end - start : end + capacity - start
        }

        /// Puts a key that is not there at the first free position for its hash.
        func move(_ hash: UInt32, from other: Storage, at position: Int) {
            var target = home(hash)
            while hashes[target] != 0 { target = next(target) }
            hashes[target] = hash
            (keys + target).moveInitialize(from: other.keys + position, count: 1)
            (entries + target).moveInitialize(from: other.entries + position, count: 1)
        }
    }

    private var storage = Storage(capacity: 8, seed: .random(in: .min ... .max))

    /// How many entries there are.
    private(set) var count = 0

    /// The entry at a place.
    subscript(index: Index) -> Entry {
        get { storage.entries[index.position] }
        _modify {
            makeUnique()
            yield &storage.entries[index.position]
        }
    }

    /// Searches for a key.
    @inline(__always)
    func search(_ key: Key) -> Place {
        let hash = max(UInt32(truncatingIfNeeded: key.tableHash(seed: storage.seed) &>> 32), 1)
        var position = storage.home(hash)
        while true {
            let other = storage.hashes[position]
            if other == 0 { return .vacant(Vacancy(position: position, hash: hash)) }
            if other == hash, storage.keys[position] == key { return .found(Index(position: position)) }
            position = storage.next(position)
        }
    }

    /// The place of a key that is there.
    func index(of key: Key) -> Index? {
        guard case .found(let index) = search(key) else { return nil }
        return index
    }

    /// Puts a key where a search has found that it can go. Returns its place.
    @discardableResult
    mutating func insert(_ key: Key, _ entry: Entry, at vacancy: Vacancy) -> Index {
        makeUnique()
        var position = vacancy.position
        if (count + 1) * 10 > storage.capacity * 9 {
            grow()
            position = storage.home(vacancy.hash)
            while storage.hashes[position] != 0 { position = storage.next(position) }
        }
        storage.hashes[position] = vacancy.hash
        (storage.keys + position).initialize(to: key)
        (storage.entries + position).initialize(to: entry)
        count += 1
        return Index(position: position)
    }

    /// Removes what is at a place, and returns the entry.
    @discardableResult
    mutating func remove(at index: Index) -> Entry {
        makeUnique()
        (storage.keys + index.position).deinitialize(count: 1)
        let entry = (storage.entries + index.position).move()
        var hole = index.position
        var position = storage.next(hole)
        while storage.hashes[position] != 0 {
            let hash = storage.hashes[position]
            // What is no nearer to its home than to the hole may fill it.
            let home = storage.home(hash)
            if storage.distance(from: home, to: position) >= storage.distance(from: hole, to: position) {
                storage.hashes[hole] = hash
                (storage.keys + hole).moveInitialize(from: storage.keys + position, count: 1)
                (storage.entries + hole).moveInitialize(from: storage.entries + position, count: 1)
                hole = position
            }
            position = storage.next(position)
        }
        storage.hashes[hole] = 0
        count -= 1
        return entry
    }

    /// Removes all entries that a condition holds for, and returns them.
    mutating func removeAll(where condition: (Entry) -> Bool) -> [Entry] {
        var keys: [Key] = []
        for position in 0..<storage.capacity where storage.hashes[position] != 0 {
            if condition(storage.entries[position]) { keys.append(storage.keys[position]) }
        }
        return keys.compactMap { key in index(of: key).map { remove(at: $0) } }
    }

    private mutating func grow() {
        let old = storage
        let new = Storage(capacity: old.capacity + old.capacity / 2, seed: old.seed)
        for position in 0..<old.capacity {
            let hash = old.hashes[position]
            guard hash != 0 else { continue }
            new.move(hash, from: old, at: position)
            old.hashes[position] = 0
        }
        storage = new
    }

    @inline(__always)
    private mutating func makeUnique() {
        if !isKnownUniquelyReferenced(&storage) { copy() }
    }

    private mutating func copy() {
        let new = Storage(capacity: storage.capacity, seed: storage.seed)
        for position in 0..<storage.capacity where storage.hashes[position] != 0 {
            new.hashes[position] = storage.hashes[position]
            (new.keys + position).initialize(to: storage.keys[position])
            (new.entries + position).initialize(to: storage.entries[position])
        }
        storage = new
    }
}

extension ActivityTable: Sendable where Key: Sendable, Entry: Sendable {}
extension ActivityTable.Storage: @unchecked Sendable where Key: Sendable, Entry: Sendable {
    // `@unchecked`: it is changed only by its one owner, a value.
}
