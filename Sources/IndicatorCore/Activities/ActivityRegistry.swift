/// Knows which activities that have an identity are in progress.
///
/// A plain value, like ``VisibilityStateMachine``, and the other half of the rules: starting an identity that is in progress
/// changes nothing, nor does stopping one that is not; and a stop that overtakes its own start swallows it.
struct ActivityRegistry<Key: Hashable, Entry> {
    private var entries: [Key: Entry] = [:]
    private var overtaken = OvertakenStarts<Key>()

    /// How many activities are in progress.
    var count: Int { entries.count }

    /// What is kept for an activity that is in progress.
    subscript(key: Key) -> Entry? {
        get { entries[key] }
        set {
            precondition((newValue == nil) == (entries[key] == nil), "use start and stop")
            entries[key] = newValue
        }
    }

    /// Starts an activity. Returns whether it is in progress from now on and was not before.
    ///
    /// - Parameters:
    ///   - key: the activity's identity.
    ///   - now: the time; read only when a stop is remembered.
    ///   - entry: what to keep for it; made only when it starts.
    mutating func start(_ key: Key, at now: @autoclosure () -> Duration, entry: @autoclosure () -> Entry) -> Bool {
        guard entries[key] == nil else { return false }
        if !overtaken.isEmpty, overtaken.swallowsStart(of: key, at: now()) { return false }
        entries[key] = entry()
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
        if let entry = entries.removeValue(forKey: key) { return entry }
        overtaken.remember(key, object: object(), at: now())
        return nil
    }

    /// Removes all activities that a condition holds for, and returns what was kept for them.
    mutating func removeAll(where condition: (Entry) -> Bool) -> [Entry] {
        let removed = entries.filter { condition($0.value) }
        for key in removed.keys { entries[key] = nil }
        return Array(removed.values)
    }
}

extension ActivityRegistry: Sendable where Key: Sendable, Entry: Sendable {}
