import OpenCombine
import TestSupport

/// A subscriber with a given demand.
final class Puller<Input: Sendable, Failure: Error>: Subscriber, Sendable {
    private struct State {
        var more: [Subscribers.Demand]
        var elements: [Input] = []
        var completion: Subscribers.Completion<Failure>?
        var subscription: Unchecked<any Subscription>?
    }

    private let demand: Subscribers.Demand
    private let state: Locked<State>
    private let last: Int?

    var elements: [Input] { state.withLock { $0.elements } }
    var completion: Subscribers.Completion<Failure>? { state.withLock { $0.completion } }
    var subscription: (any Subscription)? { state.withLock { $0.subscription }?.value }

    /// - Parameters:
    ///   - demand: the initial demand.
    ///   - more: the additional demand after each element.
    ///   - last: after how many elements it cancels its subscription; `nil` for never.
    init(demand: Subscribers.Demand = .unlimited, more: [Subscribers.Demand] = [], last: Int? = nil) {
        (self.demand, self.last) = (demand, last)
        state = Locked(State(more: more))
    }

    /// Waits until a number of elements were published.
    func receives(_ count: Int) async -> Bool { await eventually { elements.count >= count } }

    func cancel() { state.withLock { $0.subscription.take() }?.value.cancel() }

    func receive(subscription: any Subscription) {
        let kept = Unchecked(subscription)
        state.withLock { $0.subscription = kept }
        if last == 0 { cancel() } else if demand > .none { subscription.request(demand) }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        let (count, more) = state.withLock { state in
            state.elements.append(input)
            return (state.elements.count, state.more.isEmpty ? .none : state.more.removeFirst())
        }
        if count == last { cancel() }
        return more
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        state.withLock { $0.completion = completion }
    }
}

/// A subscription, which may be used on any thread.
struct Unchecked<Value>: @unchecked Sendable {
    // `@unchecked`: see above. The protocols are older than `Sendable`.
    let value: Value

    init(_ value: Value) { self.value = value }
}
