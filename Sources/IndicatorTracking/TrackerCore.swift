import IndicatorThreads
import Synchronization

/// What a tracker, its activities and its subscriptions share: how many activities are in progress, the list of those
/// that have a value, and the delivery of the status.
///
/// A change is made under the lock. One job after it, on a thread for callers' code, then gives each subscription the
/// status as it is then; changes that come meanwhile share the next job. So no caller waits for a subscriber, and
/// nothing is called or released under the lock.
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
        var subscriptions: [StatusSubscription] = []
        /// Whether the tracker was deallocated: no activity begins any more.
        var isFinished = false
        var isChanged = false
        /// Whether a job runs or is about to.
        var isDelivering = false

        var status: Status { (activityCount > 0, first?.value) }

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

    /// The status now.
    var status: Status { state.withLock { $0.status } }

    /// Makes a change under the lock, and delivers it. `body` returns whether the status has changed.
    private func change(_ body: (inout State) -> Bool) {
        let mustDeliver = state.withLock { state in
            guard body(&state), !state.subscriptions.isEmpty else { return false }
            state.isChanged = true
            return !exchange(&state.isDelivering, with: true)
        }
        if mustDeliver { startDelivery() }
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

    // MARK: - Delivery

    func subscribe(
        equalWhen areEqual: @escaping @Sendable (AnyObject, AnyObject) -> Bool,
        _ receive: @escaping @Sendable (Status?) -> StatusSubscription.Reception
    ) -> StatusSubscription {
        let subscription = StatusSubscription(self, equalWhen: areEqual, receive)
        change { state in
            state.subscriptions.append(subscription)
            return true
        }
        return subscription
    }

    /// Passes the latest status to the subscriptions that have not taken it.
    func wake() { change { _ in true } }

    /// The tracker was deallocated: the subscriptions receive the last status, and then `nil`.
    func finish() {
        change { state in
            state.isFinished = true
            return true
        }
    }

    private func startDelivery() {
        // A job for each delivery: no thread is captured by a tracker that changes all the time.
        Task.detached(executorPreference: ServiceThread.forCallersCode) { self.deliver() }
    }

    private func deliver() {
        let (subscriptions, status, isLast) = state.withLock { state in
            state.isChanged = false
            return (state.subscriptions, state.status, state.isFinished)
        }
        for subscription in subscriptions { subscription.deliver(status, isLast: isLast) }
        let mustContinue = state.withLock { state in
            state.subscriptions.removeAll(where: \.isOver)
            state.isDelivering = state.isChanged && !state.subscriptions.isEmpty
            return state.isDelivering
        }
        // Those that were removed are released here, without the lock.
        withExtendedLifetime(subscriptions) {}
        if mustContinue { startDelivery() }
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

/// One subscription to the statuses of a tracker, which does not retain that.
package final class StatusSubscription: @unchecked Sendable {
    // `@unchecked`: one job at a time uses the variables.

    /// What became of a status, or of the `nil` after the last one, that was passed to the subscriber.
    package enum Reception {
        case taken
        /// The subscriber takes none now; after ``StatusSubscription/wake()``, it is passed the latest one.
        case refused
        /// The subscription ends.
        case last
    }

    private let core: TrackerCore
    private let areEqual: @Sendable (AnyObject, AnyObject) -> Bool
    private let isEnded = Atomic(false)
    fileprivate var isOver: Bool { receive == nil }
    // Removed by the last job: afterwards, a cancellation handler may have the last reference to the subscription.
    private var receive: (@Sendable (TrackerCore.Status?) -> Reception)?
    private var last: TrackerCore.Status?

    fileprivate init(
        _ core: TrackerCore,
        equalWhen areEqual: @escaping @Sendable (AnyObject, AnyObject) -> Bool,
        _ receive: @escaping @Sendable (TrackerCore.Status?) -> Reception
    ) {
        (self.core, self.areEqual, self.receive) = (core, areEqual, receive)
    }

    /// Passes the latest status to the subscriber, if it has not taken it.
    package func wake() { core.wake() }

    /// Ends the subscription: `nil` follows. Releases nothing, so a cancellation handler may call it.
    package func end() {
        isEnded.store(true, ordering: .relaxed)
        wake()
    }

    fileprivate func deliver(_ status: TrackerCore.Status, isLast: Bool) {
        guard let receive else { return }
        var isLast = isLast
        if isEnded.load(ordering: .relaxed) {
            isLast = true
        } else if isNew(status) {
            switch receive(status) {
            case .taken: last = status
            case .last: isLast = true
            case .refused: return
            }
        }
        if isLast, receive(nil) != .refused { (self.receive, last) = (nil, nil) }
    }

    /// Whether a status differs from the last one that was taken.
    private func isNew(_ status: TrackerCore.Status) -> Bool {
        guard let last, last.isLoading == status.isLoading else { return true }
        return switch (last.value, status.value) {
        case (nil, nil): false
        case (let old?, let new?): !areEqual(old, new)
        default: true
        }
    }
}
