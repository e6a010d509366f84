/// The activities of an ``ActivityTracker``, and the statuses that are still to be delivered.
///
/// A plain value that the tracker keeps behind its lock. It calls nothing that is not the tracker's own: comparing values and
/// telling receivers is done with what ``nextBatch()`` returns, outside the lock, by one thread at a time.
struct ActivityTrackerState<Value: Sendable>: Sendable {
    typealias Slot = OrderedSlots<UInt64>.Slot
    typealias Subscriber = ActivityStatusSubscriber<Value>

    /// A status to deliver: to one who has just subscribed, or to all.
    struct Notice: Sendable {
        let status: ActivityStatus<Value>
        let newcomer: Subscriber?
    }

    /// Statuses, and those who had subscribed by the time of the last of them.
    struct Batch: Sendable {
        let notices: [Notice]
        let subscribers: [Subscriber]
    }

    /// What must differ for the status to be another one: whether there is an activity, and which is the first with a value.
    private struct Mark: Equatable {
        var isLoading: Bool
        var first: Slot?
    }

    /// The orders of the activities; those that have a value are ranked.
    ///
    /// The values are not in there but in ``values``, so that the heap is one of plain numbers and the compiler makes fast code of
    /// it whatever the values are.
    private var activities = OrderedSlots<UInt64>()
    /// The values of the activities, by slot.
    private var values: [Value?] = []
    private var nextOrder: UInt64 = 0
    private var subscribers: [Subscriber] = []
    private var outbox: [Notice] = []
    private var isDelivering = false

    /// The status now.
    var status: ActivityStatus<Value> {
        ActivityStatus(
            isLoading: !activities.isEmpty,
            associatedValue: activities.firstRankedSlot.flatMap { values[Int($0)] }
        )
    }

    /// Begins an activity, the last in order.
    mutating func begin(_ value: Value?) -> Slot {
        let before = mark
        let slot = activities.insert(nextOrder, order: nextOrder, isRanked: value != nil)
        nextOrder += 1
        if Int(slot) == values.count { values.append(value) } else { values[Int(slot)] = value }
        if mark != before { postStatus() }
        return slot
    }

    /// Changes the value of an activity. Returns the old one, for the caller to let go of outside the lock: its `deinit` may be
    /// anybody's code.
    mutating func update(_ slot: Slot, to value: Value?) -> Value? {
        let before = mark
        let old = exchange(slot, value)
        activities.setRanked(value != nil, slot: slot)
        if mark != before || before.first == slot { postStatus() }
        return old
    }

    /// Ends an activity. Returns its value, for the caller to let go of outside the lock.
    mutating func end(_ slot: Slot) -> Value? {
        let before = mark
        activities.remove(slot)
        let old = exchange(slot, nil)
        if mark != before { postStatus() }
        return old
    }

    private mutating func exchange(_ slot: Slot, _ value: Value?) -> Value? {
        var value = value
        swap(&values[Int(slot)], &value)
        return value
    }

    // MARK: - Delivery

    /// Adds a subscriber, who is to be told the present status first.
    mutating func subscribe(_ subscriber: Subscriber) {
        subscribers.append(subscriber)
        outbox.append(Notice(status: status, newcomer: subscriber))
    }

    mutating func unsubscribe(_ receiver: any ActivityStatusReceiver<Value>) {
        subscribers.removeAll { $0.receiver === receiver }
    }

    mutating func removeSubscribers() -> [Subscriber] {
        defer { subscribers = [] }
        return subscribers
    }

    /// Whether there is something to deliver and nobody does. Whoever gets `true` must ask for batches until there are no more.
    mutating func takesUpDelivery() -> Bool {
        guard !isDelivering, !outbox.isEmpty else { return false }
        isDelivering = true
        return true
    }

    /// What is to be delivered next; `nil` ends the delivery.
    mutating func nextBatch() -> Batch? {
        guard !outbox.isEmpty else {
            isDelivering = false
            return nil
        }
        defer { outbox = [] }
        return Batch(notices: outbox, subscribers: subscribers)
    }

    private var mark: Mark {
        Mark(isLoading: !activities.isEmpty, first: activities.firstRankedSlot)
    }

    private mutating func postStatus() {
        guard !subscribers.isEmpty else { return }
        outbox.append(Notice(status: status, newcomer: nil))
    }
}
