import IndicatorThreads

/// Reports, as one value, whether any of its activities is in progress and what the first of them is doing.
///
/// When one piece of work is made of several steps, in a row or side by side, track each step in the same tracker:
///
/// ```swift
/// let tracker = ActivityTracker<String>(defaultValue: "Loading")
/// tracker.attach(to: indicator)
///
/// for try await page in pages.trackActivity(in: tracker, value: { "page \($0.number)" }) { … }
/// let receipt = try await tracker.track("Uploading") { try await upload() }
/// let step = tracker.begin("Parsing")
/// step.update("Parsing 2 of 9")
/// ```
///
/// ``status`` is the present value, ``statuses`` delivers every change, and ``attach(to:label:progress:)`` has an
/// ``IndicatorManager`` show it. The associated value is the first that is not `nil`, in the order in which the activities
/// in progress began. Everything may be called from any thread. Activities keep the tracker alive; subscribers do not.
public final class ActivityTracker<Value: Sendable>: Sendable {
    /// The value of activities that are begun without one.
    public let defaultValue: Value?

    private let areEqual: @Sendable (Value, Value) -> Bool
    private let state = Locked(ActivityTrackerState<Value>())

    /// Makes a tracker of values of any kind.
    ///
    /// - Parameters:
    ///   - defaultValue: the value of activities that are begun without one; by default they have none.
    ///   - areEqual: whether two values are the same, so that going from one to the other is no news. It is called without a lock
    ///     held.
    public init(defaultValue: Value? = nil, equalWhen areEqual: @escaping @Sendable (Value, Value) -> Bool) {
        self.defaultValue = defaultValue
        self.areEqual = areEqual
    }

    deinit {
        // Whoever delivers holds a reference, so nothing is being delivered or waits for it.
        for subscriber in state.withLock({ $0.removeSubscribers() }) { subscriber.receiver.finish() }
    }

    /// Whether any activity is in progress and the value of the first of them that has one, now.
    public var status: ActivityStatus<Value> {
        state.withLock { $0.status }
    }

    // MARK: - Changes

    /// When those who subscribed are told of a change.
    enum Delivery {
        /// Before the call returns, unless another thread is delivering just then.
        case now
        /// In a task of its own. For cancellation handlers: they run under a lock of the runtime's, which whoever is told may need.
        case later
        /// With the next change, or by ``deliverChanges()``. For callers that hold a lock of their own.
        case uponRequest
    }

    /// Changes the state, and delivers what comes of it.
    func change<Result: Sendable>(
        _ delivery: Delivery = .now,
        _ body: (inout ActivityTrackerState<Value>) -> Result
    ) -> Result {
        let (result, mustDeliver) = state.withLock { state in
            let result = body(&state)
            return (result, delivery != .uponRequest && state.outbox.attend())
        }
        if mustDeliver {
            if delivery == .later {
                Task.detached(executorPreference: ServiceThread.shared) { self.deliver() }
            } else {
                deliver()
            }
        }
        return result
    }

    /// Delivers what was changed with ``Delivery/uponRequest``.
    package func deliverChanges() {
        change { _ in }
    }

    /// Tells a receiver the present status, and every change from then on. The tracker holds the receiver until
    /// ``unsubscribe(_:)``.
    package func subscribe(_ receiver: any ActivityStatusReceiver<Value>) {
        change { $0.subscribe(ActivityStatusSubscriber(receiver)) }
    }

    /// Lets a receiver go. One that is being told a status just then is still told that, and what was to be told with it.
    package func unsubscribe(_ receiver: any ActivityStatusReceiver<Value>) {
        // Delivers nothing: the caller may be a cancellation handler.
        _ = change(.uponRequest) { $0.unsubscribe(receiver) }
    }

    private func deliver() {
        while let batch = state.withLock({ $0.outbox.nextBatch() }) {
            for notice in batch {
                for subscriber in notice.receivers { subscriber.offer(notice.status, areEqual: areEqual) }
            }
        }
    }
}

extension ActivityTracker where Value: Equatable {
    /// Makes a tracker of values that are compared by `==`.
    ///
    /// - Parameter defaultValue: the value of activities that are begun without one; by default they have none.
    public convenience init(defaultValue: Value? = nil) {
        self.init(defaultValue: defaultValue, equalWhen: ==)
    }
}
