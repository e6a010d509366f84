import IndicatorThreads

/// One subscriber's position in the snapshots of a broadcaster.
final class SnapshotSubscription: Sendable {
    struct State: Sendable {
        /// The state when the subscription began, until a snapshot is taken.
        var first: IndicatorSnapshot?
        var delivered: IndicatorSnapshot?
        /// How many snapshots, and how many finished activities, there had been at the last delivery.
        var version: Int
        var finishedCount: Int
    }

    /// Delivers an element after changes.
    let signal: AsyncStream<Void>
    fileprivate let continuation: AsyncStream<Void>.Continuation
    private let broadcaster: SnapshotBroadcaster
    private let engine: IndicatorEngine
    private let state: Locked<State>

    fileprivate init(of broadcaster: SnapshotBroadcaster, _ engine: IndicatorEngine, _ state: State) {
        self.engine = engine
        (signal, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.broadcaster = broadcaster
        self.state = Locked(state)
    }

    /// The next snapshot; `.some(nil)` after the last one; `nil` if there is none yet: then ``signal`` follows.
    func take() -> IndicatorSnapshot?? {
        state.withLock { broadcaster.next(after: &$0, for: self) }
    }

    /// Ends the subscription, and with the last one of its broadcaster the delivery to that.
    func end() {
        engine.storage.withLock { storage in
            if broadcaster.remove(self) { engine.remove(broadcaster, from: &storage) }
        }
    }
}

/// Delivers snapshots to all subscribers of an indicator.
///
/// It is one receiver for all of them, and keeps only the latest snapshot and the last finished activities: with the
/// engine's lock held, a publication takes equally long with any number of subscribers.
final class SnapshotBroadcaster: SnapshotReceiver {
    private struct State: Sendable {
        /// The latest snapshot, without its finished activities, and how many there were.
        var latest: IndicatorSnapshot?
        var version = 0
        /// The finished activities of all snapshots; how many these are.
        var finished = FinishedActivities()
        var finishedCount: Int { finished.latest.count + finished.omittedCount }
        /// The subscriptions, and those of them that have taken the latest snapshot.
        var count = 0
        var waiting: [SnapshotSubscription] = []
        var isFinished = false
        /// Whether a task is about to wake the waiting ones.
        var isWaking = false
    }

    /// A leaf: taken under the engine's lock, and that of a subscription.
    private let state = Locked(State())

    var audience: PublicationState.Audience { .always }

    /// Begins a subscription. It ends immediately if the indicator was shut down.
    func subscribe(to engine: IndicatorEngine) -> SnapshotSubscription {
        let subscription = engine.add(self, if: { !$0.machine.isShutDown }) { subscribe($0, to: engine) }
        if let subscription { return subscription }
        let ended = SnapshotBroadcaster()
        ended.finish(timeLimit: .zero, at: .zero)
        return ended.subscribe(engine.snapshot, to: engine)
    }

    /// Adds a subscription, whose first snapshot is `snapshot`.
    private func subscribe(_ snapshot: IndicatorSnapshot, to engine: IndicatorEngine) -> SnapshotSubscription {
        state.withLock { state in
            state.count += 1
            let position = SnapshotSubscription.State(
                first: snapshot,
                version: state.version,
                finishedCount: state.finishedCount
            )
            return SnapshotSubscription(of: self, engine, position)
        }
    }

    /// Removes a subscription. Returns whether it was the last.
    fileprivate func remove(_ subscription: SnapshotSubscription) -> Bool {
        state.withLock { state in
            state.count -= 1
            state.waiting.removeAll { $0 === subscription }
            if state.count == 0 { (state.latest, state.finished) = (nil, FinishedActivities()) }
            return state.count == 0
        }
    }

    func post(_ snapshot: IndicatorSnapshot) -> Bool {
        state.withLock { state in
            state.latest = snapshot.withoutReports
            state.version += 1
            state.finished.append(snapshot.finishedActivities)
            return !state.isWaking
        }
    }

    func finish(timeLimit: Duration, at now: Duration) {
        state.withLock { $0.isFinished = true }
    }

    /// The next snapshot for a subscription, as ``SnapshotSubscription/take()`` returns it.
    fileprivate func next(
        after position: inout SnapshotSubscription.State,
        for subscription: SnapshotSubscription
    ) -> IndicatorSnapshot?? {
        state.withLock { state in
            if position.version != state.version, var snapshot = state.latest {
                snapshot.finishedActivities = state.finished.last(state.finishedCount - position.finishedCount)
                position.first = nil
                (position.version, position.finishedCount) = (state.version, state.finishedCount)
                if snapshot.differs(from: position.delivered) {
                    position.delivered = snapshot
                    return snapshot
                }
            } else if let first = position.first {
                (position.first, position.delivered) = (nil, first)
                return first
            }
            if state.isFinished { return .some(nil) }
            state.waiting.append(subscription)
            return nil
        }
    }

    /// Wakes the waiting subscribers, from a separate task.
    ///
    /// Resuming a task takes its status lock. A calling thread that runs a cancellation handler holds that of another
    /// task, and two such threads could deadlock.
    func startDelivery() {
        if state.withLock({ exchange(&$0.isWaking, with: true) }) { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [self] in
            let waiting = state.withLock { state in
                state.isWaking = false
                return exchange(&state.waiting, with: [])
            }
            for subscription in waiting { subscription.continuation.yield() }
        }
    }
}
