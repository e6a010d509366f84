import IndicatorThreads

/// A subscription to the snapshots of an indicator.
final class SnapshotSubscription: SnapshotReceiver {
    private struct State: Sendable {
        var inbox = SnapshotInbox(delivery: BackendDelivery(includesHidden: true))
        var delivered: IndicatorSnapshot?
        var isFinished = false
        /// Whether the subscriber waits for ``SnapshotSubscription/signal``.
        var isWaiting = false
    }

    /// Delivers an element after changes.
    let signal: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let engine: IndicatorEngine
    private let state = Locked(State())

    var audience: PublicationState.Audience { .always }

    /// Begins a subscription. It ends immediately if the indicator was shut down.
    init(to engine: IndicatorEngine) {
        self.engine = engine
        (signal, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        let isActive: Void? = engine.add(self, if: { !$0.machine.isShutDown }) { _ = post($0) }
        guard isActive == nil else { return }
        _ = post(engine.snapshot)
        finish(timeLimit: .zero, at: .zero)
    }

    /// The next snapshot; `.some(nil)` after the last one; `nil` if there is none yet: then ``signal`` follows.
    func take() -> IndicatorSnapshot?? {
        state.withLock { state in
            guard var snapshot = state.inbox.take(delivered: state.delivered) else {
                state.isWaiting = true
                return state.isFinished ? .some(nil) : nil
            }
            snapshot.finishedActivities = snapshot.allFinished
            (snapshot.transitions, snapshot.omittedTransitionCount) = ([], 0)
            state.delivered = snapshot
            return snapshot
        }
    }

    /// Ends the subscription.
    func end() { engine.storage.withLock { engine.remove(self, from: &$0) } }

    func post(_ snapshot: IndicatorSnapshot) -> Bool {
        state.withLock { state in
            state.inbox.post(snapshot)
            return state.isWaiting
        }
    }

    func finish(timeLimit: Duration, at now: Duration) {
        state.withLock { $0.isFinished = true }
    }

    /// Wakes the subscriber, from a separate task.
    ///
    /// Resuming a task takes its status lock. A calling thread that runs a cancellation handler holds that of another
    /// task, and two such threads could deadlock.
    func startDelivery() {
        guard state.withLock({ exchange(&$0.isWaiting, with: false) }) else { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [continuation] in continuation.yield() }
    }
}
