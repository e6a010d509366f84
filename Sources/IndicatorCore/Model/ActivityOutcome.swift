public import Foundation

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

    /// The outcome of a thrown error: ``cancelled`` for a `CancellationError` and `URLError.cancelled`, else
    /// ``failed(_:)`` with a text of the error: its `LocalizedError.errorDescription`; that of a Foundation error, with
    /// the name of its file; or its description.
    public init(_ error: any Error) {
        let isCancelled =
            error is CancellationError || (error as? URLError)?.code == .cancelled
            || (error as? CocoaError)?.code == .userCancelled
        self = isCancelled ? .cancelled : .failed(Self.text(of: error))
    }

    /// The name in logs and on buses.
    public var name: String {
        switch self {
        case .unspecified: "unspecified"
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    /// Whether the activity has failed.
    public var isFailure: Bool {
        if case .failed = self { true } else { false }
    }

    /// The message of a failure, if there is one.
    public var message: String? {
        if case .failed(let message) = self, !message.isEmpty { message } else { nil }
    }

    /// The outcome with a message that can be printed as it is.
    var safe: Self {
        if case .failed(let message) = self { .failed(SafeText.singleLine(message)) } else { self }
    }

    private static func text(of error: any Error) -> String {
        if let text = (error as? any LocalizedError)?.errorDescription { return text }
        let description = "\(error)"
        // How Foundation's errors describe themselves, with all that they carry.
        guard description.hasPrefix("Error Domain=") else { return description }
        let error = error as NSError
        let url = error.userInfo[NSURLErrorKey] as? URL
        let file = (error.userInfo[NSFilePathErrorKey] as? String).map { URL(filePath: $0) } ?? url
        let text = error.userInfo[NSLocalizedDescriptionKey] as? String ?? error.localizedFailureReason
        return (file.map { "\($0.lastPathComponent): " } ?? "") + (text ?? error.localizedDescription)
    }
}

/// A labelled activity that has ended. Its texts are made safe like those of ``ActivityDetails``.
public struct FinishedActivity: Sendable, Hashable {
    /// Its label at the end.
    public var label: String
    /// How it ended.
    public var outcome: ActivityOutcome
    /// How long it lasted.
    public var duration: Duration
    /// When it ended, by the wall clock.
    public var date: Date
    /// The ``ActivityDetails/id`` that it had; 0 in one that an app has made.
    public package(set) var id: UInt64 = 0
    /// Whether it was a member of a group that was still in progress.
    public package(set) var isMember = false
    /// What is new in a failure that a member of the group has reported before; `nil` if all is.
    package var messageAfterMembers: String?
    /// How much was done, in ``unit``s; 0 if nothing was counted.
    public var completed = 0
    /// How much of ``completed`` was done earlier, as in a resumed download: the first value that was set. No average
    /// rate includes it.
    public var doneEarlier = 0
    /// What ``completed`` counts.
    public var unit = ActivityUnit.count

    /// Makes the record of an activity that has ended.
    @inline(__always)
    public init(label: String, outcome: ActivityOutcome, duration: Duration, date: Date = Date()) {
        self.label = SafeText.singleLine(label)
        self.outcome = outcome.safe
        self.duration = duration
        self.date = date
    }

    /// The message of a failure for a list, in which those of the members come before it.
    package var listedMessage: String {
        guard case .failed(let message) = outcome else { return "" }
        return messageAfterMembers ?? message
    }
}

/// The labelled activities that have ended, in order: the latest, failures first of all, and how many more there were.
package struct FinishedActivities: Sendable, Hashable {
    /// How many are kept.
    static var capacity: Int { 64 }

    package var latest: [FinishedActivity]
    /// How many more ended before those.
    package private(set) var omittedCount: Int

    package init(latest: [FinishedActivity] = [], omittedCount: Int = 0) {
        self.latest = latest
        self.omittedCount = omittedCount
    }

    package var isEmpty: Bool { latest.isEmpty }

    /// Adds those that ended later, and drops some if there are too many: failures only if nothing else is left.
    package mutating func append(_ later: Self) {
        guard !later.isEmpty else { return }
        latest += later.latest
        var surplus = max(latest.count - Self.capacity, 0)
        omittedCount += later.omittedCount + surplus
        latest.removeAll { activity in
            if surplus == 0 || activity.outcome.isFailure { return false }
            surplus -= 1
            return true
        }
        latest.removeFirst(surplus)
    }

    /// Removes and returns all.
    package mutating func takeAll() -> Self {
        defer { self = Self() }
        return self
    }
}
