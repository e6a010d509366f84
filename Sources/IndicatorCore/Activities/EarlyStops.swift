import DequeModule

/// Remembers stops of unknown identities, to ignore the starts that they have overtaken (rule 7 of the design).
///
/// A task that finishes before its start is posted is stopped first and started afterwards; without this memory it
/// would never end. A stop is remembered for ``window``. The memory is bounded: beyond ``capacity`` the oldest stop is
/// forgotten.
struct EarlyStops<Key: Hashable & Sendable>: Sendable {
    /// How long a stop is remembered: 250 ms. A start exactly that much later counts.
    static var window: Duration { .milliseconds(250) }
    /// How many stops are remembered at most.
    static var capacity: Int { 4096 }

    private struct Memory: @unchecked Sendable {
        // `@unchecked`: the object is compared with `nil` and never used; weak references may be read on any thread.

        var instant: Duration
        /// Whether the key represents an object.
        var hasObject: Bool
        /// The stopped object. A later object at the same address was not stopped.
        weak var object: AnyObject?
    }

    /// The latest stop of each key.
    private var memories: [Key: Memory] = [:]
    /// All stops in the order of time, including those that a later stop or start of the key has made obsolete.
    private var stops: Deque<(key: Key, instant: Duration)> = []

    /// Whether no stop is remembered. An expired one may still count.
    var isEmpty: Bool { memories.isEmpty }

    /// Remembers the stop of an activity that is not in progress.
    ///
    /// - Parameters:
    ///   - key: the identity.
    ///   - object: the object that the key represents, if any.
    ///   - now: the time.
    /// - Returns: the forgotten keys, to release without a lock.
    mutating func remember(_ key: Key, object: AnyObject? = nil, at now: Duration) -> [Key] {
        var forgotten: [Key] = []
        while let oldest = stops.first, now - oldest.instant >= Self.window || stops.count >= Self.capacity {
            forgotten.append(oldest.key)
            stops.removeFirst()
            if let index = memories.index(forKey: oldest.key), memories[index].value.instant == oldest.instant {
                forgotten.append(memories.remove(at: index).key)
            }
        }
        memories[key] = Memory(instant: now, hasObject: object != nil, object: object)
        stops.append((key, now))
        return forgotten
    }

    /// Forgets the stop of a key. Returns whether it has overtaken a start at `now`, which must then be ignored.
    ///
    /// - Parameter released: receives the stored key, to release without a lock.
    mutating func consume(_ key: Key, at now: Duration, released: inout [Any]) -> Bool {
        guard let index = memories.index(forKey: key) else { return false }
        let (key, memory) = memories.remove(at: index)
        released.append(key)
        if memory.hasObject, memory.object == nil { return false }
        return now - memory.instant < Self.window
    }
}
