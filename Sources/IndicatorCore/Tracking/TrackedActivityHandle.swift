import Synchronization

/// What ``TrackedActivity`` and ``ManagedTrackedActivity`` have in common: which activity of which tracker they stand for.
struct TrackedActivityHandle<Value: Sendable>: ~Copyable, Sendable {
    private static var ended: Int32 { -1 }

    let tracker: ActivityTracker<Value>
    /// The activity's slot; `ended` from its end on. Written with the tracker's lock held.
    private let slot: Atomic<Int32>

    init(_ value: Value?, in tracker: ActivityTracker<Value>, _ delivery: ActivityTracker<Value>.Delivery = .now) {
        self.tracker = tracker
        slot = Atomic(tracker.change(delivery) { $0.begin(value) })
    }

    /// Whether the activity has ended.
    var hasEnded: Bool { slot.load(ordering: .relaxed) == Self.ended }

    /// Changes the value; without effect when the activity has ended.
    func update(_ value: Value?) {
        guard !hasEnded else { return }
        _ = tracker.change { state -> Value? in
            let slot = self.slot.load(ordering: .relaxed)
            return slot == Self.ended ? nil : state.update(slot, to: value)
        }
    }

    /// Ends the activity; without effect when it has ended.
    func end(_ delivery: ActivityTracker<Value>.Delivery = .now) {
        guard !hasEnded else { return }
        _ = tracker.change(delivery) { state -> Value? in
            let slot = self.slot.exchange(Self.ended, ordering: .relaxed)
            return slot == Self.ended ? nil : state.end(slot)
        }
    }
}
