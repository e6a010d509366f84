public import Foundation
import Synchronization

/// What one activity says of itself: its label, progress and so on.
///
/// An activity without any of it has no record. All properties that change are protected by the manager's lock, but for
/// the steps.
@usableFromInline
final class ActivityRecord: @unchecked Sendable {
    // `@unchecked`: `order` and `began` are constants, `steps` is atomic; the rest is read and written with the
    // manager's lock held.

    /// Orders activities by their beginning, or by when they first said something.
    let order: UInt64
    /// When the activity began, on the manager's clock, or when it first said something.
    let began: Duration
    /// What it says, but for ``ActivityDetails/completed``, which is in ``steps``.
    var details: ActivityDetails
    private let steps: Atomic<Int>
    /// How fast the steps come.
    var rate: RateEstimate
    /// What it knows as a group; `nil` while nothing has begun in it.
    var group: ActivityGroup?
    /// The group that it is a member of, while both are in progress.
    var parent: ActivityRecord?
    /// How it ended, as far as that was said before its end.
    var outcome = ActivityOutcome.unspecified
    /// Whether the activity has ended.
    var hasEnded = false
    /// Whether it was a member of a group when it ended.
    var endedAsMember = false

    init(order: UInt64, began: Duration, details: consuming ActivityDetails) {
        self.order = order
        self.began = began
        steps = Atomic(details.completed)
        self.details = details
        rate = RateEstimate(done: 0, at: began)
    }

    convenience init(_ order: UInt64, _ label: String? = nil, _ progress: Double? = nil, at now: Duration) {
        self.init(
            order: order,
            began: now,
            details: ActivityDetails(label: label, progress: progress, since: .distantPast)
        )
    }

    /// What it says now.
    var currentDetails: ActivityDetails {
        var details = details
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

    /// Changes what it says. Steps that other threads add meanwhile are kept.
    func update(_ change: (inout ActivityDetails) -> Void, at now: () -> Duration) {
        let before = steps.load(ordering: .relaxed)
        details.completed = before
        change(&details)
        guard details.completed != before else { return }
        steps.wrappingAdd(details.completed &- before, ordering: .sequentiallyConsistent)
        // Work that goes on where it was left says nothing of the speed.
        if before == 0 { rate = RateEstimate(done: Double(details.completed), at: now()) }
    }

    /// Whether a snapshot shows it or its members, if it is no member itself.
    var isListed: Bool { details.label != nil || group != nil }

    /// Whether it says the same until it is updated.
    var isConstant: Bool {
        group == nil && details.total == nil && !details.hasExplicitProgress && steps.load(ordering: .relaxed) == 0
    }
}

/// What an activity knows of those that have begun in it.
struct ActivityGroup: Sendable {
    /// The members in progress.
    var members = OrderedList<ActivityRecord>()
    /// How many members have ended, and how many of them failed.
    var finishedCount = 0
    var failedCount = 0
    /// The message of the first that failed.
    var firstFailure: String?
    /// The sum of the totals of the finished members that had one, how many had, and in which units.
    private var finishedTotal = (count: 0, sum: 0.0)
    private var finishedUnits: Set<ActivityUnit> = []
    /// The least that the progress may be while the total is this one.
    private var reached = (progress: 0.0, count: 0, total: 0.0)

    /// A member has ended. What it had done is its total, unless it said one.
    ///
    /// - Parameter details: what it said last, with its own members counted.
    mutating func finish(_ member: ActivityRecord, _ details: ActivityDetails) {
        members.set(member.order, to: nil)
        finishedCount += 1
        if let total = details.total ?? (details.completed > 0 ? details.completed : nil) {
            finishedTotal = (finishedTotal.count + 1, finishedTotal.sum + Double(max(total, 0)))
            finishedUnits.insert(details.unit)
        }
        guard case .failed(let message) = member.outcome else { return }
        failedCount += 1
        if failedCount == 1 { firstFailure = "\(details.label.map { "\($0): " } ?? "")\(message)" }
    }

    /// How the group ends.
    func outcome(_ outcome: ActivityOutcome, _ details: ActivityDetails) -> ActivityOutcome {
        guard details.failsWithMembers, failedCount > 0, outcome == .succeeded || outcome == .unspecified else {
            return outcome
        }
        let count = finishedCount + members.count
        return .failed("\(failedCount) of \(count) failed: \(firstFailure ?? "")")
    }

