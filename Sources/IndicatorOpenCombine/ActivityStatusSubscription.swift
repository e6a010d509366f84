import IndicatorCore
import IndicatorThreads
import IndicatorTracking
import OpenCombine

/// The subscription of one subscriber to a tracker's statuses. It keeps the latest status until there is demand, and
/// delivers one at a time.
final class ActivityStatusSubscription<Downstream: Subscriber, Value: Sendable>:
    Subscription, Detachable, @unchecked Sendable
where Downstream.Input == ActivityStatus<Value>, Downstream.Failure == Never {
    // `@unchecked`: `state` lets only one thread deliver at a time, so calls of `schedule` do not overlap, nor do calls
    // of `downstream`. As with every publisher, `downstream` must support being called on different threads.

    private enum Delivery: Sendable {
        case status(ActivityStatus<Value>)
        case completion
    }

    private struct State: Sendable {
        weak var tracker: ActivityTracker<Value>?
        /// The latest status, if it was not delivered.
        var latest: ActivityStatus<Value>?
        var demand = Subscribers.Demand.none
        /// Whether the completion follows the latest status. It needs no demand.
        var isFinished = false
        /// Whether the subscription has completed or was cancelled.
        var isOver = false
        private var isDelivering = false

        init(tracker: ActivityTracker<Value>) {
            self.tracker = tracker
        }

        private var isDeliveryDue: Bool { !isOver && (latest == nil ? isFinished : demand > .none) }

        /// Returns whether a delivery is due and no thread delivers. The caller then must deliver.
        mutating func beginDelivery() -> Bool {
            guard isDeliveryDue, !isDelivering else { return false }
            isDelivering = true
            return true
        }

        /// Returns what to deliver next. Returns `nil` when nothing is, and the caller is done.
        mutating func nextDelivery() -> Delivery? {
            guard isDeliveryDue else {
                isDelivering = false
                return nil
            }
            guard let status = latest.take() else {
                isOver = true
                return .completion
            }
            demand -= 1
            return .status(status)
        }
    }

    private let downstream: Downstream
    /// Where to deliver; `nil` for the thread that made the change.
    private let schedule: ((@escaping () -> Void) -> Void)?
    private let state: Locked<State>

    init(
        tracker: ActivityTracker<Value>,
        downstream: Downstream,
        schedule: ((@escaping () -> Void) -> Void)?
    ) {
        self.downstream = downstream
        self.schedule = schedule
        state = Locked(State(tracker: tracker))
    }

    // MARK: - From the tracker

    func receive(_ status: ActivityStatus<Value>?) {
        // The old status is released without the lock.
        _ = change { state in
            guard let status, !state.isOver else {
                state.isFinished = true
                return nil
            }
            return exchange(&state.latest, with: status)
        }
    }

    // MARK: - From the subscriber

    func request(_ demand: Subscribers.Demand) {
        _ = change { state in
            state.demand += demand
            return nil
        }
    }

    func cancel() {
        state.withLock { $0.isOver = true }
        // `Publisher.values` calls this in a cancellation handler, which must not release the tracker or its values.
        detached { $0.release() }
    }

    fileprivate func release() {
        let (tracker, _) = state.withLock { ($0.tracker, $0.latest.take()) }
        tracker?.unsubscribe(self)
    }

    /// Calls a function in a task of its own.
    private func detached(_ body: @escaping @Sendable (any Detachable) -> Void) {
        // The type of the subscriber is not `Sendable`.
        let this: any Detachable = self
        Task.detached(executorPreference: ServiceThread.forCallersCode) { body(this) }
    }

    // MARK: - Delivery

    private func change(_ body: (inout State) -> ActivityStatus<Value>?) -> ActivityStatus<Value>? {
        let (old, mustDeliver) = state.withLock { state in (body(&state), state.beginDelivery()) }
        if mustDeliver {
            if let schedule { schedule { self.deliver() } } else { deliver() }
        }
        return old
    }

    /// Delivers a few times. If there is more, the scheduler or a separate task continues: no thread is captured.
    fileprivate func deliver() {
        for _ in 0..<4 {
            guard let delivery = state.withLock({ $0.nextDelivery() }) else { return }
            switch delivery {
            case .status(let status):
                let demand = downstream.receive(status)
                if demand > .none { state.withLock { $0.demand += demand } }
            case .completion:
                downstream.receive(completion: .finished)
            }
        }
        if let schedule {
            schedule { self.deliver() }
        } else {
            detached { $0.deliver() }
        }
    }
}

private protocol Detachable: Sendable {
    func deliver()
    func release()
}
