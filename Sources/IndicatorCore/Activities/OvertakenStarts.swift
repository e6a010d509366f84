/// Remembers stops of unknown identities, to swallow the starts that they have overtaken.
///
/// A task that finishes before its own start is announced is stopped first and started then; without this memory it would be
/// in progress for ever. A stop is remembered for ``window``, and the memory is bounded: beyond ``capacity`` the oldest goes.
struct OvertakenStarts<Key: Hashable> {
    /// How long a stop is remembered: 250 ms. A start exactly that much later is a start.
    static var window: Duration { .milliseconds(250) }
    /// How many stops are remembered at most.
    static var capacity: Int { 4096 }

    fileprivate struct Stop {
        var key: Key
        var instant: Duration
    }

    fileprivate struct Memory {
        var instant: Duration
        /// The object that was stopped, when the key stands for one: another object in its place was not.
        var object: ObservedObject?
    }

    /// The latest stop of each key.
    private var memories: [Key: Memory] = [:]
    /// All stops in the order of time, those included that a later stop or a start of the key has made void.
    private var stops: [Stop] = []
    private var head = 0

    /// Whether nothing is remembered. What has run out may still count.
    var isEmpty: Bool { memories.isEmpty }

    /// Remembers a stop.
    mutating func remember(_ key: Key, object: ObservedObject? = nil, at now: Duration) {
        forget(until: now)
        memories[key] = Memory(instant: now, object: object)
        stops.append(Stop(key: key, instant: now))
        if stops.count - head > Self.capacity { forgetOldest() }
    }

    /// Whether a start at `now` was overtaken by its stop. The stop is forgotten either way.
    mutating func swallowsStart(of key: Key, at now: Duration) -> Bool {
        guard let stop = memories.removeValue(forKey: key) else { return false }
        if let object = stop.object, object.isGone { return false }
        return now - stop.instant < Self.window
    }

    private mutating func forget(until now: Duration) {
        while head < stops.count, now - stops[head].instant >= Self.window { forgetOldest() }
    }

    private mutating func forgetOldest() {
        let oldest = stops[head]
        if memories[oldest.key]?.instant == oldest.instant { memories[oldest.key] = nil }
        head += 1
        if head == stops.count {
            stops.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= Self.capacity {
            stops.removeFirst(head)
            head = 0
        }
    }
}

extension OvertakenStarts: Sendable where Key: Sendable {}
extension OvertakenStarts.Stop: Sendable where Key: Sendable {}
extension OvertakenStarts.Memory: Sendable where Key: Sendable {}
