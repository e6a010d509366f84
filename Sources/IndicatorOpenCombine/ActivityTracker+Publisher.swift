import IndicatorCore
public import IndicatorTracking
public import OpenCombine

extension ActivityTracker {
    /// Publishes the current status, then its changes in order. It never fails.
    ///
    /// The latest status wins, as with `CurrentValueSubject`: one that is replaced before the subscriber demands it, or
    /// before it can be delivered, is skipped. Every subscriber ends with the current status. A subscription does not
    /// keep the tracker alive, and finishes when the tracker is deallocated, after the last status.
    ///
    /// Delivers off the main actor, on a thread of the indicator's, one status at a time. A closure of the main actor
    /// traps there: use ``publisher(on:options:)``.
    public var publisher: ActivityStatusPublisher<Value> {
        ActivityStatusPublisher(tracker: self) { $0() }
    }

    /// The same on a scheduler, which never has more than one action of a subscription to run: a subscriber receives
    /// one status at a time, and the order is also kept on a concurrent scheduler.
    ///
    /// - Parameters:
    ///   - scheduler: where statuses are delivered.
    ///   - options: the scheduler's options.
    public func publisher<Context: Scheduler>(
        on scheduler: Context,
        options: Context.SchedulerOptions? = nil
    ) -> ActivityStatusPublisher<Value> {
        ActivityStatusPublisher(tracker: self) { scheduler.schedule(options: options, $0) }
    }
}

/// Publishes the statuses of an `ActivityTracker`. See `ActivityTracker.publisher`.
public struct ActivityStatusPublisher<Value: Sendable>: Publisher {
    /// The status of the tracker.
    public typealias Output = ActivityStatus<Value>
    /// The publisher never fails.
    public typealias Failure = Never

    fileprivate let tracker: ActivityTracker<Value>
    fileprivate let schedule: (@escaping () -> Void) -> Void

    /// Subscribes to the tracker.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == ActivityStatus<Value>, Downstream.Failure == Never {
        let subscription = ActivityStatusSubscription(downstream: subscriber, schedule: schedule)
        subscription.begin(in: tracker)
        subscriber.receive(subscription: subscription)
    }
}

/// The subscription of one subscriber to a tracker's statuses. It takes one at a time, while there is demand.
private final class ActivityStatusSubscription<Downstream: Subscriber, Value: Sendable>:
    Subscription, @unchecked Sendable
where Downstream.Input == ActivityStatus<Value>, Downstream.Failure == Never {
    // `@unchecked`: no status is accepted while an action is scheduled, so calls of `schedule` and `downstream` do not
    // overlap. As with every publisher, these must support being called on different threads. `end` is set before the
    // downstream receives the subscription.

    private struct State: Sendable {
        var demand = Subscribers.Demand.none
        var isScheduled = false
        var isCancelled = false
        /// Where to signal that a status that was refused may be accepted now.
        var values: LatestValues?
    }

    private let downstream: Downstream
    private let schedule: (@escaping () -> Void) -> Void
    private let state = Locked(State())
    private var end: @Sendable () -> Void = {}

    init(downstream: Downstream, schedule: @escaping (@escaping () -> Void) -> Void) {
        (self.downstream, self.schedule) = (downstream, schedule)
    }

    /// Called once, before there is demand.
    func begin(in tracker: ActivityTracker<Value>) {
        let (accepts, receive): (_, @Sendable (ActivityStatus<Value>?) -> Void) = (accepts, deliver)
        end = LatestValues.forEach(tracker.subscription(if: accepts)) { status in
            receive(status)
            return status != nil
        }
    }

    func request(_ demand: Subscribers.Demand) {
        state.withLock { state in
            state.demand += demand
            return state.values
        }?.signal()
    }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        end()
    }

    private func accepts(_ values: LatestValues, _ isStatus: Bool) -> Bool {
        state.withLock { state in
            state.values = values
            if state.isScheduled || isStatus && state.demand == .none { return false }
            if isStatus { state.demand -= 1 }
            state.isScheduled = true
            return true
        }
    }

    /// Schedules an action for a status, or for `nil` after the last one.
    private func deliver(_ status: ActivityStatus<Value>?) {
        if state.withLock({ $0.isCancelled }) { return }
        schedule { [self] in
            var demand = Subscribers.Demand.none
            if !state.withLock({ $0.isCancelled }) {
                if let status { demand = downstream.receive(status) } else { downstream.receive(completion: .finished) }
            }
            state.withLock { state in
                state.demand += demand
                state.isScheduled = false
                return state.values
            }?.signal()
        }
    }
}
