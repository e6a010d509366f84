/// The snapshot that a receiver has not taken yet, with what those report that it has skipped.
///
/// The latest wins. What ended, and the last snapshot of each period in which the indicator was shown or hidden, moves
/// from a skipped one to the next, so that a receiver gets all of them.
struct SnapshotInbox: Sendable {
    private let includesHidden: Bool
    /// The snapshot to deliver next, with what those report that were skipped or not shown.
    private var next: IndicatorSnapshot?
    /// Whether it waits for the receiver. Otherwise it is only kept for what it reports.
    private var isWaiting = false
    /// The periods of the latest snapshot, and of the last one that was shown.
    private var latest: Int?
    private var shown = 0

    init(delivery: BackendDelivery) {
        includesHidden = delivery.includesHidden
    }

    /// Whether no snapshot waits.
    var isEmpty: Bool { !isWaiting }

    /// Adds a snapshot.
    mutating func post(_ snapshot: IndicatorSnapshot) {
        // At first, a receiver shows what a hidden indicator does.
        if latest == nil { shown = snapshot.isVisible ? snapshot.period - 1 : snapshot.period }
        let isNewPeriod = snapshot.period != latest ?? shown
        latest = snapshot.period
        // During the completion delay, the receiver keeps what it shows: only the end of the delay, or new work, is a
        // visible change. A waiting snapshot is still delivered.
        let isNews = isNewPeriod || includesHidden || snapshot.state == .active
        if isWaiting, !isNews {
            next?.finishedActivities.append(snapshot.finishedActivities)
        } else {
            replace(with: snapshot)
            isWaiting = isWaiting || isNews
        }
    }

    private mutating func replace(with snapshot: IndicatorSnapshot) {
        var snapshot = snapshot
        if let next { snapshot.takeOver(next) }
        next = snapshot
    }

    /// Adds the current snapshot for a receiver that shows nothing yet.
    mutating func restart(with snapshot: IndicatorSnapshot) {
        replace(with: snapshot)
        isWaiting = true
    }

    /// Moves what the snapshot reports that was taken last, and not shown, to the next one.
    mutating func leave(_ snapshot: IndicatorSnapshot) {
        if next == nil { next = snapshot } else { next?.takeOver(snapshot) }
    }

    /// The receiver has shown a snapshot.
    mutating func hasShown(_ snapshot: IndicatorSnapshot) { shown = snapshot.period }

    /// Removes and returns the snapshot to deliver to a receiver that shows `delivered`.
    mutating func take(delivered: IndicatorSnapshot?) -> IndicatorSnapshot? {
        guard exchange(&isWaiting, with: false), var snapshot = next.take() else { return nil }
        if snapshot.transitions.first?.period == shown { snapshot.dropFirstTransition() }
        let first = snapshot.transitions.first ?? snapshot
        snapshot.omittedTransitionCount = max(first.period - shown - 1, 0)
        let isWanted =
            snapshot.isVisible || delivered?.isVisible == true || includesHidden || !snapshot.transitions.isEmpty
            || shown != snapshot.period
        if isWanted, snapshot.differs(from: delivered) { return snapshot }
        if !isWanted { shown = snapshot.period }
        leave(snapshot)
        return nil
    }

    /// Whether a snapshot, or reports of one that was not shown, wait.
    var hasUndelivered: Bool {
        if isWaiting, hasChanges(since: nil) { return true }
        return next.map { $0 != $0.withoutReports || $0.period != shown } ?? false
    }

    /// Whether ``take(delivered:)`` would return a snapshot.
    func hasChanges(since delivered: IndicatorSnapshot?) -> Bool {
        var copy = self
        return copy.take(delivered: delivered) != nil
    }
}

extension IndicatorSnapshot {
    /// How many skipped snapshots ``transitions`` lists.
    static var transitionLimit: Int { 64 }

    /// Whether this snapshot is new to a receiver that shows `delivered`.
    func differs(from delivered: IndicatorSnapshot?) -> Bool {
        guard let delivered else { return true }
        return !finishedActivities.isEmpty || !transitions.isEmpty || self != delivered.withoutReports
    }

    /// Takes over what an earlier snapshot reports, which is skipped.
    mutating func takeOver(_ earlier: IndicatorSnapshot) {
        var all = earlier.transitions
        if earlier.period == (transitions.first ?? self).period {
            prepend(earlier.finishedActivities)
        } else {
            var last = earlier
            last.transitions = []
            all.append(last)
        }
        transitions = all + transitions
        while transitions.count > Self.transitionLimit { dropFirstTransition() }
    }

    /// Drops the first one of ``transitions``, whose finished activities move to the next.
    fileprivate mutating func dropFirstTransition() {
        prepend(transitions.removeFirst().finishedActivities)
    }

    /// Adds what ended before all else that this snapshot reports.
    package mutating func prepend(_ finished: FinishedActivities) {
        var all = finished
        all.append(transitions.first?.finishedActivities ?? finishedActivities)
        if transitions.isEmpty { finishedActivities = all } else { transitions[0].finishedActivities = all }
    }
}
