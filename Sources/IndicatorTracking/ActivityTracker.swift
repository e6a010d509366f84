import IndicatorCore
import IndicatorThreads

/// Reports, as one value, whether any of its activities is in progress and what the first of them is doing.
///
/// If work consists of several steps, sequential or concurrent, track each step in the same tracker:
///
/// ```swift
/// let tracker = ActivityTracker<String>(defaultValue: "Loading")
/// tracker.attach(to: indicator)
///
/// for try await page in pages.trackActivity(in: tracker, value: { "page \($0.number)" }) { … }
/// let receipt = try await tracker.withActivity("Uploading") { try await upload() }
/// let step = tracker.begin("Parsing")
/// step.update("Parsing 2 of 9")
/// ```
///
/// ``status`` is the current value, ``statuses`` follows it, and ``attach(to:label:progress:)`` shows it in
/// an `IndicatorManager`. The associated value is the first that is not `nil`, in the order in which the activities
/// in progress began. Everything may be called from any thread. Activities keep the tracker alive; subscribers do not.
public final class ActivityTracker<Value: Sendable>: Sendable {
    /// The value of activities that are begun without one.
    public let defaultValue: Value?

    private let areEqual: @Sendable (Value, Value) -> Bool
    private let state = Locked(State())

    /// Makes a tracker of values of any type.
    ///
    /// - Parameters:
    ///   - defaultValue: the value of activities that are begun without one; by default they have none.
    ///   - areEqual: whether two values are equal, so that replacing one with the other is not a change. Called without
    ///     a lock.
    public init(defaultValue: Value? = nil, equalWhen areEqual: @escaping @Sendable (Value, Value) -> Bool) {
        self.defaultValue = defaultValue
        self.areEqual = areEqual
        ForkedProcess.watch()
    }

