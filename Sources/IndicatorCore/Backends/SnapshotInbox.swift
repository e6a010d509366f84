/// The snapshots that a backend has not taken yet.
struct SnapshotInbox: Sendable {
    private struct Item: Sendable {
        var snapshot: IndicatorSnapshot
        /// Whether the indicator was shown or hidden with it. Such an item is never replaced by a later one.
        var isTransition: Bool
    }

    private let delivery: BackendDelivery
    private var items: [Item] = []
    private var wasVisible = false

    init(delivery: BackendDelivery) {
        self.delivery = delivery
    }

    /// How many snapshots wait.
    var count: Int { items.count }

    /// Takes a snapshot in. Returns how many that waited had to go for it.
    mutating func post(_ snapshot: IndicatorSnapshot) -> Int {
        let isTransition = snapshot.isVisible != wasVisible
        wasVisible = snapshot.isVisible
        let item = Item(snapshot: snapshot, isTransition: isTransition)
        switch delivery.mode {
        case .latestWins:
            items = [item]
            return 0
        case .everyTransition(let capacity):
            if !isTransition, !snapshot.isVisible, !delivery.includesHidden { return 0 }
            if !isTransition, let last = items.last, !last.isTransition { items.removeLast() }
            items.append(item)
            guard items.count > max(capacity, 1) else { return 0 }
            items.removeFirst()
            return 1
        }
    }

    /// Takes out the next snapshot that is worth delivering to a backend that shows `delivered`.
    mutating func take(delivered: IndicatorSnapshot?) -> IndicatorSnapshot? {
        while !items.isEmpty {
            let item = items.removeFirst()
            if case .everyTransition = delivery.mode, item.isTransition { return item.snapshot }
            let isNews = item.snapshot != delivered
            let isShown = item.snapshot.isVisible || delivered?.isVisible == true || delivery.includesHidden
            if isNews, isShown { return item.snapshot }
        }
        return nil
    }

    /// Whether ``take(delivered:)`` would return a snapshot.
    func hasNews(delivered: IndicatorSnapshot?) -> Bool {
        var copy = self
        return copy.take(delivered: delivered) != nil
    }

    /// Throws away what waits. Returns how many snapshots that were.
    mutating func removeAll() -> Int {
        defer { items = [] }
        return items.count
    }
}
