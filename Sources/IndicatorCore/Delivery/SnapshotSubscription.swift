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
    private let signal: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let engine: IndicatorEngine
    private let state = Locked(State())

    var audience: PublicationState.Audience { .always }

    /// Begins a subscription. It ends immediately if the indicator was shut down.
    init(to engine: IndicatorEngine) {
        self.engine = engine
        (signal, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        if engine.add(self, if: { !$0.machine.isShutDown }) { return }
        _ = post(engine.snapshot)
        finish(timeLimit: .zero, at: .zero)
    }

    /// The next snapshot; `nil` after the last one, or when the task is cancelled.
    func next() async -> IndicatorSnapshot? {
        while !Task.isCancelled {
            let (snapshot, isFinished) = take()
            if snapshot != nil || isFinished { return snapshot }
            var iterator = signal.makeAsyncIterator()
            if await iterator.next() == nil { return nil }
        }
        return nil
    }

    /// The next snapshot; if there is none yet, ``signal`` follows, unless that was the last one.
    private func take() -> (IndicatorSnapshot?, isFinished: Bool) {
        state.withLock { state in
            guard var snapshot = state.inbox.take(delivered: state.delivered) else {
                state.isWaiting = true
                return (nil, state.isFinished)
            }
            snapshot.finishedActivities = snapshot.allFinished
            (snapshot.transitions, snapshot.omittedTransitionCount) = ([], 0)
            state.delivered = snapshot
            return (snapshot, state.isFinished)
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

    func finish(timeLimit: Duration, at now: Duration) { state.withLock { $0.isFinished = true } }

    func waitUntilFinished() async {}

    /// Wakes the subscriber, from a separate task.
    ///
    /// Resuming a task takes its status lock. A calling thread that runs a cancellation handler holds that of another
    /// task, and two such threads could deadlock.
    func startDelivery() {
        guard state.withLock({ exchange(&$0.isWaiting, with: false) }) else { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [continuation] in continuation.yield() }
    }
}
