public import Foundation
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
    private var total: Int?
    private var unit: ActivityUnit
    private var weight: Int?
    private var attention: String?
    private(set) var failsWithMembers = false
    /// ``ActivityDetails/completed``.
    private let steps = Atomic<Int>(0)
    /// The first steps, if they were set instead of added: they may have been done earlier.
    private var doneEarlier = 0
    /// The rate of the steps, once a snapshot has listed it.
    var rate: RateEstimate?
    /// Its state as a group; `nil` until an activity begins in it.
    // Unchecked: the lock excludes other accesses, and the check is measurable.
    @exclusivity(unchecked) var group: ActivityGroup?
    /// Its membership in a group, while it is in progress.
    var membership: ActivityGroup.Membership?
    /// How it ended.
    var outcome = ActivityOutcome.unspecified
    /// When it ended, on the manager's clock.
    var end: Duration?
    /// Whether it was a member of a group when it ended.
    var endedAsMember = false

    /// Makes the record of an activity that begins, or gets its first details.
    init(
        label: String? = nil,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        weight: Int? = nil
    ) {
        self.label = label.flatMap(ActivityDetails.limited)
        self.progress = ActivityDetails.limited(progress)
        self.total = total
        self.unit = unit
        self.weight = weight
    }

    /// The activity begins.
    func begin(order: UInt64, at now: Duration) {
        (self.order, began) = (order, now)
    }

    /// Whether the activity has ended.
    var hasEnded: Bool { end != nil }

    /// The group that it is a member of, while it is in progress. If the group has ended, the activity is independent.
    var parent: ActivityRecord? { membership?.group }

    /// In how many groups it is nested.
    var depth: Int { membership?.depth ?? 0 }

    /// The current details, but not when it began.
    var currentDetails: ActivityDetails { details(label: label, attention: attention) }

    @inline(__always)
    private func details(label: String?, attention: String?) -> ActivityDetails {
        var details = ActivityDetails(label: label, progress: progress, total: total, unit: unit, since: .distantPast)
        (details.id, details.attention, details.failsWithMembers) = (order, attention, failsWithMembers)
        details.weight = weight
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
        if new.total != old.total { total = new.total }
        if new.unit != old.unit { unit = new.unit }
        if new.weight != old.weight { weight = new.weight }
        if new.attention != old.attention { attention = new.attention }
        if new.failsWithMembers != old.failsWithMembers { failsWithMembers = new.failsWithMembers }
        let difference = new.completed &- old.completed
        guard difference != 0 else { return }
        steps.wrappingAdd(difference, ordering: .sequentiallyConsistent)
        doneEarlier = old.completed == 0 ? new.completed : min(doneEarlier, new.completed)
    }

    /// Its place in a list: its order, or if it has no label or has ended, that of the first activity with a label
    /// below it.
    var place: UInt64? { label != nil && !hasEnded ? order : group?.listed.first?.order }
    /// The place at which it is in the list of its group, or of the activities without one.
    var listedAt: UInt64?
    /// Whether it is in a list: if it has a label, or a member with one.
    var isListed: Bool { listedAt != nil }

    /// The current details, with what the members of a group add.
    ///
    /// - Parameter isShown: whether the progress of a group must not decrease below this one.
    /// - Returns: the details, and how much was done earlier.
    func summary(isShown: Bool) -> (details: ActivityDetails, doneEarlier: Int) {
        var details = currentDetails
        let earlier = group?.summarize(&details, doneEarlier: doneEarlier, isShown: isShown)
        return (details, earlier ?? doneEarlier)
    }

    /// What it contributes to its group now.
    var currentShare: ActivityGroup.Share {
        // Without texts: copies are measurable.
        var details = details(label: nil, attention: nil)
        let earlier = group?.summarize(&details, doneEarlier: doneEarlier, isShown: false)
        if let progress, let total, details.completed <= 0 {
            // The app sets the progress instead of the steps.
            details.completed = Int(clamping: Int128(Double(max(total, 0)) * progress))
        }
        return ActivityGroup.Share(details, doneEarlier: earlier ?? doneEarlier)
    }

    /// Whether steps were added since ``updateShare()``.
    var hasAdvanced: Bool { membership.map { steps.load(ordering: .relaxed) != $0.sharedSteps } ?? false }

    /// Updates what it contributes to its group, what that contributes to its own, and so on.
    func updateShare() {
        var record = self
        while let parent = record.updateShareInGroup() { record = parent }
    }

    /// Updates what it contributes to its group. Returns the group if that has changed.
    func updateShareInGroup() -> ActivityRecord? {
        guard let membership, !membership.group.hasEnded else { return nil }
        membership.sharedSteps = steps.load(ordering: .relaxed)
        let new = currentShare
        if new == membership.share { return nil }
        membership.group.group?.replace(membership.share, with: new)
        membership.share = new
        return membership.group
    }

    /// Whether the details stay the same until the next update.
    var isConstant: Bool {
        group == nil && total == nil && progress == nil && steps.load(ordering: .relaxed) == 0
    }
}

