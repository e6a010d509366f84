/// The completions of tasks that are not in progress, to ignore the beginnings that they have overtaken (rule 7 of
/// <doc:RulesOfVisibility>); and the latest ends, because a repeated completion has not overtaken anything. It keeps
/// nothing alive.
struct EarlyCompletions: Sendable {
    /// How long one is remembered: a beginning exactly that much later counts.
    static var window: Duration { .milliseconds(250) }
    static var capacity: Int { 1024 }

    private struct Memory: @unchecked Sendable {
        // `@unchecked`: the reference is never read.

        let id: Int
        /// Keeps the memory of a deallocated object, so that no other object gets its address. Not optional: Swift 6.3
        /// confuses an unowned reference that is `nil` with the absence of its container.
        unowned let object: AnyObject
        /// The time of the completion, of the end, or of the beginning that was ignored.
        var instant: Duration
        /// Whether a beginning is ignored.
        var isEarly: Bool
    }

    /// A beginning that was ignored. It counts if its object still lives at the next check of lifetimes.
    struct Ignored: @unchecked Sendable {
        // `@unchecked`: the object is only retained and compared.

        weak var object: AnyObject?
        let key: ActivityObject.Key
        let label: String?
    }

    private var memories: [Memory] = []
    private var earlyCount = 0
    private var ignored: [Ignored] = []

    var isEmpty: Bool { memories.isEmpty }
    var hasIgnored: Bool { !ignored.isEmpty }

    /// Forgets what is out of date, if that is at least a half: what remains is moved.
    mutating func forget(at now: Duration) {
        guard now - memories[memories.count / 2].instant >= Self.window else { return }
        removeFirst(memories.firstIndex { now - $0.instant < Self.window } ?? memories.count)
    }

    private mutating func removeFirst(_ count: Int) {
        earlyCount -= memories[..<count].count { $0.isEarly }
        memories.removeFirst(count)
    }

    /// Remembers the completion of a task. `isEnd` is whether the task was in progress.
    mutating func remember(_ key: ActivityKey, isEnd: Bool, at now: Duration) {
        if case .object(let object) = key { forgetBeginning(of: object) }
        let task = key.task
        if !isEnd, let index = index(of: task.id, at: now) {
            if memories[index].isEarly { memories[index].instant = now }
            return
        }
        // Not one by one, which would move all others each time.
        if memories.count >= Self.capacity { removeFirst(Self.capacity / 4) }
        memories.append(Memory(id: task.id, object: task.object, instant: now, isEarly: !isEnd))
        if !isEnd { earlyCount += 1 }
    }

    /// Whether a completion has overtaken this beginning of a task, which must then be ignored.
    mutating func consume(_ key: ActivityKey, label: String? = nil, at now: ActivityList.Now) -> Bool {
        guard earlyCount > 0 else { return false }
        let now = now()
        guard let index = index(of: key.task.id, at: now), memories[index].isEarly else { return false }
        (memories[index].isEarly, memories[index].instant) = (false, now)
        earlyCount -= 1
        if case .object(let object) = key, ignored.count < Self.capacity {
            ignored.append(Ignored(object: object.object, key: object.key, label: label))
        }
        return true
    }

    /// Removes the beginnings that were ignored, and returns them. Release them without a lock.
    mutating func takeIgnored() -> [Ignored] { exchange(&ignored, with: []) }

    /// A task has ended or paused: the beginning that was ignored does not count later.
    mutating func forgetBeginning(of object: ActivityObject) {
        if !ignored.isEmpty { ignored.removeAll { $0.key == object.key } }
    }

    private func index(of id: Int, at now: Duration) -> Int? {
        memories.lastIndex { $0.id == id && now - $0.instant < Self.window }
    }
}

extension ActivityKey {
    private final class NoObject: Sendable {}
    private static let noObject = NoObject()

    /// A task, represented by the address of its object, or by a hash of its value.
    fileprivate var task: (id: Int, object: AnyObject) {
        switch self {
        case .text(let text): (text.hashValue, Self.noObject)
        case .number(let number): (number.hashValue, Self.noObject)
        case .value(let value): (value.hashValue, Self.noObject)
        case .object(let object): (Int(bitPattern: object.key), object.object)
        }
    }
}
