import DequeModule
import IndicatorCore
import IndicatorThreads
import OpenCombine

/// The undelivered statuses of one subscriber, and its demand.
struct ActivityStatusBuffer<Value: Sendable>: Sendable {
    enum Delivery: Sendable {
        case status(ActivityStatus<Value>)
        case completion
    }

    private weak var tracker: ActivityTracker<Value>?
    /// The statuses that wait for demand.
    private var statuses: Deque<ActivityStatus<Value>> = []
    private var demand = Subscribers.Demand.none
    private var isFinished = false
    /// Whether the outbox is complete.
    private var isOver = false
    private(set) var isCancelled = false
    /// The statuses with demand, to be delivered.
    var outbox = Outbox<Delivery>()

    init(tracker: ActivityTracker<Value>) {
        self.tracker = tracker
    }

    mutating func append(_ status: ActivityStatus<Value>) {
        if !isOver { statuses.append(status) }
        deliver()
    }

    mutating func add(_ more: Subscribers.Demand) {
        demand += more
        deliver()
    }

    /// Ends the statuses. The completion follows the waiting ones, and needs no demand.
    mutating func finish() {
        isFinished = true
        deliver()
    }

    /// Discards everything. Returns the tracker, from which the caller unsubscribes, and the statuses, which the caller
    /// releases without the lock.
    mutating func cancel() -> (tracker: ActivityTracker<Value>?, Deque<ActivityStatus<Value>>) {
        isCancelled = true
        isOver = true
        defer { statuses = [] }
        return (tracker, statuses)
    }

    /// Moves statuses to the outbox, as far as there is demand.
    private mutating func deliver() {
        while demand > .none, let status = statuses.popFirst() {
            demand -= 1
            outbox.append(.status(status))
        }
        if isFinished, statuses.isEmpty, !isOver {
            isOver = true
            outbox.append(.completion)
        }
    }
}