    /// Counts the members in ``ActivityDetails/completed``, beside what the group itself has counted there, and in
    /// ``ActivityDetails/total``, which may be more than have begun.
    func count(in details: inout ActivityDetails) {
        // Steps and totals may be any numbers.
        details.completed = Int(clamping: max(Int128(details.completed), 0) + Int128(finishedCount))
        let count = Int(clamping: Int128(details.completed) + Int128(members.count))
        details.total = max(details.total ?? 0, count)
    }

    /// Completes what the group says by what its members say.
    mutating func summarize(_ members: [ActivityDetails], in details: inout ActivityDetails) {
        count(in: &details)
        guard !details.hasExplicitProgress else { return }
        details.progress = progress(of: members, count: details.total ?? 0, finishedCount: details.completed)
    }

    /// The weighted progress of the members, 0…1. It does not go back unless the total grows.
    ///
    /// The weights are the totals. A member that is still to begin, or that has begun and done nothing yet without a
    /// total, weighs as much as the others on average. If one has no total and has done something, or if the totals are
    /// in several units, all weigh the same.
    ///
    /// - Parameters:
    ///   - members: what the members in progress say.
    ///   - count: how many members there are, with those that are still to begin and those that are counted only.
    ///   - finishedCount: how many of them have ended.
    private mutating func progress(of members: [ActivityDetails], count: Int, finishedCount: Int) -> Double {
        var (known, total) = finishedTotal
        var done = total
        var fractions = 0.0
        var isByTotal = finishedUnits.union(members.filter { $0.total != nil }.map(\.unit)).count <= 1
        for member in members {
            let progress = member.progress ?? 0
            fractions += progress
            if let weight = member.total.map({ Double(max($0, 0)) }) {
                (known, total, done) = (known + 1, total + weight, done + weight * progress)
            } else if member.completed != 0 || progress > 0 {
                isByTotal = false
            }
        }
        let result: Double
        if isByTotal, total > 0 {
            let mean = total / Double(known)
            let others = max(finishedCount - finishedTotal.count, 0)
            done += mean * Double(others)
            total += mean * Double(max(count - known, others))
            result = done / total
        } else {
            total = 0
            result = (Double(finishedCount) + fractions) / Double(max(count, 1))
        }
        let hasGrown = count > reached.count || total > reached.total * 1.000_001 && reached.total > 0
        let progress = min(max(result, hasGrown ? 0 : reached.progress), 1)
        reached = (progress, count, total)
        return progress
    }
}

/// How fast an activity gets on: the mean over its last seconds, in which the latest count most.
///
/// It is updated when a snapshot is published, so that nobody who advances reads a clock. Between two changes it stays
/// as it is, since slow steps are no standstill. It is undefined in the first second, and when nothing has changed for
/// 5 seconds and four times as long as between the last two changes.
struct RateEstimate: Sendable {
    /// After this time a measurement counts a third as much as the latest one.
    private static var memory: Double { 8 }

    private var done: Double
    private var time: Duration
    private let start: Duration
    private var weighted = 0.0
    private var weight = 0.0
    /// When it means nothing any more, unless something changes.
    private(set) var end: Duration?

    /// Begins to measure.
    ///
    /// - Parameters:
    ///   - done: what was done before.
    ///   - now: the time.
    init(done: Double, at now: Duration) {
        self.done = done
        time = now
        start = now
    }

    /// Takes a measurement. Something less than before begins a new estimate.
    mutating func measure(_ done: Double, at now: Duration) {
        let interval = now - time
        if done < self.done { self = Self(done: done, at: now) }
        guard done > self.done, interval > .zero else { return }
        let seconds = interval / .seconds(1)
        let share = 1 - exp(-seconds / Self.memory)
        weighted += share * ((done - self.done) / seconds - weighted)
        weight += share * (1 - weight)
        (self.done, time) = (done, now)
        end = now + max(.seconds(5), interval * 4)
    }

    /// What is done in a second; `nil` while that means nothing.
    func perSecond(at now: Duration) -> Double? {
        guard let end, now < end, time - start >= .seconds(1) else { return nil }
        return weighted / weight
    }
}

/// What an activity says of itself. A value; `nil` means that it does not say it.
public struct ActivityDetails: Sendable, Hashable, Identifiable {
    /// What tells the activities of a snapshot apart, and follows one from snapshot to snapshot. Of no use elsewhere.
    public package(set) var id: UInt64 = 0

    /// In how many groups it is; its group comes before it in ``IndicatorSnapshot/activities``.
    public package(set) var depth = 0

    /// How many ``unit``s are done in a second, of late; `nil` while that means nothing. Computed for a snapshot.
    public package(set) var rate: Double?