/// The rate of an activity: a mean of its last seconds, in which the latest have the most weight.
///
/// It is updated when a snapshot is published, so that advancing reads no clock. Measuring begins at the first change:
/// what was done by then may have been reached earlier, as in a resumed download, or after a wait for the first byte.
/// Between two changes the rate is constant, because slow steps are not a standstill. It is undefined in the first
/// second of measuring, and when nothing has changed for 5 seconds and for four times the longest of the last intervals
/// between changes; measuring begins anew at the change after that. A decrease of up to a tenth, as of a progress that
/// is itself an estimate, is not a change until the amount is reached again.
struct RateEstimate: Sendable {
    /// After this time, in seconds, a measurement has a third of the weight of the latest one.
    private static var memory: Double { 8 }
    /// The share of the longest interval that remains at the next change: after 13 of them, a quarter.
    private static var remainder: Double { 0.9 }

    private var done = 0.0
    /// When that was measured; at first, when the activity began.
    private var time: Duration
    /// When measuring began.
    private var start: Duration
    private var weighted = 0.0
    private var weight = 0.0
    /// The longest of the last intervals, in seconds; one further back counts for less.
    private var longest = 0.0
    /// When a standstill begins, unless something changes; `nil` before the first change.
    private var standstill: Duration?

    /// Makes the estimate of an activity that begins.
    init(at now: Duration) {
        time = now
        start = now
    }

    /// When the rate becomes undefined, unless something changes.
    var end: Duration? { weight > 0 ? standstill : nil }

    /// Takes a measurement. A much smaller amount than before begins a new estimate.
    mutating func measure(_ done: Double, at now: Duration) {
        let seconds = (now - time) / .seconds(1)
        guard done > self.done || done < min(self.done * 0.9, self.done), seconds > 0 else { return }
        if let standstill, now < standstill, done > self.done {
            let share = 1 - exp(-seconds / Self.memory)
            weighted += share * ((done - self.done) / seconds - weighted)
            weight += share * (1 - weight)
        } else {
            (start, weighted, weight) = (now, 0, 0)
        }
        (self.done, time) = (done, now)
        longest = max(seconds, longest * Self.remainder)
        standstill = now + .seconds(max(5, longest * 4))
    }

    /// The amount done per second; `nil` while undefined.
    func perSecond(at now: Duration) -> Double? {
        guard let end, now < end, time - start >= .seconds(1) else { return nil }
        return weighted / weight
    }
}

/// The details of an activity. A property that is `nil` is unknown or not set.
public struct ActivityDetails: Sendable, Hashable, Identifiable {
    /// Identifies the activity in the snapshots of its indicator.
    public package(set) var id: UInt64 = 0

    /// In how many groups it is nested; its group precedes it in ``IndicatorSnapshot/activities``.
    public package(set) var depth = 0

    /// The recent rate in ``unit``s per second; `nil` while unknown. It is measured when a snapshot is published, so
    /// only while a backend or a subscriber observes the indicator.
    public package(set) var rate: Double?

    /// The estimated time left; `nil` while unknown. Computed from the rate of what is done.
    public package(set) var remaining: Duration?

    /// Whether a group fails because one of its members did. Default `false`.
    public var failsWithMembers = false

    /// A short text of what is in progress. An empty one counts as none, and one of more than 4096 bytes is cut after a
    /// character. Backends report the end of an activity only if it has a label then.
    public var label: String? {
        didSet { label = label.flatMap(Self.limited) }
    }

    /// How much of ``total`` is done. Default 0. `completed += 1` reads and then writes, so increments from several
    /// threads can be lost; call ``Activity/advance(by:)`` there.
    public var completed: Int = 0

    /// The total amount of work, in ``unit``s; `nil`, the default, if unknown.
    public var total: Int?

    /// What ``completed`` and ``total`` count. Default ``ActivityUnit/count``.
    public var unit: ActivityUnit = .count

    /// How many of its group's ``unit``s the activity is, if its own amounts are not added to those of the group.
    /// Without effect if it is not a member of a group.
    ///
    /// Default `nil`: an activity in the unit of its group, if that has a name, adds ``completed`` and ``total``; in
    /// another unit, it is one, or none in a group of bytes.
    public var weight: Int?

    /// What the activity asks the user for while it waits for an answer, such as "Passphrase?". Limited like ``label``.
    public var attention: String? {
        didSet { attention = attention.flatMap(Self.limited) }
    }

    /// When the activity began, by the wall clock. For one that began without details, when the first one was set.
    public package(set) var since: Date

    /// The value of ``progress``, if it was set.
    private(set) var explicitProgress: Double?

    /// How much is done, 0…1: the value that was set, else ``completed`` of ``total``; `nil` if neither is known.
    ///
    /// Values are limited to 0…1; NaN counts as `nil`.
    public var progress: Double? {
        get {
            if let explicitProgress { return explicitProgress }
            guard let total, total > 0 else { return nil }
            return min(max(Double(completed) / Double(total), 0), 1)
        }
        set { explicitProgress = Self.limited(newValue) }
    }

