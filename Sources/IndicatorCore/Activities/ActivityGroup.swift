/// The state of an activity as a group: sums, so that nothing depends on the number of its members. Belongs to its
/// record.
final class ActivityGroup {
    /// What was done earlier, as in a resumed download: how much, and, if it has members, how much of the progress.
    typealias Earlier = (amount: Int, progress: Double)

    /// What a member contributes to its group.
    struct Share: Equatable {
        /// What is done, and how much of it was done earlier.
        private(set) var done: Int
        private(set) var doneEarlier: Int
        /// At least what is done; `nil` if unknown.
        private(set) var total: Int?
        let unit: ActivityUnit
        private(set) var progress: Double
        private(set) var progressEarlier: Double
        private(set) var hasEnded = false

        /// What a member in progress contributes.
        init(_ details: ActivityDetails, _ earlier: Earlier) {
            progress = details.progress ?? 0
            done = max(details.completed, 0)
            total = details.total.map { [done] in max($0, done) }
            doneEarlier = min(max(earlier.amount, 0), done)
            unit = details.unit
            progressEarlier = earlier.progress
            if progressEarlier == 0, let total { progressEarlier = Double(doneEarlier) / Double(max(total, 1)) }
        }

        /// What a member contributes after its end: its total, which is done, if it has succeeded; otherwise what it
        /// has done.
        mutating func end(_ outcome: ActivityOutcome) {
            let known = done > 0 ? done : nil
            if case .succeeded = outcome { total = total ?? known } else { total = known }
            // Without steps, it was there already: that is no progress for a rate.
            if done == 0 { doneEarlier = total ?? 0 }
            if doneEarlier > 0 { progressEarlier = Double(doneEarlier) / Double(total ?? doneEarlier) }
            (done, progress, hasEnded) = (total ?? 0, 1, true)
        }
    }

    /// The membership of an activity in progress.
    final class Membership {
        let group: ActivityRecord
        /// What the member contributes.
        var share: Share?

        init(in group: ActivityRecord) {
            self.group = group
        }
    }

    /// Sums of shares. Fractions are integers, too: sums of integers are exact, so that what is subtracted again leaves
    /// nothing.
    private struct Sums {
        static var progressScale: Double { 0x1p60 }

        /// How many members there are in all, how many of them have ended, and how many are in progress without a
        /// total.
        var count: Int128 = 0
        var endedCount: Int128 = 0
        var unknownCount: Int128 = 0
        var done: Int128 = 0
        var doneEarlier: Int128 = 0
        /// The totals; what is done where it is unknown.
        var total: Int128 = 0
        /// The progress of each, in parts of `progressScale`, and how much of it was made earlier.
        var progress: Int128 = 0
        var progressEarlier: Int128 = 0

        /// Adds a share, or with a sign of -1 subtracts it.
        mutating func add(_ share: Share, sign: Int128 = 1) {
            count += sign
            if share.hasEnded { endedCount += sign }
            if share.total == nil, !share.hasEnded { unknownCount += sign }
            done += sign * Int128(share.done)
            doneEarlier += sign * Int128(share.doneEarlier)
            total += sign * Int128(share.total ?? share.done)
            progress += sign * Int128((share.progress * Self.progressScale).rounded())
            progressEarlier += sign * Int128((share.progressEarlier * Self.progressScale).rounded())
        }
    }

    /// How many members are in progress.
    var memberCount = 0
    /// How many members have ended, and how many failed.
    private var finishedCount = 0
    private var failedCount = 0
    /// The label and the message of the first that failed.
    private var firstFailure: (label: String?, message: String)?
    /// The shares of all members, and of those of each unit.
    private var all = Sums()
    private var units: [ActivityUnit: Sums] = [:]

    /// Replaces the share of a member, or removes it.
    func replace(_ old: Share?, with new: Share?) {
        if let old {
            all.add(old, sign: -1)
            units[old.unit]?.add(old, sign: -1)
        }
        guard let new else { return }
        all.add(new)
        units[new.unit, default: Sums()].add(new)
    }

    /// A member has ended, which contributed `old` to the sums, and `share` last; without an outcome, it is removed.
    func finish(_ member: ActivityRecord, _ outcome: ActivityOutcome?, _ old: Share?, _ share: Share) {
        memberCount -= 1
        guard let outcome else { return replace(old, with: nil) }
        var share = share
        share.end(outcome)
        replace(old, with: share)
        finishedCount += 1
        guard case .failed(let message) = outcome else { return }
        failedCount += 1
        if failedCount == 1 { firstFailure = (member.label, message) }
    }

    /// The outcome of the group.
    func outcome(_ outcome: ActivityOutcome, failsWithMembers: Bool) -> ActivityOutcome {
        guard failsWithMembers, failedCount > 0, outcome == .succeeded || outcome == .unspecified else {
            return outcome
        }
        let first = firstFailure.map { "\($0.label.map { "\($0): " } ?? "")\($0.message)" } ?? ""
        return ActivityOutcome.failed("\(failures): \(first)").safe
    }

    private var failures: String { "\(failedCount) of \(finishedCount + memberCount) failed" }

    /// What is new in an outcome of the group after the failure that a member has reported: nothing in an error that
    /// passes through both, their number if they make the group fail; `nil` if all is new.
    func message(afterMembers outcome: ActivityOutcome) -> String? {
        guard let firstFailure, firstFailure.label != nil else { return nil }
        if outcome == .failed(firstFailure.message) { return "" }
        return outcome == self.outcome(.succeeded, failsWithMembers: true) ? failures : nil
    }

    /// Adds the members to the group's own ``ActivityDetails/completed`` and ``ActivityDetails/total``, and sets the
    /// progress if it does not follow from the two.
    ///
    /// A member in the group's unit, if that has a name, adds what is done and its total. Any other member counts as
    /// one, in a group of bytes as none. The total is at least the sum. It is unknown if that of a member is, unless
    /// the group has one itself. Takes how much of the group's own amount was done earlier, and returns what all did
    /// earlier.
    func summarize(_ details: inout ActivityDetails, doneEarlier: Int) -> Earlier {
        let unit = details.unit
        let same = (unit == .count ? nil : units[unit]) ?? Sums()
        let (others, ended) = unit == .bytes ? (0, 0) : (all.count - same.count, all.endedCount - same.endedCount)
        // Steps and totals may be any numbers.
        let own = max(Int128(details.completed), 0)
        let members = same.total + others
        details.completed = Int(clamping: own + same.done + ended)
        if details.total != nil || same.unknownCount == 0 && members > 0 {
            details.total = Int(clamping: max(Int128(details.total ?? 0), own + members))
        }
        let earlier = Int128(max(doneEarlier, 0)) + same.doneEarlier
        var progressEarlier = 0.0
        if details.explicitProgress == nil, others > 0, let total = details.total {
            func progress(_ amount: Int128, _ fractions: Int128) -> Double {
                (Double(amount) + Double(fractions) / Sums.progressScale) / Double(max(total, 1))
            }
            details.progress = progress(own + same.done, all.progress - same.progress)
            progressEarlier = progress(earlier, all.progressEarlier - same.progressEarlier)
        }
        return (Int(clamping: earlier), progressEarlier)
    }
}
