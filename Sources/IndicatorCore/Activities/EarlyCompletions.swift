/// The completions of tasks that are not in progress, to ignore the beginnings that they have overtaken (rule 7 of
/// <doc:RulesOfVisibility>); and the latest ends, because a repeated completion has not overtaken anything. It keeps
/// nothing alive.
struct EarlyCompletions: Sendable {
    /// How long one is remembered: a beginning exactly that much later counts.
    static var window: Duration { .milliseconds(250) }
    static var capacity: Int { 1024 }

    private struct Memory: Sendable {
        let id: Int
        /// Keeps the memory of a deallocated object, so that no other object gets its address.
        let object: ObservedObject
        var instant: Duration
    }

    /// Memories in the order of their times; the oldest are forgotten when there are too many.
    private struct Memories: Sendable {
        private var all: [Memory] = []

        var isEmpty: Bool { all.isEmpty }

        /// Forgets what is out of date, if that is at least a half: what remains is moved.
        mutating func forget(at now: Duration) {
            guard !all.isEmpty, now - all[all.count / 2].instant >= EarlyCompletions.window else { return }
            all.removeFirst(all.firstIndex { now - $0.instant < EarlyCompletions.window } ?? all.count)
        }

        mutating func append(_ memory: Memory) {
            // Not one by one, which would move all others each time.
            if all.count >= EarlyCompletions.capacity { all.removeFirst(EarlyCompletions.capacity / 4) }
            all.append(memory)
        }

        func contains(_ id: Int, at now: Duration) -> Bool {
            all.contains { $0.id == id && now - $0.instant < EarlyCompletions.window }
        }

        /// Removes the memory of a task. Returns it if it was up to date.
        mutating func remove(_ id: Int, at now: Duration) -> Memory? {
            guard let index = all.lastIndex(where: { $0.id == id }) else { return nil }
            let memory = all.remove(at: index)
            return now - memory.instant < EarlyCompletions.window ? memory : nil
        }
    }

    /// A beginning that was ignored. It counts if its object still lives at the next check of lifetimes.
    struct Ignored: Sendable {
        let object: ObservedObject
        let key: ActivityObject.Key
        let label: String?
    }

    /// The completions of tasks that were not in progress.
    private var early = Memories()
    /// The ends of tasks, and the beginnings that were ignored. Apart: many ends forget no completion.
    private var ends = Memories()
    private var ignored: [Ignored] = []

    var isEmpty: Bool { early.isEmpty && ends.isEmpty }
    var hasIgnored: Bool { !ignored.isEmpty }

    /// Forgets what is out of date.
    mutating func forget(at now: Duration) {
        early.forget(at: now)
        ends.forget(at: now)
    }

    /// Remembers the completion of a task. `isEnd` is whether the task was in progress.
    mutating func remember(_ key: ActivityKey, isEnd: Bool, at now: Duration) {
        if case .object(let object) = key { forgetBeginning(of: object) }
        let task = key.task
        let memory = Memory(id: task.id, object: ObservedObject(task.object), instant: now)
        if !early.isEmpty { _ = early.remove(task.id, at: now) }
        if isEnd {
            ends.append(memory)
        } else if !ends.contains(task.id, at: now) {
            early.append(memory)
        }
    }

    /// Whether a completion has overtaken this beginning of a task, which must then be ignored.
    mutating func consume(_ key: ActivityKey, label: String? = nil, at now: ActivityList.Now) -> Bool {
        guard !early.isEmpty else { return false }
        let now = now()
        guard var memory = early.remove(key.task.id, at: now) else { return false }
        memory.instant = now
        ends.append(memory)
        if case .object(let object) = key, ignored.count < Self.capacity {
            ignored.append(Ignored(object: ObservedObject(object.object), key: object.key, label: label))
        }
        return true
    }

    /// Removes the beginnings that were ignored, and returns them. Release them without a lock.
    mutating func takeIgnored() -> [Ignored] { exchange(&ignored, with: []) }

    /// A task has ended or paused: the beginning that was ignored does not count later.
    mutating func forgetBeginning(of object: ActivityObject) {
        if !ignored.isEmpty { ignored.removeAll { $0.key == object.key } }
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
