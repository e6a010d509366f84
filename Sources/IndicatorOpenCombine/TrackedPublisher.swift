import IndicatorCore
import IndicatorThreads
public import OpenCombine

/// A publisher each of whose subscriptions is an activity of an `ActivityTracker`.
///
/// It sends what its upstream sends, once to each subscriber, and passes demand on untouched. Make one with
/// `trackActivity(in:)`.
///
/// The activity begins when the upstream has been subscribed to, so that of a tracked publisher further up begins
/// first, and at the latest with the first element. It ends before completion or failure is passed on, with the
/// cancellation, and when the upstream drops its subscriber. An element's value is associated before the element is
/// passed on.
public struct TrackedPublisher<Upstream: Publisher, Value: Sendable>: Publisher {
    /// What the upstream sends.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
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
        // Not before: `flatMap` hands its own subscription down before it subscribes to what is above it, so a tracked
        // publisher up there has begun only now.
        activity.begin(initialValue)
    }
}

/// Stands between upstream and downstream: a subscriber of the one, the subscription of the other.
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
    }

    func receive(subscription: any Subscription) {
        let isAccepted = upstream.withLock { $0.accept(UncheckedSubscription(subscription)) }
        guard isAccepted else { return subscription.cancel() }
        downstream.receive(subscription: self)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        activity.begin(initialValue)
        if let value, !activity.hasEnded { activity.update(value(input)) }
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

/// Where a subscription to the upstream stands.
private enum UpstreamSubscription: Sendable {
    /// The upstream has not answered yet.
    case awaited
    /// It sends.
    case active(UncheckedSubscription)
    /// It has completed or was cancelled.
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

/// A subscription, which OpenCombine's rules allow to be asked for more and cancelled from any thread.
private struct UncheckedSubscription: @unchecked Sendable {
    // `@unchecked`: see above; the protocol is older than `Sendable`.

    let base: any Subscription

    init(_ base: any Subscription) {
        self.base = base
    }
}
