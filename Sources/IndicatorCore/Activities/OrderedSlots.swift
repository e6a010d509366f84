/// Values in slots, and the earliest of those that are ranked.
///
/// Every value has an order, the number of the activity that it belongs to. Some values are ranked: those with a label, say.
/// ``firstRanked`` is the ranked value of lowest order. Inserting, removing and ranking take O(log n) in the number of ranked
/// values, reading the first takes O(1), and nothing is allocated while the number of values does not grow.
struct OrderedSlots<Value> {
    /// A place in the table; it stays the same until its value is removed.
    typealias Slot = Int32

    fileprivate struct Entry {
        var order: UInt64
        var value: Value?
        /// The entry's place in `heap`; `unranked` when it has none, the next free slot while it is empty.
        var link: Int32
    }

    private var entries: [Entry] = []
    /// The slots of the ranked values, as a binary heap: a parent's order is lower than those of its children.
    private var heap: [Slot] = []
    private var firstFree = noSlot

    /// How many values there are.
    private(set) var count = 0

    /// A larger table is released when its last value is removed.
    private static var keptCapacity: Int { 1024 }
    private static var noSlot: Int32 { -1 }
    private static var unranked: Int32 { -1 }

    /// Whether there is no value.
    var isEmpty: Bool { count == 0 }

    /// The slot of the ranked value of lowest order.
    var firstRankedSlot: Slot? { heap.first }

    /// The ranked value of lowest order.
    var firstRanked: Value? {
        heap.first.flatMap { entries[Int($0)].value }
    }

    /// The ranked values of lowest order, at most `limit`, in order. Takes O(limit²).
    func firstRanked(_ limit: Int) -> [Value] {
        var first: [Value] = []
        // The positions in the heap that can be next: children of those taken.
        var candidates = heap.isEmpty ? [] : [0]
        while first.count < limit, let next = candidates.min(by: { order(at: $0) < order(at: $1) }) {
            candidates.removeAll { $0 == next }
            candidates += [2 * next + 1, 2 * next + 2].filter { $0 < heap.count }
            first.append(self[heap[next]])
        }
        return first
    }

    /// The value in a slot that is in use.
    subscript(slot: Slot) -> Value {
        get {
            guard let value = entries[Int(slot)].value else { preconditionFailure("slot \(slot) is empty") }
            return value
        }
        set {
            precondition(entries[Int(slot)].value != nil, "slot \(slot) is empty")
            entries[Int(slot)].value = newValue
        }
    }

    /// Adds a value and returns its slot.
    mutating func insert(_ value: Value, order: UInt64, isRanked: Bool) -> Slot {
        let slot: Slot
        let entry = Entry(order: order, value: value, link: Self.unranked)
        if firstFree == Self.noSlot {
            slot = Slot(entries.count)
            entries.append(entry)
        } else {
            slot = firstFree
            firstFree = entries[Int(slot)].link
            entries[Int(slot)] = entry
        }
        count += 1
        setRanked(isRanked, slot: slot)
        return slot
    }

    /// Removes the value of a slot that is in use.
    @discardableResult
    mutating func remove(_ slot: Slot) -> Value {
        let value = self[slot]
        setRanked(false, slot: slot)
        entries[Int(slot)].value = nil
        entries[Int(slot)].link = firstFree
        firstFree = slot
        count -= 1
        if count == 0, entries.capacity > Self.keptCapacity { self = Self() }
        return value
    }

    /// Says whether the value of a slot that is in use is ranked.
    mutating func setRanked(_ isRanked: Bool, slot: Slot) {
        let position = entries[Int(slot)].link
        guard isRanked != (position != Self.unranked) else { return }
        if isRanked {
            heap.append(slot)
            moveUp(slot, from: heap.count - 1)
        } else {
            let last = heap.removeLast()
            entries[Int(slot)].link = Self.unranked
            if last != slot { moveUp(last, from: sinkHole(from: Int(position))) }
        }
    }

    private mutating func place(_ slot: Slot, at position: Int) {
        heap[position] = slot
        entries[Int(slot)].link = Int32(position)
    }

    private func order(at position: Int) -> UInt64 {
        entries[Int(heap[position])].order
    }

    /// Puts a slot where there is a hole, and moves it up to its place.
    private mutating func moveUp(_ slot: Slot, from hole: Int) {
        let order = entries[Int(slot)].order
        var position = hole
        while position > 0 {
            let parent = (position - 1) / 2
            guard order < self.order(at: parent) else { break }
            place(heap[parent], at: position)
            position = parent
        }
        place(slot, at: position)
    }

    /// Moves the earlier child of a hole up into it, and so on until the hole is a leaf. Returns where it is then.
    ///
    /// What fills it came from a leaf and mostly belongs near one, so it is not compared on the way down.
    private mutating func sinkHole(from start: Int) -> Int {
        var hole = start
        while true {
            var child = 2 * hole + 1
            guard child < heap.count else { return hole }
            if child + 1 < heap.count, order(at: child + 1) < order(at: child) { child += 1 }
            place(heap[child], at: hole)
            hole = child
        }
    }
}

extension OrderedSlots: Sendable where Value: Sendable {}
extension OrderedSlots.Entry: Sendable where Value: Sendable {}
