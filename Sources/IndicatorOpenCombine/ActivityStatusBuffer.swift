import IndicatorCore
import OpenCombine

/// What one subscriber has not been told yet, and how much it wants to know.
struct ActivityStatusBuffer<Value: Sendable>: Sendable {
    enum Delivery: Sendable {
        case status(ActivityStatus<Value>)
        case completion
    }

    private weak var tracker: ActivityTracker<Value>?
    /// The statuses to deliver, those before `head` being delivered already.
    private var statuses: [ActivityStatus<Value>] = []
    private var head = 0
    private var demand = Subscribers.Demand.none
    private var isFinished = false
    private var isOver = false
    private var isDelivering = false

    init(tracker: ActivityTracker<Value>) {
        self.tracker = tracker
    }

    mutating func append(_ status: ActivityStatus<Value>) {
        if !isOver { statuses.append(status) }
    }

    mutating func add(_ more: Subscribers.Demand) {
        demand += more
    }

    /// Takes note that there will be no more statuses. The completion follows those that wait, and needs no demand.
    mutating func finish() {
        isFinished = true
    }

    /// Forgets everything. Returns the tracker that is to let go of the subscription.
    mutating func cancel() -> ActivityTracker<Value>? {
        isOver = true
        statuses = []
        head = 0
        defer { tracker = nil }
        return tracker
    }

    /// Whether there is something to deliver and nobody does. Whoever gets `true` must ask for deliveries until there are no more.
    mutating func takesUpDelivery() -> Bool {
        guard !isDelivering, hasDelivery else { return false }
        isDelivering = true
        return true
    }

    /// What is to be delivered next; `nil` ends the delivery.
    mutating func next() -> Delivery? {
        guard hasDelivery else {
            isDelivering = false
            return nil
        }
        guard head < statuses.count else {
            isOver = true
            return .completion
        }
        demand -= 1
        defer { advance() }
        return .status(statuses[head])
    }

    private var hasDelivery: Bool {
        guard !isOver else { return false }
        return head < statuses.count ? demand > .none : isFinished
    }

    private mutating func advance() {
        head += 1
        if head == statuses.count {
            statuses.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 64, head * 2 >= statuses.count {
            statuses.removeFirst(head)
            head = 0
        }
    }
}
