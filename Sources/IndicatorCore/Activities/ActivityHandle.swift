public import Synchronization

/// What ``Activity`` and ``ManagedActivity`` have in common: which activity they stand for, and whether anything is told of it.
///
/// While the activity is counted its manager exists, so the handle holds no reference: see ``IndicatorManager/beginPlain()``.
@usableFromInline
struct ActivityHandle: ~Copyable, Sendable {
    @inlinable static var noDetail: Int32 { -1 }
    private static var ended: Int32 { -2 }

    @usableFromInline let manager: Unmanaged<IndicatorManager>
    /// The word before the activity was counted, for its order.
    @usableFromInline let before: ActivityWord.Value
    /// The slot of the activity's label and progress.
    @usableFromInline let slot: Atomic<Int32>

    @inlinable
    init(manager: IndicatorManager, before: ActivityWord.Value, slot: Int32) {
        self.manager = .passUnretained(manager)
        self.before = before
        self.slot = Atomic(slot)
    }

    /// Whether the activity has ended.
    var hasEnded: Bool { slot.load(ordering: .relaxed) == Self.ended }

    /// Changes what is told of the activity. The manager must exist.
    func update(label: String?, progress: Double?) {
        guard label != nil || progress != nil, !hasEnded else { return }
        manager.takeUnretainedValue().changeDetails { details in
            let slot = self.slot.load(ordering: .acquiring)
            if slot >= 0 {
                details.update(slot, label: label, progress: progress)
            } else if slot == Self.noDetail {
                let new = details.insert(label: label, progress: progress, order: ActivityOrder.token(before))
                let stored = self.slot.compareExchange(
                    expected: Self.noDetail,
                    desired: new,
                    ordering: .acquiringAndReleasing
                )
                if !stored.exchanged { details.remove(new) }
            }
        }
    }

    /// Ends the activity. To be called once, by the only owner.
    @inlinable
    func endOnce() {
        // Whoever updated it before has let go of it: nobody stores a slot any more.
        let slot = slot.load(ordering: .acquiring)
        manager._withUnsafeGuaranteedRef { manager in
            if slot == Self.noDetail { manager.endPlain() } else { manager.end(slot: slot) }
        }
    }

    /// Ends the activity; without effect when it has ended.
    func end() {
        let slot = slot.exchange(Self.ended, ordering: .acquiringAndReleasing)
        guard slot != Self.ended else { return }
        manager._withUnsafeGuaranteedRef { manager in
            if slot == Self.noDetail { manager.endPlain() } else { manager.end(slot: slot) }
        }
    }
}
