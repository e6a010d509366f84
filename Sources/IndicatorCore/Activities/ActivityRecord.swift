public import Foundation

/// What one activity says of itself: its label, progress and so on.
///
/// An activity without any of it has no record. All properties that change are protected by the manager's lock.
@usableFromInline
final class ActivityRecord: @unchecked Sendable {
    // `@unchecked`: `order` and `began` are constants; the rest is read and written with the manager's lock held.

    /// Orders activities by their beginning, or by when they first said something.
    let order: UInt64
    /// When the activity began, on the manager's clock, or when it first said something.
    let began: Duration
    /// What it says.
    var details: ActivityDetails
    /// How it ended, as far as that was said before its end.
    var outcome = ActivityOutcome.unspecified
    /// Whether the activity has ended.
    var hasEnded = false

    init(order: UInt64, began: Duration, details: ActivityDetails) {
        self.order = order
        self.began = began
        self.details = details
    }

    convenience init(_ order: UInt64, _ label: String? = nil, _ progress: Double? = nil, at now: Duration) {
        self.init(
            order: order,
            began: now,
            details: ActivityDetails(label: label, progress: progress, since: .distantPast)
        )
    }
}

/// What an activity says of itself. A value; `nil` means that it does not say it.
public struct ActivityDetails: Sendable, Hashable {
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

    /// Which activity of the indicator this is. 0 if it is none.
    package var number: UInt64 = 0

    private var explicitProgress: Double?

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

    /// Adds to ``completed``, which stays within the range of an `Int`.
    mutating func advance(by amount: Int) {
        let (sum, overflow) = completed.addingReportingOverflow(amount)
        completed = overflow ? (amount < 0 ? .min : .max) : sum
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

    /// The outcome that a thrown error stands for: ``cancelled`` for a `CancellationError`, else ``failed(_:)`` with the
    /// error's description.
    public init(_ error: any Error) {
        self = error is CancellationError ? .cancelled : .failed("\(error)")
    }
}

/// A labelled activity that has ended.
public struct FinishedActivity: Sendable, Hashable {
    /// Its label at the end.
    public var label: String
    /// How it ended.
    public var outcome: ActivityOutcome
    /// How long it lasted.
    public var duration: Duration
    /// When it ended, by the wall clock.
    public var date: Date
    /// Which activity of the indicator this was: ``ActivityDetails/number``.
    package var number: UInt64 = 0

    /// Makes the record of an activity that has ended.
    public init(label: String, outcome: ActivityOutcome, duration: Duration, date: Date = Date()) {
        self.label = label
        self.outcome = outcome
        self.duration = duration
        self.date = date
    }
}
