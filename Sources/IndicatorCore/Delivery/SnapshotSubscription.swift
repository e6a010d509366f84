import IndicatorThreads

/// A subscription to the snapshots of an indicator.
final class SnapshotSubscription: SnapshotReceiver {
    private struct State: Sendable {
        var inbox = SnapshotInbox(delivery: BackendDelivery(includesHidden: true))
        var isFinished = false
    }

    private let values: LatestValues
    private let state = Locked(State())

    var audience: PublicationState.Audience { .always }

    private init(_ values: LatestValues) {
        self.values = values
    }

    /// Begins a subscription. It ends after the current snapshot if the indicator was shut down.
    static func snapshots(of engine: IndicatorEngine) -> AsyncStream<IndicatorSnapshot> {
        LatestValues.stream { values in
            let subscription = SnapshotSubscription(values)
            if !engine.add(subscription, if: { !$0.machine.isShutDown }) {
                subscription.post(engine.snapshot)
                subscription.finish(timeLimit: .zero, at: .zero)
            }
            return (subscription.take, { engine.storage.withLock { engine.remove(subscription, from: &$0) } })
        }
    }

    private func take(last: IndicatorSnapshot?) -> (value: IndicatorSnapshot?, isLast: Bool) {
        state.withLock { state in
            guard var snapshot = state.inbox.take(delivered: last) else { return (nil, state.isFinished) }
            snapshot.finishedActivities = snapshot.allFinished
            (snapshot.transitions, snapshot.omittedTransitionCount) = ([], 0)
            return (snapshot, false)
        }
    }

    func post(_ snapshot: IndicatorSnapshot) { state.withLock { $0.inbox.post(snapshot) } }

    func finish(timeLimit: Duration, at now: Duration) { state.withLock { $0.isFinished = true } }

    func startDelivery() { values.signal() }

    func waitUntilFinished() async {}
}