    /// How long the rest will take at that rate; `nil` while that means nothing. Computed for a snapshot.
    public package(set) var remaining: Duration?

    /// Whether a group fails because one of its members did. Default `false`.
    public var failsWithMembers = false

    /// A short text of what is in progress. An empty one counts as none.
    public var label: String? {
        didSet { if label?.isEmpty == true { label = nil } }
    }

    /// How much of ``total`` is done. Default 0.
    public var completed: Int = 0

    /// How much there is to do, in ``unit``s; `nil`, the default, if that is unknown.
    public var total: Int?

    /// What ``completed`` and ``total`` count. Default ``ActivityUnit/count``.
    public var unit: ActivityUnit = .count

    /// What the user is asked for while the activity waits for them, such as "Passphrase?".
    public var attention: String? {
        didSet { if attention?.isEmpty == true { attention = nil } }
    }

    /// When the activity began, by the wall clock. One that begins without a label or an identity counts from when it
    /// first says something.
    public var since: Date

    private var explicitProgress: Double?

    /// Whether ``progress`` was set.
    var hasExplicitProgress: Bool { explicitProgress != nil }

    /// How much is done, 0…1: what was set, or else ``completed`` of ``total``; `nil` if neither is known.
    ///
    /// Values outside are limited to 0…1; a value that is not a number counts as `nil`.
    public var progress: Double? {
        get {
            if let explicitProgress { return explicitProgress }
            guard let total, total > 0 else { return nil }
            return min(max(Double(completed) / Double(total), 0), 1)
        }
        set {
            explicitProgress = newValue.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
        }
    }

    /// Makes the details of an activity.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    ///   - since: when it began. Default: now.
    public init(label: String? = nil, progress: Double? = nil, since: Date = Date()) {
        self.label = label?.isEmpty == true ? nil : label
        self.since = since
        self.progress = progress
    }

    /// Computes ``rate`` and ``remaining`` from what is done.
    mutating func estimate(_ estimate: inout RateEstimate, isMeasured: Bool, at now: Duration) {
        // A progress that was set, or that of a group, is measured as such.
        let (done, total) = explicitProgress.map { ($0, 1) } ?? (Double(completed), self.total.map(Double.init))
        if isMeasured { estimate.measure(done, at: now) }
        guard let perSecond = estimate.perSecond(at: now), perSecond > 0 else { return }
        if explicitProgress == nil { rate = perSecond }
        if let total {
            let seconds = max(total - done, 0) / perSecond
            // More than 100 days mean nothing.
            if seconds < 8_640_000 { remaining = .seconds(seconds) }
        }
    }
}

/// What the steps of an activity are.
public struct ActivityUnit: Sendable, Hashable {
    /// The name in the plural, as in "12 of 40 files". Empty for ``count``.
    public var name: String

    /// Makes a unit of one's own.
    ///
    /// - Parameter name: its name in the plural.
    public init(_ name: String) {
        self.name = name
    }

    /// Things that have no name: "12 of 40".
    public static var count: Self { Self("") }
    /// Bytes: "12.3 of 40.0 MB".
    public static var bytes: Self { Self("bytes") }
}

/// How an activity ended.
public enum ActivityOutcome: Sendable, Hashable {
    /// Nothing was said about it.
    case unspecified
    /// It did what it was to do.
    case succeeded
    /// It did not, for the reason in the text.
    case failed(String)
    /// It was cancelled.
    case cancelled

    /// The outcome that a thrown error stands for: ``cancelled`` for a `CancellationError`, else ``failed(_:)`` with
    /// the error's description.
    public init(_ error: any Error) {
        self = error is CancellationError ? .cancelled : .failed("\(error)")
    }
}

/// A labelled activity that has ended.
public struct FinishedActivity: Sendable, Hashable, Identifiable {
    /// Its label at the end.
    public var label: String
    /// How it ended.
    public var outcome: ActivityOutcome
    /// How long it lasted.
    public var duration: Duration
    /// When it ended, by the wall clock.
    public var date: Date
    /// The ``ActivityDetails/id`` that it had.
    public package(set) var id: UInt64 = 0
    /// Whether it was a member of a group that was still in progress.
    public package(set) var isMember = false

    /// Makes the record of an activity that has ended.
    public init(label: String, outcome: ActivityOutcome, duration: Duration, date: Date = Date()) {
        self.label = label
        self.outcome = outcome
        self.duration = duration
        self.date = date
    }
}
