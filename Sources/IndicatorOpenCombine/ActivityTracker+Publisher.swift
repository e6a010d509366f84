public import IndicatorCore
public import OpenCombine

extension ActivityTracker {
    /// The status as it changes: first the present one, then every change in order. It never fails.
    ///
    /// Each subscriber gets all of it: what it has not yet demanded waits in a buffer without limit. A status is
    /// delivered on the thread that made the change, before the call that made it returns, unless another thread is
    /// delivering just then, which then goes on to this one. A subscription does not keep the tracker alive, and is
    /// finished when that goes.
    public var publisher: ActivityStatusPublisher<Value> {
        ActivityStatusPublisher(of: self) { $0() }
    }

    /// The status as it changes, delivered on a scheduler: first the present one, then every change in order. It never
    /// fails.
    ///
    /// The order holds on a scheduler that runs things side by side, too: one subscriber is told one status at a time.
    ///
    /// - Parameters:
    ///   - scheduler: where statuses are delivered.
    ///   - options: how the scheduler is to do it.
    public func publisher<Context: Scheduler>(
        on scheduler: Context,
        options: Context.SchedulerOptions? = nil
    ) -> ActivityStatusPublisher<Value> {
        ActivityStatusPublisher(of: self) { scheduler.schedule(options: options, $0) }
    }
}

/// Publishes the statuses of an `ActivityTracker`. See `ActivityTracker.publisher`.
public struct ActivityStatusPublisher<Value: Sendable>: Publisher {
    /// What is published.
    public typealias Output = ActivityStatus<Value>
    /// The publisher never fails.
    public typealias Failure = Never

    private let tracker: ActivityTracker<Value>
    private let schedule: (@escaping () -> Void) -> Void

    init(of tracker: ActivityTracker<Value>, schedule: @escaping (@escaping () -> Void) -> Void) {
        self.tracker = tracker
        self.schedule = schedule
    }

    /// Begins to deliver.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == ActivityStatus<Value>, Downstream.Failure == Never {
        let subscription = ActivityStatusSubscription(tracker: tracker, downstream: subscriber, schedule: schedule)
        tracker.subscribe(subscription)
        subscriber.receive(subscription: subscription)
    }
}
