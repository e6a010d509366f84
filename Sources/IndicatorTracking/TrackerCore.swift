import IndicatorThreads
import Synchronization

/// What a tracker, its activities and its subscriptions share: the activities in progress, and the delivery of the
/// status.
///
/// A change is made under the lock. One job after it, on a thread for callers' code, then gives each subscription the
/// status as it is then; changes that come meanwhile share the next job. So no caller waits for a subscriber, and
/// nothing is called or released under the lock.
final class TrackerCore<Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: `lock` protects the variables and those of the activities. They are references and numbers, not one
    // struct behind the lock: a generic type is looked up at run time with each use.

    private let lock = Locked<Void>(())
    private var activityCount = 0
    private var lastOrder: UInt64 = 0
    /// The last activity in progress.
    private unowned(unsafe) var last: TrackerLink<Value>?
    /// The first activity in progress that has a value.
    private unowned(unsafe) var first: TrackerLink<Value>?
    private var subscriptions: [StatusSubscription<Value>] = []
    private var isObserved = false
    /// Whether the tracker was deallocated: no activity begins any more.
    private var isFinished = false
    private var isChanged = false
    /// Whether a job runs or is about to.
    private var isDelivering = false

    /// The status now.
    var status: ActivityStatus<Value> {
        lock.withLock { _ in ActivityStatus(isLoading: activityCount > 0, associatedValue: first?.value) }
    }

    /// Makes a change under the lock, which may use what follows, and delivers it.
    ///
    /// - Parameter body: returns whether the status has changed.
    @inline(__always)
    func change(_ body: (TrackerCore) -> Bool) {
        let mustDeliver = lock.withLock { _ in
            guard body(self), isObserved else { return false }
            isChanged = true
            return !exchange(&isDelivering, with: true)
        }
        if mustDeliver { startDelivery() }
    }

    /// The tracker was deallocated: the subscriptions receive the last status, and then `nil`.
    func finish() {
        change { _ in
            isFinished = true
            return true
        }
    }

    // MARK: - Activities, under the lock

    /// Adds an activity, the last in order. Returns whether the status has changed, as do the other functions.
    func append(_ activity: TrackerLink<Value>) -> Bool {
        activityCount += 1
        lastOrder += 1
        activity.order = lastOrder
        activity.previous = last
        last?.next = activity
        last = activity
        guard first == nil, activity.hasValue else { return activityCount == 1 }
        first = activity
        return true
    }

    func remove(_ activity: TrackerLink<Value>) -> Bool {
        activityCount -= 1
        activity.previous?.next = activity.next
        activity.next?.previous = activity.previous
        if last === activity { last = activity.previous }
        guard first === activity else { return activityCount == 0 }
        first = firstWithValue(after: activity)
        return true
    }

    func valueHasChanged(of activity: TrackerLink<Value>) -> Bool {
        if first === activity {
            if !activity.hasValue { first = firstWithValue(after: activity) }
            return true
        }
        guard activity.hasValue else { return false }
        if let first, first.order < activity.order { return false }
        first = activity
        return true
    }

    private func firstWithValue(after activity: TrackerLink<Value>) -> TrackerLink<Value>? {
        var next = activity.next
        while let activity = next, !activity.hasValue { next = activity.next }
        return next
    }

    // MARK: - Delivery

    func add(_ subscription: StatusSubscription<Value>) {
        change { _ in
            subscriptions.append(subscription)
            isObserved = true
            return true
        }
    }

    private func startDelivery() {
        // A job for each delivery: no thread is captured by a tracker that changes all the time.
        Task.detached(executorPreference: ServiceThread.forCallersCode) { self.deliver() }
    }

    private func deliver() {
        let (subscriptions, isLast) = lock.withLock { _ in
            isChanged = false
            return (self.subscriptions, isFinished)
        }
        let status = status
        for subscription in subscriptions { subscription.deliver(status, isLast: isLast) }
        let mustContinue = lock.withLock { _ in
            self.subscriptions.removeAll(where: \.isOver)
            isObserved = !self.subscriptions.isEmpty
            isDelivering = isChanged
            return isChanged
        }
        // Those that were removed are released here, without the lock.
        withExtendedLifetime(subscriptions) {}
        if mustContinue { startDelivery() }
    }
}

/// One subscription to the statuses of a tracker, which does not retain that.
package final class StatusSubscription<Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: one job at a time uses the variables.

    /// What became of a status, or of the `nil` after the last one, that was passed to the subscriber.
    package enum Reception {
        case taken
        /// The subscriber takes none now; after ``StatusSubscription/wake()``, it is passed the latest one.
        case refused
        /// The subscription ends.
        case last
    }

    package typealias Receive = @Sendable (ActivityStatus<Value>?) -> Reception

    private let core: TrackerCore<Value>
    private let areEqual: @Sendable (Value, Value) -> Bool
    private let isEnded = Atomic(false)
    fileprivate var isOver: Bool { receive == nil }
    // Removed by the last job: afterwards, a cancellation handler may have the last reference to the subscription.
    private var receive: Receive?
    private var last: ActivityStatus<Value>?

    init(
        _ core: TrackerCore<Value>,
        equalWhen areEqual: @escaping @Sendable (Value, Value) -> Bool,
        _ receive: @escaping Receive
    ) {
        (self.core, self.areEqual, self.receive) = (core, areEqual, receive)
    }

    /// Passes the latest status to the subscriber, if it has not taken it.
    package func wake() { core.change { _ in true } }

    /// Ends the subscription: `nil` follows. Releases nothing, so a cancellation handler may call it.
    package func end() {
        isEnded.store(true, ordering: .relaxed)
        wake()
    }

    fileprivate func deliver(_ status: ActivityStatus<Value>, isLast: Bool) {
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
    private func isNew(_ status: ActivityStatus<Value>) -> Bool {
        guard let last, last.isLoading == status.isLoading else { return true }
        return switch (last.associatedValue, status.associatedValue) {
        case (nil, nil): false
        case (let old?, let new?): !areEqual(old, new)
        default: true
        }
    }
}
