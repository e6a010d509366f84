import IndicatorCore
import IndicatorThreads
import Synchronization

/// What a tracker, its activities and its subscriptions share: how many activities are in progress, and the list of
/// those that have a value.
///
/// A change is made under the lock, and then signalled to the subscriptions, which take the status as it is then. So no
/// caller waits for a subscriber, and nothing is called or released under the lock.
///
/// It is not generic: generic code looks up its types at run time, which takes ten times as long as a change.
@usableFromInline
final class TrackerCore: Sendable {
    /// A ``TrackerValue``.
    @usableFromInline typealias Value = any AnyObject & Sendable
    typealias Status = (isLoading: Bool, value: Value?)

    private struct State: @unchecked Sendable {
        // `@unchecked`: the lock protects the links, too.

        var activityCount = 0
        var lastOrder: UInt64 = 0
        /// The activities in progress that have a value, in the order in which they began. An activity ends before it
        /// releases its link.
        var valued = OrderedObjects()
        var subscriptions: [LatestValues] = []
        /// Whether the tracker was deallocated: no activity begins any more.
        var isFinished = false

        /// The first that has a value.
        var first: TrackerLink? { valued.first.map { unsafeDowncast($0, to: TrackerLink.self) } }

        /// What differs after a change of the status: each value has an object of its own.
        var identity: (Bool, ObjectIdentifier?, Bool) {
            (activityCount > 0, first?.value.map { ObjectIdentifier($0) }, isFinished)
        }

        /// Changes the value of an activity, and its place in the list. Returns the old one.
        mutating func setValue(_ value: Value?, of link: TrackerLink) -> Value? {
            if link.value == nil, value != nil { valued.insert(link, at: link.order) }
            if link.value != nil, value == nil { valued.remove(at: link.order) }
            return exchange(&link.value, with: value)
        }
    }

    private let state = Locked(State())

    /// Makes a change under the lock, and signals it if the status has changed.
    private func change(_ body: (inout State) -> Void) {
        let subscriptions = state.withLock { state in
            let before = state.identity
            body(&state)
            return state.identity == before ? [] : state.subscriptions
        }
        for subscription in subscriptions { subscription.signal() }
    }

    // MARK: - Activities

    /// Begins an activity; without effect when it has begun or ended.
    @usableFromInline
    func begin(_ link: TrackerLink, _ value: Value?) {
        change { state in
            guard link.phase == .notBegun else { return }
            state.activityCount += 1
            state.lastOrder += 1
            (link.phase, link.order) = (.inProgress, state.lastOrder)
            _ = state.setValue(value, of: link)
        }
    }

    /// Changes the value of an activity in progress, which keeps its place in the order. When it has ended, `nil`
    /// releases its value.
    @usableFromInline
    func update(_ link: TrackerLink, _ value: Value?) {
        // Released without the lock: its `deinit` may do anything.
        var old: Value?
        change { state in
            if link.phase == .inProgress {
                old = state.setValue(value, of: link)
            } else if value == nil {
                old = link.value.take()
            }
        }
        withExtendedLifetime(old) {}
    }

    /// Ends an activity; without effect when it has ended.
    @usableFromInline
    func end(_ link: TrackerLink) {
        change { state in
            guard exchange(&link.phase, with: .ended) == .inProgress else { return }
            state.activityCount -= 1
            // The value is released with the activity.
            if link.value != nil { state.valued.remove(at: link.order) }
        }
    }

    // MARK: - Subscriptions

    var subscriptionCount: Int { state.withLock { $0.subscriptions.count } }

    func add(_ subscription: LatestValues) { state.withLock { $0.subscriptions.append(subscription) } }

    func remove(_ subscription: LatestValues) {
        state.withLock { $0.subscriptions.removeAll { $0 === subscription } }
    }

    /// The status now, and whether the tracker was deallocated, so that it is the last one.
    var latest: (status: Status, isLast: Bool) {
        state.withLock { (($0.activityCount > 0, $0.first?.value) as Status, $0.isFinished) }
    }

    /// The tracker was deallocated: the subscriptions end after the last status.
    func finish() { change { $0.isFinished = true } }
}

/// The value of an activity, in an object, because copies of an optional `any Sendable` are slow.
@usableFromInline
final class TrackerValue<Value: Sendable>: Sendable {
    @usableFromInline let value: Value

    @inlinable
    init(_ value: Value) {
        self.value = value
    }

    static func value(of object: AnyObject) -> Value { unsafeDowncast(object, to: Self.self).value }
}

/// The place of an activity in its tracker.
///
/// Not the activity itself: a reference that a change takes under the lock might be the last one to that, and its
/// `deinit` needs the lock. The activity ends before it releases the link.
@usableFromInline
final class TrackerLink: @unchecked Sendable {
    // `@unchecked`: the lock of `TrackerCore` protects the variables.

    @usableFromInline
    init() {}

    /// Where the activity is in its life.
    enum Phase {
        case notBegun, inProgress, ended
    }

    fileprivate var phase = Phase.notBegun
    /// The place in the order of beginning.
    fileprivate var order: UInt64 = 0
    fileprivate var value: TrackerCore.Value?
}
