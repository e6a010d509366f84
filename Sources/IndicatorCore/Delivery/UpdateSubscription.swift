/// A subscription to the updates, or only the snapshots, of an indicator.
final class UpdateSubscription: UpdateReceiver {
    private struct State: Sendable {
        var inbox = UpdateInbox(delivery: BackendDelivery(includesHidden: true))
        var isFinished = false
    }

    private let values: LatestValues
    private let state = Locked(State())

    var audience: PublicationState.Audience { .always }

    private init(_ values: LatestValues) {
        self.values = values
    }

    static func updates(of engine: IndicatorEngine) -> AsyncStream<IndicatorUpdate> {
        subscribe(to: engine) { $0.take(since: $1?.snapshot) }
    }

    static func snapshots(of engine: IndicatorEngine) -> AsyncStream<IndicatorSnapshot> {
        subscribe(to: engine) { subscription, last in
            // What only reports an end is no new state.
            var (update, isLast) = subscription.take(since: last)
            while let snapshot = update?.snapshot, snapshot == last {
                (update, isLast) = subscription.take(since: last)
            }
            return (update?.snapshot, isLast)
        }
    }

    /// Begins a subscription. It ends after the current value if the indicator was shut down.
    private static func subscribe<Value: Sendable>(
        to engine: IndicatorEngine,
        _ take: @escaping @Sendable (UpdateSubscription, _ last: Value?) -> (value: Value?, isLast: Bool)
    ) -> AsyncStream<Value> {
        LatestValues.stream { values in
            let subscription = UpdateSubscription(values)
            if !engine.add(subscription, if: { !$0.machine.isShutDown }) {
                subscription.post(IndicatorUpdate(engine.snapshot))
                subscription.finish(timeLimit: .zero)
            }
            return (
                { take(subscription, $0) },
                { engine.storage.withLock { engine.remove(subscription, from: &$0) } }
            )
        }
    }

    private func take(since last: IndicatorSnapshot?) -> (value: IndicatorUpdate?, isLast: Bool) {
        state.withLock { state in
            guard let update = state.inbox.take(delivered: last) else { return (nil, state.isFinished) }
            // What is taken counts as received.
            state.inbox.hasShown(update)
            return (update, false)
        }
    }

    func post(_ update: IndicatorUpdate) { state.withLock { $0.inbox.post(update) } }

    func finish(timeLimit: Duration) { state.withLock { $0.isFinished = true } }

    func startDelivery() { values.signal() }

    func waitUntilFinished() async {}
}
