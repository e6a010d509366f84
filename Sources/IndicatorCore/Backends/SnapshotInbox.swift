import DequeModule

/// The snapshots that a receiver has not taken yet.
///
/// What has finished in a snapshot that is replaced or left out goes to the next one, so that a receiver gets all of
/// it.
struct SnapshotInbox: Sendable {
    private struct Item: Sendable {
        var snapshot: IndicatorSnapshot
        /// Whether the indicator was shown or hidden with it. A later snapshot never replaces such an item in the queue
        /// of every transition.
        var isTransition: Bool
    }

    private let delivery: BackendDelivery
    private var items: Deque<Item> = []
    private var wasVisible = false
    /// What has finished in snapshots that the receiver did not get, before those that wait.
    private var earlier = FinishedActivities()
    /// What has finished in snapshots that were left out, after those that wait.
    private var later = FinishedActivities()

    init(delivery: BackendDelivery) {
        self.delivery = delivery
    }

    /// How many snapshots wait.
    var count: Int { items.count }

    /// Takes a snapshot in. Returns how many that waited were dropped for it.
    mutating func post(_ snapshot: IndicatorSnapshot) -> Int {
        let isTransition = snapshot.isVisible != wasVisible
        wasVisible = snapshot.isVisible
        var snapshot = snapshot
        snapshot.takeOver(later)
        later = FinishedActivities()
        switch delivery.mode {
        case .latestWins:
            // While the completion delay runs, the receiver keeps what it shows: only the end of the delay, or new
            // work, is a change to the user. What waits is still worth showing.
            if !isTransition, isUnnoticed(snapshot) { return leaveOut(snapshot) }
            if let last = items.popLast() { snapshot.takeOver(last.snapshot.finishedActivities) }
            items = [Item(snapshot: snapshot, isTransition: isTransition)]
            return 0
        case .everyTransition(let capacity):
            if !isTransition, isUnnoticed(snapshot) { return leaveOut(snapshot) }
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

    /// Takes in the present snapshot for a receiver that shows nothing yet.
    mutating func restart(with snapshot: IndicatorSnapshot) {
        wasVisible = false
        _ = post(snapshot)
    }

    /// Whether the receiver does not notice a snapshot that neither shows nor hides the indicator.
    private func isUnnoticed(_ snapshot: IndicatorSnapshot) -> Bool {
        guard !delivery.includesHidden else { return false }
        return switch snapshot.state {
        case .active: false
        case .delayingCompletion: true
        case .inactive, .delayingStart: delivery.mode != .latestWins
        }
    }

    private mutating func leaveOut(_ snapshot: IndicatorSnapshot) -> Int {
        later = snapshot.finishedActivities
        return 0
    }

    /// Hands what has finished in a snapshot that the receiver did not get on to the next one.
    mutating func keepFinished(of snapshot: IndicatorSnapshot) {
        earlier.append(snapshot.finishedActivities)
    }

    /// Takes out the next snapshot that is worth delivering to a receiver that shows `delivered`.
    mutating func take(delivered: IndicatorSnapshot?) -> IndicatorSnapshot? {
        while var item = items.popFirst() {
            item.snapshot.takeOver(earlier)
            earlier = FinishedActivities()
            if case .everyTransition = delivery.mode, item.isTransition { return item.snapshot }
            if item.snapshot.isNews(after: delivered),
                item.snapshot.isVisible || delivered?.isVisible == true || delivery.includesHidden
            {
                return item.snapshot
            }
            keepFinished(of: item.snapshot)
        }
        return nil
    }

    /// Whether ``take(delivered:)`` would return a snapshot.
    func hasNews(delivered: IndicatorSnapshot?) -> Bool {
        var copy = self
        return copy.take(delivered: delivered) != nil
    }

    /// Drops what waits. Returns how many snapshots that were.
    mutating func removeAll() -> Int {
        defer { items = [] }
        return items.count
    }
}

extension IndicatorSnapshot {
    /// Whether a receiver that has got `delivered` has not got this yet.
    fileprivate func isNews(after delivered: IndicatorSnapshot?) -> Bool {
        guard let delivered else { return true }
        return !finished.isEmpty || self != delivered.withoutFinished
    }
}
