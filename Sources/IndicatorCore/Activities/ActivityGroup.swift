/// The state of an activity as a group: sums, so that nothing depends on the number of its members. Belongs to its
/// record.
final class ActivityGroup {
    /// What a member contributes to its group.
    struct Share: Equatable {
        /// What is done, and how much of it was done earlier, as in a resumed download.
        private(set) var done: Int
        private(set) var doneEarlier: Int
        /// At least what is done; `nil` if unknown.
        private(set) var total: Int?
        let unit: ActivityUnit
        /// How many steps of the group it counts as, if the app has set that.
        let weight: Int?
        private(set) var progress: Double
        private(set) var hasEnded = false

        /// What a member in progress contributes.
        init(_ details: ActivityDetails, doneEarlier: Int) {
            progress = details.progress ?? 0
            done = max(details.completed, 0)
            total = details.total.map { [done] in max($0, done) }
            self.doneEarlier = min(max(doneEarlier, 0), done)
            (unit, weight) = (details.unit, details.weight.map { max($0, 0) })
        }

        /// What a member contributes after its end: its total, which is done, unless it has failed or was cancelled;
        /// otherwise what it has done.
        mutating func end(_ outcome: ActivityOutcome) {
            let known = done > 0 ? done : nil
            switch outcome {
            case .unspecified, .succeeded: total = total ?? known
            case .failed, .cancelled: total = known
            }
            // It was reported in one step, but not done earlier.
            if doneEarlier == done { doneEarlier = 0 }
            (done, progress, hasEnded) = (total ?? 0, 1, true)
        }

        /// Whether it has progress, but no total.
        fileprivate var isVague: Bool { total == nil && !hasEnded && (done != 0 || progress > 0) }
    }

    /// The membership of an activity in progress.
    final class Membership {
        let group: ActivityRecord
        /// In how many groups the member is nested.
        let depth: Int
        /// What the member contributes, and for how many steps that was computed.
        var share: Share?
        var sharedSteps = 0
        /// Whether its share is about to be updated.
        var isShareDue = false

        init(in group: ActivityRecord) {
            self.group = group
            depth = group.depth + 1
        }
    }

    /// Sums of shares. Fractions are integers, too: sums of integers are exact, so that what is subtracted again leaves
    /// nothing.
    private struct Sums {
        static var progressScale: Double { 0x1p60 }
        static var partScale: Double { 0x1p20 }

        /// How many members there are in all, how many of them have ended, and how many of these have a total.
        var count = 0
        var endedCount = 0
        var endedKnownCount = 0
        /// How many have a total, and how many have progress, but none.
        var knownCount = 0
        var vagueCount = 0
        var done: Int128 = 0
        var doneEarlier: Int128 = 0
        /// The totals; what is done where it is unknown.
        var total: Int128 = 0
        /// The totals, each multiplied by its progress, in parts of `partScale`.
        var part: Int128 = 0
        /// The progress of each, in parts of `progressScale`.
        var progress: Int128 = 0

        /// How many are in progress without a total.
        var unknownCount: Int { (count - endedCount) - (knownCount - endedKnownCount) }

        init() {}

        init(_ share: Share) {
            count = 1
            knownCount = share.total == nil ? 0 : 1
            if share.hasEnded { (endedCount, endedKnownCount) = (1, knownCount) }
            vagueCount = share.isVague ? 1 : 0
            (done, doneEarlier) = (Int128(share.done), Int128(share.doneEarlier))
            total = Int128(share.total ?? share.done)
            part = Int128((Double(share.total ?? 0) * share.progress * Self.partScale).rounded())
            progress = Int128((share.progress * Self.progressScale).rounded())
        }

        static func += (sums: inout Self, other: Self) { sums.add(other, +, +) }

        static func -= (sums: inout Self, other: Self) { sums.add(other, -, -) }

        @inline(__always)
        private mutating func add(_ other: Self, _ add: (Int, Int) -> Int, _ addLong: (Int128, Int128) -> Int128) {
            count = add(count, other.count)
            endedCount = add(endedCount, other.endedCount)
            endedKnownCount = add(endedKnownCount, other.endedKnownCount)
            knownCount = add(knownCount, other.knownCount)
            vagueCount = add(vagueCount, other.vagueCount)
            done = addLong(done, other.done)
            doneEarlier = addLong(doneEarlier, other.doneEarlier)
            total = addLong(total, other.total)
            part = addLong(part, other.part)
            progress = addLong(progress, other.progress)
        }
    }

    /// The members in progress that a snapshot shows.
    var listed = OrderedList<ActivityRecord>()
    /// How many members are in progress.
    var memberCount = 0
    /// How many members have ended, and how many failed.
    private var finishedCount = 0
    private var failedCount = 0
    /// The message of the first that failed.
    private var firstFailure: String?
    /// The shares of the members without a weight: of all, and by their unit.
    private var all = Sums()
    private var units: [ActivityUnit: Sums] = [:]
    /// How many units have a member with a total.
    private var knownUnitCount = 0
    /// The sums of the weights, of the steps of them that are done, and of the exact parts that are done.
    private var weights: (total: Int128, done: Int128, part: Int128) = (0, 0, 0)
    /// The minimum of the progress while the total does not grow.
    private var reached = (progress: 0.0, count: 0, total: 0.0)

