/// The state of an activity as a group: sums, so that nothing depends on the number of its members. Belongs to its
/// record.
final class ActivityGroup {
    /// What a member contributes to the progress of its group.
    struct Share: Equatable {
        var progress: Double
        /// Its total, which is its weight.
        var total: Int?
        var unit: ActivityUnit
        /// Whether it has progress, but no total.
        var isVague: Bool

        init(_ details: ActivityDetails) {
            progress = details.progress ?? 0
            total = details.total.map { max($0, 0) }
            unit = details.unit
            isVague = total == nil && (details.completed != 0 || progress > 0)
        }

        /// Its total and what is done of it, and its progress, in fractions of an integer: sums of integers are exact,
        /// so that what is subtracted again leaves nothing.
        fileprivate var integers: (total: Int128, done: Int128, progress: Int128) {
            let done = Int128((Double(total ?? 0) * progress * ActivityGroup.part).rounded())
            return (Int128(total ?? 0), done, Int128((progress * ActivityGroup.smallPart).rounded()))
        }
    }

    private static var part: Double { 0x1p20 }
    private static var smallPart: Double { 0x1p60 }

    /// The members in progress that a snapshot shows.
    var listed = OrderedList<ActivityRecord>()
    /// How many members are in progress.
    var memberCount = 0
    /// How many members have ended, how many of them had a total, and how many failed.
    private(set) var finishedCount = 0
    private var finishedKnownCount = 0
    private var failedCount = 0
    /// The message of the first that failed.
    private var firstFailure: String?
    /// The sums of the shares of the members in progress, and of those that had a total and have ended.
    private var sums: (total: Int128, done: Int128, progress: Int128) = (0, 0, 0)
    private var knownCount = 0
    private var vagueCount = 0
    /// How many shares with a total have a unit.
    private var units: [ActivityUnit: Int] = [:]
    /// The minimum of the progress while the total does not grow.
    private var reached = (progress: 0.0, count: 0, total: 0.0)

    /// Replaces the share of a member.
    func replace(_ old: Share?, with new: Share?) {
        if let old { add(old, -1) }
        if let new { add(new, 1) }
    }

    private func add(_ share: Share, _ factor: Int) {
        let (total, done, progress) = share.integers
        let sign = Int128(factor)
        sums = (sums.total + sign * total, sums.done + sign * done, sums.progress + sign * progress)
        if share.isVague { vagueCount += factor }
        guard share.total != nil else { return }
        knownCount += factor
        let count = units[share.unit, default: 0] + factor
        units[share.unit] = count == 0 ? nil : count
    }

    /// A member has ended. Without a total, its completed amount is its total.
    ///
    /// - Parameter details: its last details, including its own members.
    func finish(_ member: ActivityRecord, _ details: ActivityDetails) {
        replace(member.share, with: nil)
        memberCount -= 1
        finishedCount += 1
        var share = Share(details)
        (share.progress, share.isVague) = (1, false)
        if details.total == nil, details.completed > 0 { share.total = details.completed }
        if share.total != nil {
            finishedKnownCount += 1
            add(share, 1)
        }
        guard case .failed(let message) = member.outcome else { return }
        failedCount += 1
        if failedCount == 1 { firstFailure = "\(details.label.map { "\($0): " } ?? "")\(message)" }
    }

    /// The outcome of the group.
    func outcome(_ outcome: ActivityOutcome, _ details: ActivityDetails) -> ActivityOutcome {
        guard details.failsWithMembers, failedCount > 0, outcome == .succeeded || outcome == .unspecified else {
            return outcome
        }
        return .failed("\(failedCount) of \(finishedCount + memberCount) failed: \(firstFailure ?? "")")
    }

    /// Adds the ended members to the group's own ``ActivityDetails/completed``, raises ``ActivityDetails/total`` to at
    /// least the number of members, and sets the progress.
    func summarize(_ details: inout ActivityDetails, isShown: Bool) {
        // Steps and totals may be any numbers.
        details.completed = Int(clamping: max(Int128(details.completed), 0) + Int128(finishedCount))
        let count = Int(clamping: Int128(details.completed) + Int128(memberCount))
        let total = max(details.total ?? 0, count)
        details.total = total
        guard details.explicitProgress == nil else { return }
        details.progress = progress(count: total, finishedCount: details.completed, isShown: isShown)
    }

    /// The weighted progress of the members, 0…1. It does not decrease below one that was shown unless the total grows.
    ///
    /// The weights are the totals. A member that has not begun, or that has neither a total nor any progress, has the
    /// average weight. If one has progress but no total, or if the totals are in several units, all weights are equal.
    ///
    /// - Parameters:
    ///   - count: how many members there are, including those that have not begun and those that are only counted.
    ///   - finishedCount: how many of them have ended.
    ///   - isShown: whether it is shown.
    private func progress(count: Int, finishedCount: Int, isShown: Bool) -> Double {
        var total = Double(sums.total)
        let result: Double
        if vagueCount == 0, units.count <= 1, total > 0 {
            let mean = total / Double(knownCount)
            let others = max(finishedCount - finishedKnownCount, 0)
            total += mean * Double(max(count - knownCount, others))
            result = (Double(sums.done) / Self.part + mean * Double(others)) / total
        } else {
            total = 0
            let fractions = Double(sums.progress) / Self.smallPart
            result = (Double(finishedCount - finishedKnownCount) + fractions) / Double(max(count, 1))
        }
        let hasGrown = count > reached.count || total > reached.total * 1.000_001 && reached.total > 0
        let progress = min(max(result, hasGrown ? 0 : reached.progress), 1)
        if isShown { reached = (progress, count, total) }
        return progress
    }
}
