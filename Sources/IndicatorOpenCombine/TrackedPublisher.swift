public import IndicatorCore
public import IndicatorTracking
public import OpenCombine

/// A publisher whose subscriptions are activities, of an `ActivityTracker` or of an indicator.
///
/// It forwards elements and demand unchanged. Create one with `tracked(in:initialValue:value:)` or `tracked(_:in:)`.
///
/// The activity of a tracker begins after the subscription to the upstream, and at the latest with the first element:
/// an upstream tracked publisher begins its activity first. It changes before an element is forwarded. It ends after
/// the completion was forwarded, so that a step which begins then follows without a gap; on cancellation; and when the
/// upstream releases its subscriber.
public struct TrackedPublisher<Upstream: Publisher>: Publisher {
    /// The upstream's output.
    public typealias Output = Upstream.Output
    /// The upstream's failure.
    public typealias Failure = Upstream.Failure

    fileprivate let upstream: Upstream
    fileprivate let makeActivity: () -> SubscriptionActivity<Output>

    /// Subscribes to the upstream and begins the activity.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Upstream.Output, Downstream.Failure == Upstream.Failure {
        let activity = makeActivity()
        upstream.subscribe(TrackedSubscription(activity: activity, downstream: subscriber))
        // Only now: `flatMap` sends its own subscription downstream before it subscribes to its upstream, whose
        // activity must begin first.
        activity.begin()
    }
}

/// Changes the activity of one subscription.
private struct SubscriptionActivity<Output> {
    /// Without effect after the first call.
    var begin: () -> Void
    var deliver: (Output) -> Void
    var end: (ActivityOutcome) -> Void
    /// Without effect after the end. May be called in a cancellation handler, so it must release no value.
    var cancel: () -> Void
}

/// The upstream's subscriber, and the downstream's subscription.
private final class TrackedSubscription<Downstream: Subscriber>: Subscriber, Subscription {
    typealias Input = Downstream.Input
    typealias Failure = Downstream.Failure

    private let activity: SubscriptionActivity<Input>
    private let downstream: Downstream
    private let upstream = Locked(UpstreamSubscription.awaited)

    init(activity: SubscriptionActivity<Input>, downstream: Downstream) {
        self.activity = activity
        self.downstream = downstream
    }

    // `Publisher.values` may release this object in a cancellation handler.
    deinit { activity.cancel() }

    func receive(subscription: any Subscription) {
        let isAccepted = upstream.withLock { $0.accept(UncheckedSubscription(subscription)) }
        guard isAccepted else { return subscription.cancel() }
        downstream.receive(subscription: self)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        activity.begin()
        activity.deliver(input)
        return downstream.receive(input)
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        activity.begin()
        _ = upstream.withLock { $0.end() }
        downstream.receive(completion: completion)
        if case .failure(let error) = completion {
            activity.end(ActivityOutcome(error))
        } else {
            activity.end(.succeeded)
        }
    }

    func request(_ demand: Subscribers.Demand) {
        upstream.withLock { $0.subscription }?.base.request(demand)
    }

    func cancel() {
        let subscription = upstream.withLock { $0.end() }
        subscription?.base.cancel()
        activity.cancel()
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
    /// subscription cancels its activity. It ends after the completion was forwarded.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - container: the indicator, or a group. The publisher keeps it alive.
    ///   - total: the total amount of work.
    ///   - unit: what `total` counts.
    ///   - amount: how much an element adds. Default 1. It is added before the element is forwarded.
    public func tracked(
        _ label: String?,
        in container: ActivityContainer,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        by amount: ((Output) -> Int)? = nil
    ) -> TrackedPublisher<Self> {
        TrackedPublisher(upstream: self) {
            let activity = ManagedActivity(label, total: total, unit: unit, in: container)
            return SubscriptionActivity(
                begin: {},
                deliver: { activity.advance(by: amount?($0) ?? 1) },
                end: activity.end,
                cancel: {
                    if !activity.hasEnded { ServiceThread.foreignCode.call(at: .min) { activity.end(.cancelled) } }
                }
            )
        }
    }

    /// Makes each subscription to this publisher an activity of a tracker, whose value each element may change.
    ///
    /// - Parameters:
    ///   - tracker: the tracker. The publisher keeps it alive.
    ///   - initialValue: the value before the first element. Default: that of the tracker.
    ///   - value: the value for an element, or `nil` for none. By default, the value stays the initial one.
    public func tracked<Value>(
        in tracker: ActivityTracker<Value>,
        initialValue: Value? = nil,
        value: ((Output) -> Value?)? = nil
    ) -> TrackedPublisher<Self> {
        TrackedPublisher(upstream: self) {
            let activity = TrackedActivity(notBegunIn: tracker)
            return SubscriptionActivity(
                begin: { activity.begin(initialValue ?? tracker.defaultValue) },
                deliver: { if let value { activity.update(value($0)) } },
                end: { _ in activity.end() },
                cancel: {
                    activity.end()
                    // The job takes the value from the activity: which of the two references to that is released last
                    // is unknown.
                    ServiceThread.foreignCode.call(at: .min) { activity.update(nil) }
                }
            )
        }
    }
}