    /// Replaces the share of a member.
    func replace(_ old: Share?, with new: Share) {
        var change = Sums(new)
        if let old, old.weight == nil, new.weight == nil, old.unit == new.unit {
            change -= Sums(old)
            return add(change, in: new.unit)
        }
        if let weight = new.weight { add(weight, new.progress, 1) } else { add(change, in: new.unit) }
        guard let old else { return }
        if let weight = old.weight { return add(weight, old.progress, -1) }
        change = Sums()
        change -= Sums(old)
        add(change, in: old.unit)
    }

    private func add(_ change: Sums, in unit: ActivityUnit) {
        all += change
        func add(to sums: inout Sums) -> (known: Int, count: Int) {
            let wasKnown = sums.knownCount > 0
            sums += change
            return ((sums.knownCount > 0 ? 1 : 0) - (wasKnown ? 1 : 0), sums.count)
        }
        let (known, count) = add(to: &units[unit, default: Sums()])
        knownUnitCount += known
        if count == 0 { units[unit] = nil }
    }

    private func add(_ weight: Int, _ progress: Double, _ sign: Int128) {
        let part = Double(weight) * progress
        weights.total += sign * Int128(weight)
        weights.done += sign * Int128(part)
        weights.part += sign * Int128((part * Sums.partScale).rounded())
    }

    /// A member has ended.
    ///
    /// - Parameters:
    ///   - old: what it contributed to the sums.
    ///   - share: what it contributed last.
    func finish(_ member: ActivityRecord, _ old: Share?, _ share: Share) {
        var share = share
        share.end(member.outcome)
        replace(old, with: share)
        memberCount -= 1
        finishedCount += 1
        guard case .failed(let message) = member.outcome else { return }
        failedCount += 1
        if failedCount == 1 { firstFailure = "\(member.label.map { "\($0): " } ?? "")\(message)" }
    }

    /// The outcome of the group.
    func outcome(_ outcome: ActivityOutcome, failsWithMembers: Bool) -> ActivityOutcome {
        guard failsWithMembers, failedCount > 0, outcome == .succeeded || outcome == .unspecified else {
            return outcome
        }
        return .failed("\(failedCount) of \(finishedCount + memberCount) failed: \(firstFailure ?? "")")
    }

    /// Adds the members to the group's own ``ActivityDetails/completed`` and ``ActivityDetails/total``, and sets the
    /// progress if it does not follow from the two.
    ///
    /// A member in the group's unit, if that has a name, adds what is done and its total. Any other member is a number
    /// of steps: its weight, by default 1, in a group of bytes 0. Those of a weight are done by its progress, and all
    /// when it has ended. The total is at least the sum. It is unknown if that of a member is, unless the group has one
    /// itself.
    ///
    /// - Parameters:
    ///   - doneEarlier: how much of the group's own amount was done earlier.
    ///   - isShown: whether the progress must not decrease below this one.
    /// - Returns: how much was done earlier.
    func summarize(_ details: inout ActivityDetails, doneEarlier: Int, isShown: Bool) -> Int {
        let unit = details.unit
        let same = (unit == .count ? nil : units[unit]) ?? Sums()
        let (others, ended) = unit == .bytes ? (0, 0) : (all.count - same.count, all.endedCount - same.endedCount)
        // Steps and totals may be any numbers.
        let own = max(Int128(details.completed), 0)
        let members = same.total + weights.total + Int128(others)
        details.completed = Int(clamping: own + same.done + weights.done + Int128(ended))
        if details.total != nil || same.unknownCount == 0 && members > 0 {
            details.total = Int(clamping: max(Int128(details.total ?? 0), own + members))
        }
        if details.explicitProgress == nil, unit != .bytes, others > 0 || weights.total > 0, let count = details.total {
            let exact = Double(own + same.done) + Double(weights.part) / Sums.partScale
            let fractions = Double(all.progress - same.progress) / Sums.progressScale
            var (progress, total) = ((exact + fractions) / Double(max(count, 1)), 0.0)
            if same.count == 0, weights.total == 0 {
                (progress, total) = weighted(count: count, done: details.completed) ?? (progress, total)
            }
            let hasGrown = count > reached.count || total > reached.total * 1.000_001 && reached.total > 0
            progress = min(max(progress, hasGrown ? 0 : reached.progress), 1)
            if isShown { reached = (progress, count, total) }
            details.progress = progress
        }
        return Int(clamping: Int128(max(doneEarlier, 0)) + same.doneEarlier)
    }

    /// The progress of members that are one step each, weighted by their totals, and the sum of these; `nil` if one has
    /// progress, but no total, or if the totals are in several units.
    ///
    /// A member that has not begun, or that has neither a total nor any progress, has the average weight.
    ///
    /// - Parameters:
    ///   - count: how many members there are, including those that have not begun and those that are only counted.
    ///   - done: how many of them have ended.
    private func weighted(count: Int, done: Int) -> (progress: Double, total: Double)? {
        guard all.vagueCount == 0, knownUnitCount <= 1, all.total > 0 else { return nil }
        let mean = Double(all.total) / Double(all.knownCount)
        let others = max(done - all.endedKnownCount, 0)
        let total = Double(all.total) + mean * Double(max(count - all.knownCount, others))
        return ((Double(all.part) / Sums.partScale + mean * Double(others)) / total, total)
    }
}
