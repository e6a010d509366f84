public import IndicatorCore
import IndicatorThreads
public import IndicatorTracking
public import OpenCombine

/// A publisher whose subscriptions are activities of an `ActivityTracker`.
///
/// It forwards elements and demand unchanged. Create one with `tracked(in:)`.
///
/// The activity begins after the subscription to the upstream, and at the latest with the first element: an upstream
/// tracked publisher begins its activity first. It ends before the completion is forwarded, on cancellation, and when
/// the upstream releases its subscriber. The activity's value changes before the element is forwarded.
public struct TrackedPublisher<Upstream: Publisher, Value: Sendable>: Publisher {
    /// The upstream's output.
    public typealias Output = Upstream.Output
    /// The upstream's failure.
    public typealias Failure = Upstream.Failure

    private let upstream: Upstream
    private let tracker: ActivityTracker<Value>
    private let initialValue: Value?
    private let value: ((Upstream.Output) -> Value?)?

    init(
        _ upstream: Upstream,
        in tracker: ActivityTracker<Value>,
        initialValue: Value?,
        value: ((Upstream.Output) -> Value?)?
    ) {
        self.upstream = upstream
        self.tracker = tracker
        self.initialValue = initialValue
        self.value = value
    }

    /// Subscribes to the upstream and begins the activity.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Upstream.Output, Downstream.Failure == Upstream.Failure {
        let activity = ManagedTrackedActivity(notBegunIn: tracker)
        upstream.subscribe(
            TrackedSubscription(activity: activity, initialValue: initialValue, value: value, downstream: subscriber)
        )
        // Only now: `flatMap` sends its own subscription downstream before it subscribes to its upstream, whose
        // activity must begin first.
        activity.begin(initialValue)
    }
}

/// The upstream's subscriber, and the downstream's subscription.
private final class TrackedSubscription<Downstream: Subscriber, Value: Sendable>: Subscriber, Subscription {
    typealias Input = Downstream.Input
    typealias Failure = Downstream.Failure

    private let activity: ManagedTrackedActivity<Value>
    private let initialValue: Value?
    private let value: ((Input) -> Value?)?
    private let downstream: Downstream
    private let upstream = Locked(UpstreamSubscription.awaited)

    init(
        activity: ManagedTrackedActivity<Value>,
        initialValue: Value?,
        value: ((Input) -> Value?)?,
        downstream: Downstream
    ) {
        self.activity = activity
        self.initialValue = initialValue
        self.value = value
        self.downstream = downstream
    }

    deinit {
        activity.end()
        // `Publisher.values` may release this object in a cancellation handler, which must not release a value. The job
        // takes the value from the activity: which of the two references to that is released last is unknown.
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [activity] in activity.update(nil) }
    }

    func receive(subscription: any Subscription) {
        let isAccepted = upstream.withLock { $0.accept(UncheckedSubscription(subscription)) }
        guard isAccepted else { return subscription.cancel() }
        downstream.receive(subscription: self)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        activity.begin(initialValue)
        if let value { activity.update(value(input)) }
        return downstream.receive(input)
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        activity.begin(initialValue)
        _ = upstream.withLock { $0.end() }
        activity.end()
        downstream.receive(completion: completion)
    }

    func request(_ demand: Subscribers.Demand) {
        upstream.withLock { $0.subscription }?.base.request(demand)
    }

    func cancel() {
        let subscription = upstream.withLock { $0.end() }
        subscription?.base.cancel()
        activity.end()
    }
}

/// The state of the subscription to the upstream.
private enum UpstreamSubscription: Sendable {
    /// The upstream has not sent the subscription yet.
    case awaited
    /// The upstream sends elements.
    case active(UncheckedSubscription)
    /// The subscription has completed or was cancelled.
    case ended

    var subscription: UncheckedSubscription? {
        if case .active(let subscription) = self { subscription } else { nil }
    }

    mutating func accept(_ subscription: UncheckedSubscription) -> Bool {
        guard case .awaited = self else { return false }
        self = .active(subscription)
        return true
    }

    mutating func end() -> UncheckedSubscription? {
        defer { self = .ended }
        return subscription
    }
}

/// A subscription. OpenCombine allows calling `request` and `cancel` on any thread.
private struct UncheckedSubscription: @unchecked Sendable {
    // `@unchecked`: see above. The protocol is older than `Sendable`.

    let base: any Subscription

    init(_ base: any Subscription) {
        self.base = base
    }
}

extension Publisher {
    /// Makes each subscription to this publisher an activity of an indicator, which begins before the subscription to
    /// the upstream and advances with each element.
    ///
    /// ```swift
    /// chunks.tracked("Downloading", in: group, total: length, unit: .bytes, by: \.count).sink { … }
    /// ```
    ///
    /// The activity succeeds when the publisher finishes. If the publisher fails, the error is the outcome; a cancelled
    /// subscription cancels its activity. It ends before the completion is forwarded.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - container: the indicator, or a group. The publisher keeps it alive.
    ///   - total: the total amount of work.
    ///   - unit: what `total` counts.
    ///   - amount: how much an element adds. Default 1. It is added before the element is forwarded.
    public func tracked(
        _ label: String?,
        in container: some ActivityContainer,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        by amount: ((Output) -> Int)? = nil
    ) -> AnyPublisher<Output, Failure> {
        Deferred {
            let activity = ManagedActivity(label, total: total, unit: unit, in: container)
            return handleEvents(
                receiveOutput: { activity.advance(by: amount?($0) ?? 1) },
                receiveCompletion: { completion in
                    if case .failure(let error) = completion {
                        activity.end(ActivityOutcome(error))
                    } else {
                        activity.end(.succeeded)
                    }
                },
                receiveCancel: {
                    // Not in a cancellation handler: see `TrackedSubscription`.
                    Task.detached(executorPreference: ServiceThread.forCallersCode) { activity.end(.cancelled) }
                }
            )
        }
        .eraseToAnyPublisher()
    }

    /// Makes each subscription to this publisher an activity of a tracker, with the tracker's default value.
    ///
    /// - Parameter tracker: the tracker. The publisher keeps it alive.
    public func tracked<Value>(in tracker: ActivityTracker<Value>) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: tracker.defaultValue, value: nil)
    }

    /// The same with a constant value, or with `nil` for none.
    public func tracked<Value>(in tracker: ActivityTracker<Value>, value: Value?) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: value, value: nil)
    }

    /// The same with a value that each element changes; before the first element it is the tracker's default value.
    public func tracked<Value>(
        in tracker: ActivityTracker<Value>,
        value: @escaping (Output) -> Value?
    ) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: tracker.defaultValue, value: value)
    }

    /// The same with `initialValue` before the first element, and then with a value that each element changes.
    public func tracked<Value>(
        in tracker: ActivityTracker<Value>,
        initialValue: Value?,
        value: @escaping (Output) -> Value?
    ) -> TrackedPublisher<Self, Value> {
        TrackedPublisher(self, in: tracker, initialValue: initialValue, value: value)
    }
}
