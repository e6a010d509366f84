import IndicatorCore
import IndicatorOpenCombine
import IndicatorTracking
import OpenCombine

/// Records the statuses of a tracker as lines.
final class StatusLog {
    private(set) var lines: [String] = []
    private var subscription: AnyCancellable?

    func subscribe(to tracker: ActivityTracker<String>) {
        subscription = tracker.publisher.sink { [unowned self] status in
            lines.append("\(status.isLoading) \(status.associatedValue ?? "Empty")")
        }
    }
}

/// A subscriber with a given demand.
final class Puller<Input, Failure: Error>: Subscriber {
    private let demand: Subscribers.Demand
    private var more: [Subscribers.Demand]

    private(set) var elements: [Input] = []
    private(set) var completion: Subscribers.Completion<Failure>?
    private(set) var subscription: (any Subscription)?
    var onSubscription: ((any Subscription) -> Void)?

    /// - Parameters:
    ///   - demand: the initial demand.
    ///   - more: the additional demand after each element.
    init(demand: Subscribers.Demand, more: [Subscribers.Demand] = []) {
        self.demand = demand
        self.more = more
    }

    func cancel() {
        subscription?.cancel()
        subscription = nil
    }

    func receive(subscription: any Subscription) {
        self.subscription = subscription
        onSubscription?(subscription)
        if demand > .none { subscription.request(demand) }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        elements.append(input)
        return more.isEmpty ? .none : more.removeFirst()
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        self.completion = completion
    }
}
