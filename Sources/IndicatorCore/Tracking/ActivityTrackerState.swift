import IndicatorThreads

/// The activities of an ``ActivityTracker``, and the statuses that are still to be delivered.
///
/// A plain value that the tracker keeps behind its lock. It calls nothing that is not the tracker's own, and hands the
/// values that it removes to its caller: comparing and releasing values, and calling receivers, happens outside the lock.
struct ActivityTrackerState<Value: Sendable>: Sendable {
    typealias Subscriber = ActivityStatusSubscriber<Value>

    /// A status to deliver: to one that has just subscribed, or to all that had subscribed by then.
    struct Notice: Sendable {
        let status: ActivityStatus<Value>
        let receivers: [Subscriber]
    }

    private var activityCount = 0
    /// The values of the activities that have one.
    private var values = OrderedList<Value>()
    private var nextOrder: UInt64 = 0
    private var subscribers: [Subscriber] = []
    /// The statuses to deliver.
    var outbox = Outbox<Notice>()

    /// The status now.
    var status: ActivityStatus<Value> {
        ActivityStatus(isLoading: activityCount > 0, associatedValue: values.first?.value)
    }

    /// Begins an activity, the last in order. Returns its order.
    mutating func begin(_ value: Value?) -> UInt64 {
        let order = nextOrder
        nextOrder += 1
        activityCount += 1
        values.set(order, to: value)
        if activityCount == 1 || values.first?.order == order { postStatus() }
        return order
    }

    /// Changes the value of an activity. Returns the old one.
    mutating func update(_ order: UInt64, to value: Value?) -> Value? {
        let wasFirst = values.first?.order == order
        let old = values.set(order, to: value)
        if wasFirst || values.first?.order == order { postStatus() }
        return old
    }

    /// Ends an activity. Returns its value.
    mutating func end(_ order: UInt64) -> Value? {
        let wasFirst = values.first?.order == order
        activityCount -= 1
        let old = values.set(order, to: nil)
        if wasFirst || activityCount == 0 { postStatus() }
        return old
    }

    // MARK: - Subscribers

    /// Adds a subscriber, which gets the present status first.
    mutating func subscribe(_ subscriber: Subscriber) {
        subscribers.append(subscriber)
        outbox.append(Notice(status: status, receivers: [subscriber]))
    }

    /// Removes a subscriber, and returns it.
    mutating func unsubscribe(_ receiver: any ActivityStatusReceiver<Value>) -> [Subscriber] {
        let removed = subscribers.filter { $0.receiver === receiver }
        subscribers.removeAll { $0.receiver === receiver }
        return removed
    }

    /// Removes all subscribers, and returns them.
    mutating func removeSubscribers() -> [Subscriber] {
        defer { subscribers = [] }
        return subscribers
    }

    private mutating func postStatus() {
        guard !subscribers.isEmpty else { return }
        outbox.append(Notice(status: status, receivers: subscribers))
    }
}
