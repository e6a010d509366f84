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
    typealias Status = (isLoading: Bool, value: (any AnyObject & Sendable)?)

    private struct State: @unchecked Sendable {
        // `@unchecked`: the lock protects the links, too.

        var activityCount = 0
        var lastOrder: UInt64 = 0
        /// The first and the last activity in progress that has a value.
        unowned(unsafe) var first: TrackerLink?
        unowned(unsafe) var last: TrackerLink?
        var subscriptions: [LatestValues] = []
        /// Whether the tracker was deallocated: no activity begins any more.
        var isFinished = false

        /// Adds an activity to the list, in the order of beginning: mostly behind all others or before them.
        mutating func insert(_ link: TrackerLink) {
            var previous = last
            if let first, first.order > link.order { previous = nil }
            while let other = previous, other.order > link.order { previous = other.previous }
            link.previous = previous
            if let previous {
                (link.next, previous.next) = (previous.next, link)
            } else {
                (link.next, first) = (first, link)
            }
            if let next = link.next { next.previous = link } else { last = link }
        }

        mutating func remove(_ link: TrackerLink) {
            if let previous = link.previous { previous.next = link.next } else { first = link.next }
            if let next = link.next { next.previous = link.previous } else { last = link.previous }
        }
    }

    private let state = Locked(State())

    /// Makes a change under the lock, and signals it. `body` returns whether the status has changed.
    private func change(_ body: (inout State) -> Bool) {
        for subscription in state.withLock({ body(&$0) ? $0.subscriptions : [] }) { subscription.signal() }
    }

    // MARK: - Activities

    /// Begins an activity; without effect when it has begun or ended.
    @usableFromInline
    func begin(_ link: TrackerLink, _ value: (any AnyObject & Sendable)?) {
        change { state in
            guard link.phase == .notBegun else { return false }
            state.activityCount += 1
            state.lastOrder += 1
            (link.phase, link.order, link.value) = (.inProgress, state.lastOrder, value)
            if value != nil { state.insert(link) }
            return state.activityCount == 1 || state.first === link
        }
    }

    /// Changes the value of an activity in progress, which keeps its place in the order. When it has ended, `nil`
    /// releases its value.
    @usableFromInline
    func update(_ link: TrackerLink, _ value: (any AnyObject & Sendable)?) {
        // Holds the old value until the lock is released: its `deinit` may do anything.
        var other = value
        change { state in
            guard link.phase == .inProgress else {
                if value == nil { swap(&link.value, &other) }
                return false
            }
            let wasFirst = state.first === link
            if link.value == nil, value != nil { state.insert(link) }
            if link.value != nil, value == nil { state.remove(link) }
            swap(&link.value, &other)
            return wasFirst || state.first === link
        }
        withExtendedLifetime(other) {}
    }

    /// Ends an activity; without effect when it has ended.
    @usableFromInline
    func end(_ link: TrackerLink) {
        change { state in
            guard exchange(&link.phase, with: .ended) == .inProgress else { return false }
            state.activityCount -= 1
            let wasFirst = state.first === link
            if link.value != nil { state.remove(link) }
            return wasFirst || state.activityCount == 0
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
    func finish() {
        change { state in
            state.isFinished = true
            return true
        }
    }
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
    fileprivate var value: (any AnyObject & Sendable)?
    fileprivate unowned(unsafe) var previous: TrackerLink?
    fileprivate unowned(unsafe) var next: TrackerLink?
}
