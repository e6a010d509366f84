import Foundation
import Synchronization

/// The details of one activity: its label, progress and so on.
///
/// An activity without details has no record. The manager's lock protects all mutable properties except the steps.
@usableFromInline
final class ActivityRecord: @unchecked Sendable {
    // `@unchecked`: `steps` is atomic; the rest is read and written with the manager's lock held, except in the
    // initializer.

    /// Orders activities by when they began, or got their first details.
    private(set) var order: UInt64 = 0
    /// When the activity began, or got its first details, on the manager's clock.
    private(set) var began = Duration.zero
    /// The label, and other properties of ``ActivityDetails``. One by one: copies of the whole are measurable.
    private(set) var label: String?
    private var progress: Double?
    // The flags are together, which saves memory.
    private(set) var failsWithMembers = false
    /// Whether it begins in a group, whose sums change with it.
    let isMember: Bool
    /// Whether it is in the list of activities with a label.
    // Unchecked, here and below: the lock excludes other accesses, and the check is measurable.
    @exclusivity(unchecked) var isLabelled = false
    /// Whether its group was still in progress when it ended.
    @exclusivity(unchecked) var hasEndedInGroup = false
    /// How the activity ended; `nil` while it is in progress.
    @exclusivity(unchecked) var outcome: ActivityOutcome?
    /// When it ended, if it had a label then.
    @exclusivity(unchecked) var ended = Duration.zero
    /// ``ActivityDetails/completed``.
    private let steps = Atomic<Int>(0)
    private var extras: Extras?
    /// Its state as a group; `nil` until an activity begins in it.
    @exclusivity(unchecked) var group: ActivityGroup?
    /// Its membership in a group, while it is in progress.
    @exclusivity(unchecked) var membership: ActivityGroup.Membership?

    /// What few activities have. Apart, because it takes memory.
    private final class Extras {
        var total: Int?
        var unit = ActivityUnit.count
        var attention: String?
        var detail: String?
        var isWaiting = false
        /// The first steps, if they were set instead of added: they may have been done earlier.
        var doneEarlier = 0
        /// The rate of the steps, once a snapshot has listed it.
        var rate: RateEstimate?
    }

    init(
        label: String? = nil,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        isMember: Bool = false
    ) {
        self.isMember = isMember
        self.label = ActivityDetails.safe(label)
        self.progress = ActivityDetails.limited(progress)
        if total != nil { makeExtras().total = total }
        if unit != .count { makeExtras().unit = unit }
    }

    /// The activity begins.
    func begin(order: UInt64, at now: Duration) {
        (self.order, began) = (order, now)
    }

    private func makeExtras() -> Extras {
        let extras = extras ?? Extras()
        self.extras = extras
        return extras
    }

    private var total: Int? { extras?.total }
    private var unit: ActivityUnit { extras?.unit ?? .count }

    var rate: RateEstimate? {
        get { extras?.rate }
        set { makeExtras().rate = newValue }
    }

    /// Whether the activity has ended.
    var hasEnded: Bool { outcome != nil }

    private var doneEarlier: Int { extras?.doneEarlier ?? 0 }

    /// The group that it is a member of, while it is in progress. If the group has ended, the activity is independent.
    var parent: ActivityRecord? { membership?.group }

    /// The current details, but not when it began.
    var currentDetails: ActivityDetails {
        var details = details(label: label, detail: extras?.detail, attention: extras?.attention)
        details.isWaiting = extras?.isWaiting ?? false
        return details
    }

    @inline(__always)
    private func details(label: String?, detail: String? = nil, attention: String? = nil) -> ActivityDetails {
        var details = ActivityDetails(
            safeLabel: label,
            detail: detail,
            attention: attention,
            progress: progress,
            total: total,
            unit: unit,
            since: .distantPast
        )
        (details.id, details.failsWithMembers) = (order, failsWithMembers)
        details.completed = steps.load(ordering: .sequentiallyConsistent)
        return details
    }

    /// Adds to the steps, which stay within the range of an `Int`. Any thread may call it.
    ///
    /// - Returns: whether these were the first steps, so that the record may have been constant before.
    @discardableResult
    func advance(by amount: Int) -> Bool {
        let (old, new) = steps.wrappingAdd(amount, ordering: .sequentiallyConsistent)
        if (new < old) != (amount < 0) { steps.store(amount < 0 ? .min : .max, ordering: .relaxed) }
        return old == 0
    }

    /// Merges a changed copy of the details. What other threads have changed since the copy was made is kept.
    func merge(_ new: ActivityDetails, since old: ActivityDetails) {
        if new.label != old.label { label = new.label }
        if new.explicitProgress != old.explicitProgress { progress = new.explicitProgress }
        if new.total != old.total { makeExtras().total = new.total }
        if new.unit != old.unit { makeExtras().unit = new.unit }
        if new.attention != old.attention { makeExtras().attention = new.attention }
        if new.detail != old.detail { makeExtras().detail = new.detail }
        if new.failsWithMembers != old.failsWithMembers { failsWithMembers = new.failsWithMembers }
        if new.isWaiting != old.isWaiting { makeExtras().isWaiting = new.isWaiting }
        let difference = new.completed &- old.completed
        guard difference != 0 else { return }
        steps.wrappingAdd(difference, ordering: .sequentiallyConsistent)
        makeExtras().doneEarlier = old.completed == 0 ? new.completed : min(doneEarlier, new.completed)
    }

    /// The current details, with what the members of a group add; and what was done earlier.
    var summary: (details: ActivityDetails, earlier: ActivityGroup.Earlier) {
        var details = currentDetails
        let earlier = group?.summarize(&details, doneEarlier: doneEarlier)
        return (details, earlier ?? (doneEarlier, 0))
    }

    /// How much was done, with what the members of a group did, and how much of it earlier.
    var amount: (completed: Int, doneEarlier: Int, unit: ActivityUnit) {
        if group == nil { return (steps.load(ordering: .relaxed), doneEarlier, unit) }
        let (details, earlier) = summary
        return (details.completed, earlier.amount, details.unit)
    }

    /// What it contributes to its group now.
    var currentShare: ActivityGroup.Share {
        // Without texts: copies are measurable.
        var details = details(label: nil)
        let earlier = group?.summarize(&details, doneEarlier: doneEarlier)
        if let progress, let total, details.completed <= 0 {
            // The app sets the progress instead of the steps.
            details.completed = Int(clamping: Int128(Double(max(total, 0)) * progress))
        }
        return ActivityGroup.Share(details, earlier ?? (doneEarlier, 0))
    }

    /// Updates what it contributes to its group, what that contributes to its own, and so on.
    func updateShare() {
        var record = self
        while let membership = record.membership, !membership.group.hasEnded {
            let new = record.currentShare
            if new == membership.share { return }
            membership.group.group?.replace(membership.share, with: new)
            membership.share = new
            record = membership.group
        }
    }

    /// Whether the details stay the same until the next update.
    var isConstant: Bool {
        group == nil && total == nil && progress == nil && steps.load(ordering: .relaxed) == 0
    }
}