    /// Makes the details of an activity.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    ///   - total: how much there is to do, in `unit`s.
    ///   - unit: what `total` counts.
    ///   - since: when it began. Default: now.
    public init(
        label: String? = nil,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        since: Date = Date()
    ) {
        self.label = label.flatMap(Self.limited)
        self.total = total
        self.unit = unit
        self.since = since
        explicitProgress = Self.limited(progress)
    }

    fileprivate static func limited(_ progress: Double?) -> Double? {
        progress.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
    }

    /// The first 4096 bytes of a text, without a cut character at the end; `nil` if it is empty.
    @inline(__always)
    static func limited(_ text: String) -> String? {
        let count = text.utf8.count
        return count == 0 ? nil : count <= 4096 ? text : cut(text)
    }

    private static func cut(_ text: String) -> String {
        var end = text.utf8.index(text.startIndex, offsetBy: 4096)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        // Copied: in a substring, the end of the last character would be searched for in the whole text.
        let part = String(text[..<end])
        let characters = part.dropLast()
        return characters.isEmpty ? part : String(characters)
    }

    /// Computes ``rate`` and ``remaining`` from what is done.
    ///
    /// - Parameter doneEarlier: what members of a group have done earlier, at any time.
    mutating func estimate(_ estimate: inout RateEstimate, doneEarlier: Int = 0, isMeasured: Bool, at now: Duration) {
        // An explicit progress is itself measured.
        let (done, total) = explicitProgress.map { ($0, 1) } ?? (Double(completed), self.total.map(Double.init))
        if isMeasured { estimate.measure(explicitProgress ?? Double(completed - doneEarlier), at: now) }
        guard let perSecond = estimate.perSecond(at: now), perSecond > 0 else { return }
        if explicitProgress == nil { rate = perSecond }
        if let total, total > 0 {
            let seconds = max(total - done, 0) / perSecond
            // An estimate of more than 100 days is meaningless.
            if seconds < 8_640_000 { remaining = .seconds(seconds) }
        }
    }
}

/// The unit of an activity's steps.
public struct ActivityUnit: Sendable, Hashable {
    /// The name in the plural, as in "12 of 40 files". Empty for ``count``.
    public var name: String

    /// Makes a custom unit.
    ///
    /// - Parameter name: its name in the plural.
    public init(_ name: String) {
        self.name = name
    }

    /// Unnamed items: "12 of 40".
    public static var count: Self { Self("") }
    /// Bytes: "12.3 of 40.0 MB".
    public static var bytes: Self { Self("bytes") }
}

/// How an activity ended.
public enum ActivityOutcome: Sendable, Hashable {
    /// No outcome was given.
    case unspecified
    /// The work was completed.
    case succeeded
    /// The work failed, for the reason in the text.
    case failed(String)
    /// It was cancelled.
    case cancelled

    /// The outcome of a thrown error: ``cancelled`` for a `CancellationError`, else ``failed(_:)`` with the error's
    /// description.
    ///
    /// A cancelled request of NetworkKit throws a `CancellationError`. One of `URLSession` throws `URLError.cancelled`,
    /// which counts as failed; throw a `CancellationError` instead, or call `end(.cancelled)`.
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
    public package(set) var id: UInt64
    /// Whether it was a member of a group that was still in progress.
    public package(set) var isMember: Bool

    /// Makes the record of an activity that has ended.
    public init(label: String, outcome: ActivityOutcome, duration: Duration, date: Date = Date()) {
        self.init(label: label, outcome: outcome, duration: duration, date: date, id: 0, isMember: false)
    }

    @inline(__always)
    init(label: String, outcome: ActivityOutcome, duration: Duration, date: Date, id: UInt64, isMember: Bool) {
        self.label = label
        self.outcome = outcome
        self.duration = duration
        self.date = date
        self.id = id
        self.isMember = isMember
    }
}

/// The identity of an activity: any hashable value, or an object. Texts and numbers, the most common ones, need no box.
@usableFromInline
package enum ActivityKey: Sendable {
    /// A value of the caller's own type, whose `==`, `hash(into:)` and `deinit` are the caller's code.
    @usableFromInline
    package struct Value: Hashable, @unchecked Sendable {
        // `@unchecked`: the value is `Sendable`, or comes from a notification, and is only read.

        fileprivate let base: AnyHashable
    }

    case text(String)
    case number(Int)
    indirect case value(Value)
    case object(ActivityObject)

    /// Makes a key of a value, which is `Sendable`, or comes from a notification and is not changed by its poster.
    @inlinable
    init<Base: Hashable>(_ value: Base) {
        // Not `as?` for the two common types: it performs a search in generic code.
        if Base.self == Int.self {
            self = .number(withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: Int.self) })
        } else if Base.self == String.self {
            self = .text(withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: String.self) })
        } else {
            self.init(other: value)
        }
    }

    @usableFromInline
    init(other value: some Hashable) {
        if let text = value as? String {
            self = .text(text)
        } else if let integer = value as? any BinaryInteger, let number = Int(exactly: integer) {
            // As in an `AnyHashable`, equal numbers of different types are equal.
            self = .number(number)
        } else {
            self = .value(Value(base: AnyHashable(value)))
        }
    }
}
