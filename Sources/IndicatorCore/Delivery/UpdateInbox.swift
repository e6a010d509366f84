/// The update that a receiver has not taken yet.
///
/// The latest snapshot wins. What ended, and the last snapshot of each period in which the indicator was shown or
/// hidden, is kept until it is delivered, so that a receiver gets all of them.
struct UpdateInbox: Sendable {
    private let includesHidden: Bool
    /// What was not delivered, one for each period, in order; the last one has the latest snapshot.
    private var steps: [IndicatorUpdate] = []
    /// Whether they wait for the receiver. Otherwise they are only kept for what they report.
    private var isWaiting = false
    /// Whether the receiver gets what they report in any case, because nothing follows.
    private var isLast = false
    /// The periods of the latest snapshot, and of the last one that was shown.
    private var latest: Int?
    private var shown = 0

    init(delivery: BackendDelivery) {
        includesHidden = delivery.includesHidden
    }

    /// Whether no update waits.
    var isEmpty: Bool { !isWaiting }

    /// Adds an update.
    mutating func post(_ update: IndicatorUpdate) {
        let snapshot = update.snapshot
        // At first, a receiver shows what a hidden indicator does.
        if latest == nil { shown = snapshot.isVisible ? snapshot.period - 1 : snapshot.period }
        let isNewPeriod = snapshot.period != latest ?? shown
        latest = snapshot.period
        // During the completion delay, the receiver keeps what it shows: only the end of the delay, or new work, is a
        // visible change. A waiting snapshot is still delivered.
        let isNews = isNewPeriod || includesHidden || snapshot.state == .active
        if isWaiting, !isNews {
            steps[steps.count - 1].finishedActivities.append(update.finishedActivities)
        } else {
            append(update)
            isWaiting = isWaiting || isNews
        }
    }

    /// Adds the current snapshot for a receiver that shows nothing yet.
    mutating func restart(with snapshot: IndicatorSnapshot) {
        append(IndicatorUpdate(snapshot))
        isWaiting = true
    }

    /// Nothing follows: what ended and was not delivered no longer waits for a change.
    mutating func close() {
        isLast = steps.contains { !$0.finishedActivities.isEmpty }
        isWaiting = isWaiting || isLast
    }

    /// Returns an update that was taken last, and not shown.
    mutating func giveBack(_ update: IndicatorUpdate) {
        let later = steps
        steps = update.steps
        for step in later { append(step) }
    }

    private mutating func append(_ update: IndicatorUpdate) {
        if let last = steps.last, last.snapshot.period == update.snapshot.period {
            steps[steps.count - 1].snapshot = update.snapshot
            steps[steps.count - 1].finishedActivities.append(update.finishedActivities)
        } else {
            steps.append(update)
        }
        while steps.count > IndicatorUpdate.transitionLimit + 1 { Self.dropFirst(of: &steps) }
    }

    /// Drops the first step, whose finished activities move to the next one.
    private static func dropFirst(of steps: inout [IndicatorUpdate]) {
        var finished = steps.removeFirst().finishedActivities
        finished.append(steps[0].finishedActivities)
        steps[0].finishedActivities = finished
    }

    /// The receiver has shown an update.
    mutating func hasShown(_ update: IndicatorUpdate) { shown = update.snapshot.period }

    /// Removes and returns the update to deliver to a receiver that shows `delivered`.
    mutating func take(delivered: IndicatorSnapshot?) -> IndicatorUpdate? {
        guard exchange(&isWaiting, with: false) else { return nil }
        if steps.count > 1, steps[0].snapshot.period == shown { Self.dropFirst(of: &steps) }
        guard let first = steps.first, var update = steps.last else { return nil }
        update.earlier = Array(steps.dropLast())
        update.omittedTransitions = max(first.snapshot.period - shown - 1, 0)
        let snapshot = update.snapshot
        let isWanted =
            snapshot.isVisible || delivered?.isVisible == true || includesHidden || isLast || steps.count > 1
            || shown != snapshot.period
        guard isWanted else {
            shown = snapshot.period
            return nil
        }
        guard update.isNews(since: delivered) else { return nil }
        steps = []
        return update
    }

    /// Whether updates, or reports of one that was not shown, wait.
    var hasUndelivered: Bool { isWaiting && hasChanges(since: nil) || lost != (0, 0) }

    /// How many ended activities and showings wait.
    var lost: (activities: Int, showings: Int) {
        guard let last = steps.last?.snapshot else { return (0, 0) }
        let activities = steps.map { $0.finishedActivities.latest.count + $0.finishedActivities.omittedCount }
        // Each second period is a showing.
        return (activities.reduce(0, +), (max(last.period - shown, 0) + (last.isVisible ? 1 : 0)) / 2)
    }

    /// Whether ``take(delivered:)`` would return an update.
    func hasChanges(since delivered: IndicatorSnapshot?) -> Bool {
        var copy = self
        return copy.take(delivered: delivered) != nil
    }
}

extension IndicatorUpdate {
    /// Whether it is new to a receiver that shows `delivered`.
    func isNews(since delivered: IndicatorSnapshot?) -> Bool {
        guard let delivered else { return true }
        return !finishedActivities.isEmpty || !earlier.isEmpty || snapshot.period != delivered.period
            || snapshot != delivered
    }
}

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
            if !engine.add(subscription) {
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