    /// Calls a function with the state, and with the lock held.
    ///
    /// In a child of fork(2), where another thread may have held the lock, with an empty one: there the tracker is off.
    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        if ForkedProcess.isChild {
            var off = State()
            return body(&off)
        }
        return state.withLock { body(&$0) }
    }

    deinit {
        // A thread that delivers holds a reference, so no delivery is in progress or pending.
        let subscriptions = withState { $0.removeAll() }
        guard subscriptions.count > Self.largestShare else { return subscriptions.forEach { $0.receive(nil) } }
        Task.detached(executorPreference: ServiceThread.forCallersCode) {
            for subscription in subscriptions { subscription.receive(nil) }
        }
    }

    /// Whether any activity is in progress and the value of the first of them that has one, now.
    public var status: ActivityStatus<Value> {
        withState { $0.status }
    }

    /// Changes the state and delivers the result before it returns, unless another thread is already delivering; to
    /// ``largestShare`` subscribers at most.
    ///
    /// - Returns: what `body` returns, such as a value that it removed, which is released without the lock.
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, mustDeliver) = withState { state in (body(&state), state.beginDelivery()) }
        if mustDeliver { deliver() }
        return result
    }

    /// Removes a value in a cancellation handler, which runs under a runtime lock that a subscriber or the value's
    /// `deinit` may need: a separate task delivers the change and releases the value.
    func changeInHandler(_ body: (inout State) -> Value?) {
        // The caller holds no reference to the value: its release could be the last one.
        withState { state in
            if let value = body(&state) { state.removed.append(value) }
        }
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [self] in
            _ = change { state in exchange(&state.removed, with: []) }
        }
    }

    /// How many subscribers a caller calls at most, besides as many whose subscriptions end.
    static var largestShare: Int { 4 * State.batchSize }

    /// Delivers a few times. If there are more subscribers, or the status has changed again, a separate task continues:
    /// no caller is captured.
    private func deliver() {
        for _ in 0..<4 {
            guard let delivery = withState({ $0.nextDelivery() }) else { return }
            for subscription in delivery.due { subscription.deliver(delivery, areEqual: areEqual) }
            for subscription in delivery.ended {
                subscription.deliver(delivery, areEqual: areEqual)
                subscription.receive(nil)
            }
        }
        Task.detached(executorPreference: ServiceThread.forCallersCode) { self.deliver() }
    }

    // MARK: - Subscriptions

    /// Delivers the current status and later changes. The latest status wins: changes made while the subscribers are
    /// called are delivered as one.
    ///
    /// - Parameters:
    ///   - subscriber: the owner of the subscription. The tracker retains it until it is unsubscribed.
    ///   - receive: called without a lock, one call at a time and in order, on the thread that made a change, on one
    ///     that is already delivering, or on the indicator's. It may change the tracker; the change is delivered after
    ///     it has returned. `nil` comes last, when the tracker is deallocated.
    package func subscribe(
        _ subscriber: any AnyObject & Sendable,
        _ receive: @escaping @Sendable (ActivityStatus<Value>?) -> Void
    ) {
        change { $0.add(Subscription(subscriber, receive)) }
    }

    /// Ends a subscription. A delivery in progress is still received. Delivers nothing itself.
    /// Not in a cancellation handler: releases the last status that the subscriber received.
    package func unsubscribe(_ subscriber: any AnyObject & Sendable) {
        _ = withState { $0.remove(subscriber) }
    }

    /// Ends a subscription, which receives the current status, if it has not yet, and then `nil`.
    func finish(_ subscriber: any AnyObject & Sendable) {
        change { $0.end(subscriber) }
    }

    /// A subscriber's callback, and the last status that it received.
    final class Subscription: @unchecked Sendable {
        // `@unchecked`: only the delivering thread uses the variables; that role is passed on under the tracker's lock.

        let subscriber: any AnyObject & Sendable
        let receive: @Sendable (ActivityStatus<Value>?) -> Void
        private var last: ActivityStatus<Value>?
        /// The version of the status at the last delivery.
        private var version: UInt64?

        init(_ subscriber: any AnyObject & Sendable, _ receive: @escaping @Sendable (ActivityStatus<Value>?) -> Void) {
            self.subscriber = subscriber
            self.receive = receive
        }

        /// Delivers a status unless it is or equals the previous one.
        fileprivate func deliver(_ delivery: Delivery, areEqual: (Value, Value) -> Bool) {
            let status = delivery.status
            if exchange(&version, with: delivery.version) == delivery.version { return }
            if let last, last.isLoading == status.isLoading {
                switch (last.associatedValue, status.associatedValue) {
                case (nil, nil): return
                case (let old?, let new?) where areEqual(old, new): return
                default: break
                }
            }
            last = status
            receive(status)
        }
    }

    // MARK: - State

    /// The status, how often it had changed, the subscriptions that receive it, and those that then receive `nil`.
    typealias Delivery = (status: ActivityStatus<Value>, version: UInt64, due: [Subscription], ended: [Subscription])

    /// The state that the lock protects. Removed values are returned, because values are compared and released, and
    /// subscribers called, without the lock.
    struct State: Sendable {
        private var activityCount = 0
        /// The values of the activities that have one.
        private var values = OrderedList<Value>()
        private var lastOrder: UInt64 = 0
        /// The subscriptions; those of them that have not been called yet; and those that have ended and do not know
        /// yet. By the addresses of their subscribers.
        private var subscriptions = OrderedList<Subscription>()
        private var begun = OrderedList<Subscription>()
        private var ended = OrderedList<Subscription>()
        /// How often the status may have changed.
        private var version: UInt64 = 0
        /// How many subscriptions, in turns from this address on, may not have received the latest status.
        private var dueCount = 0
        private var next: UInt64 = 0
        private var isDelivering = false
        /// Values that cancellation handlers have removed and that are not released yet.
        var removed: [Value] = []

        /// The status now.
        var status: ActivityStatus<Value> {
            ActivityStatus(isLoading: activityCount > 0, associatedValue: values.first?.value)
        }

        /// Begins an activity, the last in order. Returns its order, from 1.
        mutating func begin(_ value: Value?) -> UInt64 {
            lastOrder += 1
            _ = set(lastOrder, to: value, countChange: 1)
            return lastOrder
        }

        /// Ends an activity. Returns its value.
        mutating func end(_ order: UInt64) -> Value? {
            set(order, to: nil, countChange: -1)
        }

        /// Changes the value of an activity. Returns the old one.
        mutating func set(_ order: UInt64, to value: Value?, countChange: Int = 0) -> Value? {
            let wasLoading = activityCount > 0
            activityCount += countChange
            // If an earlier activity has a value, the status keeps that value.
            let hasEarlierValue = if let first = values.first { first.order < order } else { false }
            let old = values.set(order, to: value)
            let isChanged = wasLoading != (activityCount > 0) || !hasEarlierValue && (old != nil || value != nil)
            if isChanged {
                version += 1
                dueCount = subscriptions.count
            }
            return old
        }

        /// How many subscriptions are called before the lock is taken again.
        static var batchSize: Int { 4 }

        private static func address(_ subscriber: any AnyObject & Sendable) -> UInt64 {
            UInt64(UInt(bitPattern: ObjectIdentifier(subscriber)))
        }

        /// Adds a subscription, which receives the current status first.
        mutating func add(_ subscription: Subscription) {
            subscriptions.set(Self.address(subscription.subscriber), to: subscription)
            begun.set(Self.address(subscription.subscriber), to: subscription)
        }

        /// Ends a subscription.
        mutating func end(_ subscriber: any AnyObject & Sendable) {
            if let subscription = remove(subscriber) { ended.set(Self.address(subscriber), to: subscription) }
        }

        /// Removes a subscription, and returns it.
        mutating func remove(_ subscriber: any AnyObject & Sendable) -> Subscription? {
            begun.set(Self.address(subscriber), to: nil)
            return subscriptions.set(Self.address(subscriber), to: nil)
        }

        /// Removes all subscriptions, and returns them.
        mutating func removeAll() -> [Subscription] { Array(exchange(&subscriptions, with: OrderedList()).values) }

        /// Removes some subscriptions from a list, and returns them.
        private static func take(from list: inout OrderedList<Subscription>) -> [Subscription] {
            let some = list.values(from: 0, limit: batchSize)
            for subscription in some { list.set(address(subscription.subscriber), to: nil) }
            return some
        }

        /// Returns whether a delivery is due and no thread delivers. The caller then must deliver.
        mutating func beginDelivery() -> Bool {
            guard dueCount + begun.count + ended.count > 0, !isDelivering else { return false }
            isDelivering = true
            return true
        }

        /// Returns what to deliver next. Returns `nil` when nothing is, and the caller is done.
        mutating func nextDelivery() -> Delivery? {
            var due = Self.take(from: &begun)
            let ended = Self.take(from: &ended)
            if due.isEmpty, ended.isEmpty {
                guard dueCount > 0 else {
                    isDelivering = false
                    return nil
                }
                let count = min(dueCount, Self.batchSize)
                due = subscriptions.values(from: next, limit: count)
                // In turns, so that frequent changes reach all.
                if due.isEmpty { due = subscriptions.values(from: 0, limit: count) }
                dueCount = due.isEmpty ? 0 : dueCount - due.count
                next = due.last.map { Self.address($0.subscriber) + 1 } ?? 0
            }
            return (status, version, due, ended)
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

extension ActivityTracker {
    /// Begins an activity with the tracker's default value, which ends when the returned value goes out of scope.
    public func begin() -> TrackedActivity<Value> {
        begin(defaultValue)
    }

    /// Begins an activity, which ends when the returned value goes out of scope.
    ///
    /// - Parameter value: the value that is associated with it, or `nil` for none.
    public func begin(_ value: Value?) -> TrackedActivity<Value> {
        TrackedActivity(activity: ManagedTrackedActivity(value, in: self))
    }

    /// Tracks a function for as long as it runs.
    ///
    /// - Parameters:
    ///   - value: the value that is associated with it, or `nil` for none.
    ///   - body: the work.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let activity = begin(value)
        let result = try body()
        activity.end()
        return result
    }

    /// Tracks an asynchronous function while it runs, with a value or `nil` for none.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await withActivity(value) { _ async throws(Failure) in try await body() }
    }

    /// Tracks an asynchronous function while it runs, and passes it the activity, whose value it may change.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (borrowing TrackedActivity<Value>) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let activity = begin(value)
        let result = try await body(activity)
        activity.end()
        return result
    }
}

