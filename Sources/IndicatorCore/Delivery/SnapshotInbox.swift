/// The snapshot that a receiver has not taken yet, with what those report that it has skipped.
///
/// The latest wins. What ended, and the last snapshot of each period in which the indicator was shown or hidden, moves
/// from a skipped one to the next, so that a receiver gets all of them.
struct SnapshotInbox: Sendable {
    private let includesHidden: Bool
    private var waiting: IndicatorSnapshot?
    /// One that was taken and not shown, or that the receiver does not need: the next one takes its reports over.
    private var left: IndicatorSnapshot?
    /// The periods of the latest snapshot, and of the last one that was shown.
    private var latest: IndicatorSnapshot.Period?
    private var shown = IndicatorSnapshot.Period(number: 0, isVisible: false)

    init(delivery: BackendDelivery) {
        includesHidden = delivery.includesHidden
    }

    /// Whether no snapshot waits.
    var isEmpty: Bool { waiting == nil }

    /// Adds a snapshot.
    mutating func post(_ snapshot: IndicatorSnapshot) {
        let isNewPeriod = latest.map { $0 != snapshot.visibilityPeriod } ?? snapshot.isVisible
        if latest == nil {
            // At first, a receiver shows what a hidden indicator does.
            shown.number = snapshot.isVisible ? snapshot.period - 1 : snapshot.period
        }
        latest = snapshot.visibilityPeriod
        // During the completion delay, the receiver keeps what it shows: only the end of the delay, or new work, is a
        // visible change. A waiting snapshot is still delivered.
        if !isNewPeriod, !includesHidden, snapshot.state != .active {
            if waiting == nil {
                var snapshot = snapshot
                if let left { snapshot.takeOver(left) }
                left = snapshot
            } else {
                waiting?.finishedActivities.append(snapshot.finishedActivities)
            }
            return
        }
        var snapshot = snapshot
        if let waiting { snapshot.takeOver(waiting) }
        waiting = snapshot
    }

    /// Adds the current snapshot for a receiver that shows nothing yet.
    mutating func restart(with snapshot: IndicatorSnapshot) { waiting = snapshot }

    /// Moves what the snapshot reports that was taken last, and not shown, to the next one.
    mutating func leave(_ snapshot: IndicatorSnapshot) {
        if left == nil { left = snapshot } else { left?.takeOver(snapshot) }
    }

    /// The receiver has shown a snapshot.
    mutating func hasShown(_ snapshot: IndicatorSnapshot) { shown = snapshot.visibilityPeriod }

    /// Removes and returns the snapshot to deliver to a receiver that shows `delivered`.
    mutating func take(delivered: IndicatorSnapshot?) -> IndicatorSnapshot? {
        guard var snapshot = waiting.take() else { return nil }
        if let left = left.take() { snapshot.takeOver(left) }
        if snapshot.transitions.first.map({ $0.visibilityPeriod == shown }) ?? false { snapshot.dropFirstTransition() }
        let first = snapshot.transitions.first ?? snapshot
        snapshot.omittedTransitionCount = max(first.period - shown.number - 1, 0)
        let isWanted =
            snapshot.isVisible || delivered?.isVisible == true || includesHidden || !snapshot.transitions.isEmpty
            || shown != snapshot.visibilityPeriod
        if isWanted, snapshot.differs(from: delivered) { return snapshot }
        if !isWanted { shown = snapshot.visibilityPeriod }
        leave(snapshot)
        return nil
    }

    /// Whether a snapshot, or reports of one that was not shown, wait.
    var hasUndelivered: Bool {
        left.map { $0 != $0.withoutReports || $0.visibilityPeriod != shown } ?? false || hasChanges(since: nil)
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

    /// A period in which the indicator was shown or hidden.
    struct Period: Sendable, Equatable {
        var number: Int
        var isVisible: Bool
    }

    var visibilityPeriod: Period { Period(number: period, isVisible: isVisible) }

    /// Whether this snapshot is new to a receiver that shows `delivered`.
    func differs(from delivered: IndicatorSnapshot?) -> Bool {
        guard let delivered else { return true }
        return !finishedActivities.isEmpty || !transitions.isEmpty || self != delivered.withoutReports
    }

    /// Takes over what an earlier snapshot reports, which is skipped.
    mutating func takeOver(_ earlier: IndicatorSnapshot) {
        var all = earlier.transitions
        if earlier.visibilityPeriod == (transitions.first ?? self).visibilityPeriod {
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
