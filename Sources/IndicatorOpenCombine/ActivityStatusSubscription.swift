import IndicatorCore
import IndicatorThreads
import OpenCombine

/// The subscription of one subscriber to a tracker's statuses. It buffers statuses until there is demand, and delivers
/// one at a time.
final class ActivityStatusSubscription<Downstream: Subscriber, Value: Sendable>:
    Subscription, @unchecked Sendable
where Downstream.Input == ActivityStatus<Value>, Downstream.Failure == Never {
    // `@unchecked`: `state` lets only one thread deliver at a time, so calls of `schedule` do not overlap, nor do calls
    // of `downstream`. As with every publisher, `downstream` must support being called on different threads.

    private let downstream: Downstream
    private let schedule: (@escaping () -> Void) -> Void
    private let state: Locked<ActivityStatusBuffer<Value>>

    init(
        tracker: ActivityTracker<Value>,
        downstream: Downstream,
        schedule: @escaping (@escaping () -> Void) -> Void
    ) {
        self.downstream = downstream
        self.schedule = schedule
        state = Locked(ActivityStatusBuffer(tracker: tracker))
    }

    // MARK: - From the tracker

    func receive(_ status: ActivityStatus<Value>?) {
        change { if let status { $0.append(status) } else { $0.finish() } }
    }

    // MARK: - From the subscriber

    func request(_ demand: Subscribers.Demand) {
        change { $0.add(demand) }
    }

    func cancel() {
        let cancelled = state.withLock { $0.cancel() }
        cancelled.tracker?.unsubscribe(self)
    }

    // MARK: - Delivery

    private func change(_ body: (inout ActivityStatusBuffer<Value>) -> Void) {
        let mustDeliver = state.withLock { state in
            body(&state)
            return state.outbox.attend()
        }
        if mustDeliver { schedule { self.deliver() } }
    }

    private func deliver() {
        while let batch = state.withLock({ $0.outbox.nextBatch() }) {
            for delivery in batch where !state.withLock({ $0.isCancelled }) {
                switch delivery {
                case .status(let status):
                    let demand = downstream.receive(status)
                    if demand > .none { state.withLock { $0.add(demand) } }
                case .completion:
                    downstream.receive(completion: .finished)
                }
            }
        }
    }
}
