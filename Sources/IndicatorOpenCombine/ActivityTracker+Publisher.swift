public import IndicatorTracking
public import OpenCombine

extension ActivityTracker {
    /// Publishes the current status, then its changes in order. It never fails.
    ///
    /// The latest status wins, as with `CurrentValueSubject`: one that is replaced before the subscriber demands it, or
    /// while it still receives an earlier one, is skipped. Every subscriber ends with the current status. A status is
    /// delivered on the thread that made the change, before that call returns; if another thread is delivering at that
    /// time, it delivers this status too, and after several statuses, a thread of the indicator continues. A
    /// subscription does not keep the tracker alive, and finishes when the tracker is deallocated, after the last
    /// status.
    public var publisher: ActivityStatusPublisher<Value> {
        ActivityStatusPublisher(of: self, schedule: nil)
    }

    /// Publishes the current status, then its changes in order, on a scheduler. It never fails.
    ///
    /// The order is also kept on a concurrent scheduler: a subscriber receives one status at a time. The latest status
    /// wins, as in ``publisher``: the scheduler never has more than one action of a subscription to run.
    ///
    /// - Parameters:
    ///   - scheduler: where statuses are delivered.
    ///   - options: the scheduler's options.
    public func publisher<Context: Scheduler>(
        on scheduler: Context,
        options: Context.SchedulerOptions? = nil
    ) -> ActivityStatusPublisher<Value> {
        ActivityStatusPublisher(of: self, schedule: { scheduler.schedule(options: options, $0) })
    }
}

/// Publishes the statuses of an `ActivityTracker`. See `ActivityTracker.publisher`.
public struct ActivityStatusPublisher<Value: Sendable>: Publisher {
    /// The status of the tracker.
    public typealias Output = ActivityStatus<Value>
    /// The publisher never fails.
    public typealias Failure = Never

    private let tracker: ActivityTracker<Value>
    private let schedule: ((@escaping () -> Void) -> Void)?

    init(of tracker: ActivityTracker<Value>, schedule: ((@escaping () -> Void) -> Void)?) {
        self.tracker = tracker
        self.schedule = schedule
    }

    /// Subscribes to the tracker.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == ActivityStatus<Value>, Downstream.Failure == Never {
        let subscription = ActivityStatusSubscription(tracker: tracker, downstream: subscriber, schedule: schedule)
        tracker.subscribe(subscription, subscription.receive)
        subscriber.receive(subscription: subscription)
    }
}
