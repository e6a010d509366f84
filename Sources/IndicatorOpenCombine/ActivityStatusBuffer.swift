import DequeModule
import IndicatorCore
import IndicatorThreads
import OpenCombine

/// What one subscriber has not been told yet, and how much it wants to know.
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
    /// Whether nothing follows what is in the outbox.
    private var isOver = false
    private(set) var isCancelled = false
    /// What is to be delivered.
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

    /// Takes note that there will be no more statuses. The completion follows those that wait, and needs no demand.
    mutating func finish() {
        isFinished = true
        deliver()
    }

    /// Forgets everything. Returns the tracker, which is to release the subscription, and what the caller releases
    /// without a lock.
    mutating func cancel() -> (tracker: ActivityTracker<Value>?, Deque<ActivityStatus<Value>>) {
        isCancelled = true
        isOver = true
        defer { statuses = [] }
        return (tracker, statuses)
    }

    /// Puts into the outbox what there is demand for.
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
