/// Knows which activities that have an identity are in progress.
///
/// A plain value, like ``VisibilityStateMachine``, and the other half of the rules: starting an identity that is in progress
/// changes nothing, nor does stopping one that is not; and a stop that overtakes its own start swallows it.
struct ActivityRegistry<Key: ActivityIdentity, Entry> {
    private var table = ActivityTable<Key, Entry>()
    private var overtaken = OvertakenStarts<Key>()

    /// How many activities are in progress.
    var count: Int { table.count }

    /// What is kept for an activity that is in progress.
    subscript(key: Key) -> Entry? { table.index(of: key).map { table[$0] } }

    /// Starts an activity. Returns whether it is in progress from now on and was not before.
    ///
    /// - Parameters:
    ///   - key: the activity's identity.
    ///   - now: the time; read only when a stop is remembered.
    ///   - entry: what to keep for it; made only when it starts.
    mutating func start(_ key: Key, at now: @autoclosure () -> Duration, entry: @autoclosure () -> Entry) -> Bool {
        guard case .vacant(let vacancy) = table.search(key) else { return false }
        if !overtaken.isEmpty, overtaken.swallowsStart(of: key, at: now()) { return false }
        table.insert(key, entry(), at: vacancy)
        return true
    }

    /// Stops an activity. Returns what was kept for it, or `nil` when it was not in progress.
    ///
    /// - Parameters:
    ///   - key: the activity's identity.
    ///   - object: the object that the key stands for, if it does.
    ///   - now: the time; read only when the activity is not in progress.
    mutating func stop(
        _ key: Key,
        object: @autoclosure () -> ObservedObject? = nil,
        at now: @autoclosure () -> Duration
    ) -> Entry? {
        if let index = table.index(of: key) { return table.remove(at: index) }
        overtaken.remember(key, object: object(), at: now())
        return nil
    }

    /// Ends an activity without remembering anything if it is not in progress, or if a condition does not hold for it.
    mutating func remove(_ key: Key, where condition: (borrowing Entry) -> Bool = { _ in true }) -> Entry? {
        guard let index = table.index(of: key), condition(table[index]) else { return nil }
        return table.remove(at: index)
    }

    /// Changes what is kept for an activity; without effect when it is not in progress.
    mutating func update(_ key: Key, _ change: (inout Entry) -> Void) {
        guard let index = table.index(of: key) else { return }
        change(&table[index])
    }

    /// Removes all activities that a condition holds for, and returns what was kept for them.
    mutating func removeAll(where condition: (Entry) -> Bool) -> [Entry] {
        table.removeAll(where: condition)
    }
}

extension ActivityRegistry: Sendable where Key: Sendable, Entry: Sendable {}
