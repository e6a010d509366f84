public import IndicatorCore

/// What a tracker, its activities and its subscriptions share: how many activities are in progress, and the list of
/// those that have a value.
///
/// A change is made under the lock, and then signalled to the subscriptions, which take the status as it is then. So no
/// caller waits for a subscriber, and nothing is called or released under the lock. The first value is signalled again
/// only after it was taken: until then, an update only replaces it.
///
/// It is not generic, and what is generic is inlined: other generic code looks up its types at run time, which takes
/// ten times as long as a change.
@usableFromInline
final class TrackerCore: Sendable {
    @usableFromInline
    struct State: Sendable {
        private(set) var activityCount = 0
        @usableFromInline var lastOrder: UInt64 = 0
        /// The ``TrackerLink``s of the activities in progress that have a value, in the order in which they began. An
        /// activity ends before it releases its link.
        private var valued = OrderedObjects()
        /// The place of the activity whose value was taken last, until it changes.
        @usableFromInline var taken: UInt64 = 0
        var subscriptions: [LatestValues] = []
        /// Whether the tracker was deallocated: no activity begins any more.
        var isFinished = false

        /// The link of the first that has a value.
        var first: AnyObject? { valued.first }

        /// Whether an activity is in progress, and the first with a value.
        private var identity: (Bool, ObjectIdentifier?) { (activityCount > 0, first.map { ObjectIdentifier($0) }) }

        /// Adds to the number of activities, and to the list one that gets a value, or removes one that has it no
        /// more. Returns whether the status has changed.
        @usableFromInline
        mutating func add(_ count: Int, _ link: AnyObject, at order: UInt64, had hadValue: Bool, has hasValue: Bool)
            -> Bool
        {
            let before = identity
            activityCount += count
            if hasValue, !hadValue { valued.insert(link, at: order) }
            if hadValue, !hasValue { valued.remove(at: order) }
            return identity != before
        }
    }

    @usableFromInline let state = Locked(State())

    /// Makes a change under the lock, and signals it if the status has changed.
    @inlinable @inline(__always)
    func change(_ body: (inout State) -> Bool) {
        if state.withLock({ body(&$0) }) { signal() }
    }

    @usableFromInline
    func signal() {
        for subscription in state.withLock({ $0.subscriptions }) { subscription.signal() }
    }

    // MARK: - Activities

    /// Begins an activity; without effect when it has begun or ended.
    @inlinable
    func begin<Value>(_ link: TrackerLink<Value>, _ value: Value?) {
        change { state in
            guard link.phase == .notBegun else { return false }
            state.lastOrder += 1
            (link.phase, link.order, link.value) = (.inProgress, state.lastOrder, value)
            return state.add(1, link, at: link.order, had: false, has: value != nil)
        }
    }

    /// Changes the value of an activity in progress, which keeps its place in the order. When it has ended, `nil`
    /// releases its value.
    @inlinable
    func update<Value>(_ link: TrackerLink<Value>, _ value: Value?) {
        // Then the old one, which is released without the lock: its `deinit` may do anything.
        var other = value
        change { state in
            if link.phase != .inProgress, value != nil { return false }
            swap(&link.value, &other)
            if link.phase != .inProgress { return false }
            let (had, has) = (other != nil, value != nil)
            if had != has { return state.add(0, link, at: link.order, had: had, has: has) }
            guard state.taken == link.order else { return false }
            state.taken = 0
            return true
        }
        withExtendedLifetime(other) {}
    }

    /// Ends an activity; without effect when it has ended.
    @inlinable
    func end<Value>(_ link: TrackerLink<Value>) {
        change { state in
            let phase = link.phase
            link.phase = .ended
            // The value is released with the activity.
            return phase == .inProgress && state.add(-1, link, at: link.order, had: link.value != nil, has: false)
        }
    }

    // MARK: - Subscriptions

    /// The status of a tracker of such values. `isLast` is whether the tracker was deallocated.
    ///
    /// - Parameter isTaken: whether subscriptions need another signal when the value changes.
    func latest<Value>(isTaken: Bool) -> (status: ActivityStatus<Value>, isLast: Bool) {
        var value: Value?
        let (isLoading, isLast) = state.withLock { state in
            if let first = state.first {
                let link = unsafeDowncast(first, to: TrackerLink<Value>.self)
                value = link.value
                if isTaken { state.taken = link.order }
            }
            return (state.activityCount > 0, state.isFinished)
        }
        return (ActivityStatus(isLoading: isLoading, associatedValue: value), isLast)
    }

    /// The tracker was deallocated: the subscriptions end after the last status.
    func finish() {
        state.withLock { $0.isFinished = true }
        signal()
    }
}

/// The place of an activity in its tracker, and its value.
///
/// Not the activity itself: a reference that a change takes under the lock might be the last one to that, and its
/// `deinit` needs the lock. The activity ends before it releases the link.
@usableFromInline
final class TrackerLink<Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: the lock of `TrackerCore` protects the variables. It excludes other accesses, whose check is
    // measurable.

    /// Where the activity is in its life.
    @usableFromInline
    enum Phase {
        case notBegun, inProgress, ended
    }

    @exclusivity(unchecked) @usableFromInline var phase = Phase.notBegun
    /// The place in the order of beginning.
    @exclusivity(unchecked) @usableFromInline var order: UInt64 = 0
    @exclusivity(unchecked) @usableFromInline var value: Value?

    @inlinable
    init() {}
}
