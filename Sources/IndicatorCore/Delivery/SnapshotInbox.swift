/// The snapshots that a receiver has not taken yet.
///
/// The finished activities of a replaced or skipped snapshot move to the next one, so that a receiver gets all of them.
struct SnapshotInbox: Sendable {
    private struct Item: Sendable {
        var snapshot: IndicatorSnapshot
        /// Whether the snapshot shows or hides the indicator. In the mode `everyTransition` no later one replaces it.
        var isTransition: Bool
    }

    private let delivery: BackendDelivery
    private var items: [Item] = []
    private var wasVisible = false
    /// The finished activities of undelivered snapshots that precede the waiting ones.
    private var earlier = FinishedActivities()
    /// The finished activities of skipped snapshots that follow the waiting ones.
    private var later = FinishedActivities()

    init(delivery: BackendDelivery) {
        self.delivery = delivery
    }

    /// How many snapshots wait.
    var count: Int { items.count }

    /// Adds a snapshot. Returns how many waiting ones were dropped for it.
    mutating func post(_ snapshot: IndicatorSnapshot) -> Int {
        let isTransition = snapshot.isVisible != wasVisible
        wasVisible = snapshot.isVisible
        var snapshot = snapshot
        snapshot.takeOver(later)
        later = FinishedActivities()
        // During the completion delay, the receiver keeps what it shows: only the end of the delay, or new work, is a
        // visible change. A waiting snapshot is still delivered.
        if !isTransition, isUnnoticed(snapshot) {
            later = snapshot.finishedActivities
            return 0
        }
        switch delivery.mode {
        case .latestWins:
            if let last = items.popLast() { snapshot.takeOver(last.snapshot.finishedActivities) }
            items = [Item(snapshot: snapshot, isTransition: isTransition)]
            return 0
        case .everyTransition(let capacity):
            if !isTransition, let last = items.last, !last.isTransition {
                items.removeLast()
                snapshot.takeOver(last.snapshot.finishedActivities)
            }
            items.append(Item(snapshot: snapshot, isTransition: isTransition))
            guard items.count > max(capacity, 1) else { return 0 }
            let dropped = items.removeFirst()
            items[0].snapshot.takeOver(dropped.snapshot.finishedActivities)
            return 1
        }
    }

    /// Adds the current snapshot for a receiver that shows nothing yet.
    mutating func restart(with snapshot: IndicatorSnapshot) {
        wasVisible = false
        _ = post(snapshot)
    }

    /// Whether a snapshot that neither shows nor hides the indicator is skipped.
    private func isUnnoticed(_ snapshot: IndicatorSnapshot) -> Bool {
        guard !delivery.includesHidden else { return false }
        return switch snapshot.state {
        case .active: false
        case .delayingCompletion: true
        case .inactive, .delayingStart: delivery.mode != .latestWins
        }
    }

    /// Moves the finished activities of an undelivered snapshot to the next one.
    mutating func keepFinished(of snapshot: IndicatorSnapshot) {
        earlier.append(snapshot.finishedActivities)
    }

    /// Removes and returns the next snapshot to deliver to a receiver that shows `delivered`.
    mutating func take(delivered: IndicatorSnapshot?) -> IndicatorSnapshot? {
        while !items.isEmpty {
            var item = items.removeFirst()
            item.snapshot.takeOver(earlier)
            earlier = FinishedActivities()
            if case .everyTransition = delivery.mode, item.isTransition { return item.snapshot }
            if item.snapshot.differs(from: delivered),
                item.snapshot.isVisible || delivered?.isVisible == true || delivery.includesHidden
            {
                return item.snapshot
            }
            keepFinished(of: item.snapshot)
        }
        return nil
    }

    /// Whether a snapshot, or finished activities of one that was not delivered, wait.
    var hasUndelivered: Bool { !earlier.isEmpty || hasChanges(since: nil) }

    /// Whether ``take(delivered:)`` would return a snapshot.
    func hasChanges(since delivered: IndicatorSnapshot?) -> Bool {
        var copy = self
        return copy.take(delivered: delivered) != nil
    }

    /// Drops the waiting snapshots. Returns their number.
    mutating func removeAll() -> Int {
        defer { items = [] }
        return items.count
    }
}

extension IndicatorSnapshot {
    /// Whether this snapshot is new to a receiver that shows `delivered`.
    func differs(from delivered: IndicatorSnapshot?) -> Bool {
        guard let delivered else { return true }
        return !finished.isEmpty || self != delivered.withoutFinished
    }
}