/// The status of an ``ActivityTracker``: whether any activity is in progress, and the value of the first that has one.
public struct ActivityStatus<Value: Sendable>: Sendable {
    /// Whether any activity is in progress.
    public var isLoading: Bool

    /// The first value that is not `nil` in the order in which the activities in progress began; `nil` if none has one,
    /// or none is in progress.
    public var associatedValue: Value?

    package init(isLoading: Bool, associatedValue: Value? = nil) {
        self.isLoading = isLoading
        self.associatedValue = associatedValue
    }
}

extension ActivityStatus: Equatable where Value: Equatable {}
extension ActivityStatus: Hashable where Value: Hashable {}

extension ActivityTracker {
    /// The status as it changes: first the current one, then the latest after every change.
    ///
    /// Each read of the property begins a subscription. The latest status wins: a slow subscriber skips earlier ones,
    /// may receive equal ones in sequence, and always ends with the current one. Iterate the stream once, or release
    /// it. It does not retain the tracker, and finishes when the tracker is deallocated.
    public var statuses: AsyncStream<ActivityStatus<Value>> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ActivityStatus<Value>.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let subscriber = StreamSubscriber(tracker: self, continuation)
        // Elsewhere: a cancellation handler must not release the tracker or its values.
        continuation.onTermination = { _ in
            Task.detached(executorPreference: ServiceThread.forCallersCode) {
                subscriber.tracker?.unsubscribe(subscriber)
            }
        }
        subscribe(subscriber) { [unowned subscriber] in subscriber.receive($0) }
        return stream
    }

    /// Passes the latest status to a stream.
    private final class StreamSubscriber: Sendable {
        private struct State: Sendable {
            /// The latest status, if it has not been passed yet.
            var latest: ActivityStatus<Value>?
            var isFinished = false
            /// Whether a task is about to pass the state.
            var isWaking = false
        }

        weak let tracker: ActivityTracker?
        private let continuation: AsyncStream<ActivityStatus<Value>>.Continuation
        private let state = Locked(State())

        init(tracker: ActivityTracker, _ continuation: AsyncStream<ActivityStatus<Value>>.Continuation) {
            self.tracker = tracker
            self.continuation = continuation
        }

        func receive(_ status: ActivityStatus<Value>?) {
            // Returns the old value, which is released without the lock.
            let (wasWaking, _) = state.withLock { state in
                if status == nil { state.isFinished = true }
                let old = exchange(&state.latest, with: status ?? state.latest)
                return (exchange(&state.isWaking, with: true), old)
            }
            if wasWaking { return }
            // From a separate task, as in `SnapshotBroadcaster`.
            Task.detached(executorPreference: ServiceThread.forCallersCode) { [self] in
                let (status, isFinished) = state.withLock { state in
                    state.isWaking = false
                    return (state.latest.take(), state.isFinished)
                }
                if let status { continuation.yield(status) }
                if isFinished { continuation.finish() }
            }
        }
    }
}
