/// Which outcomes a backend reports. Cancelled activities are never reported: the user who cancels work knows that it
/// has ended.
public enum WhenDone: String, Sendable, Hashable, CaseIterable {
    /// None.
    case never
    /// Failures.
    case failures
    /// All.
    case always

    /// Whether to report the outcome of an activity.
    ///
    /// - Parameters:
    ///   - activity: the activity.
    ///   - least: how long it must have lasted.
    public func covers(_ activity: FinishedActivity, after least: Duration) -> Bool {
        // A group is reported instead of its members.
        guard activity.duration >= least, !activity.isMember else { return false }
        return switch activity.outcome {
        case .cancelled: false
        case .failed: self != .never
        case .succeeded, .unspecified: self == .always
        }
    }
}

/// The text of a notification about finished activities, such as `Failed after 12 s: HTTP 503; 2 more have ended`.
public struct OutcomeNotice: Sendable, Hashable {
    /// The activity that the text is about.
    public private(set) var activity: FinishedActivity
    /// How many others have ended, and whether these are not all.
    private var others: Int
    private var hasOmitted: Bool
    private let applicationName: String

    /// Whether that is a failure.
    public var isFailure: Bool { activity.outcome.isFailure }

    /// Makes the text of some activities.
    ///
    /// - Parameters:
    ///   - finished: the activities; returns `nil` if there are none. Failures have precedence.
    ///   - omitted: how many more have ended, of which is not known whether they are to be reported.
    ///   - applicationName: the title if the activity has no label.
    public init?(_ finished: [FinishedActivity], omitted: Int = 0, applicationName: String) {
        guard let chosen = finished.last(where: \.outcome.isFailure) ?? finished.last else { return nil }
        (activity, others, hasOmitted) = (chosen, finished.count - 1, omitted > 0)
        self.applicationName = applicationName
    }

    /// Adds what has ended later.
    public mutating func add(_ later: Self) {
        if later.isFailure || !isFailure { activity = later.activity }
        others += later.others + 1
        hasOmitted = hasOmitted || later.hasOmitted
    }

    /// The label of the activity; without one, the name of the app.
    public var title: String { activity.label.isEmpty ? applicationName : activity.label }

    /// How it ended, after what time, why, and how many others have ended.
    public var body: String {
        let word =
            switch activity.outcome {
            case .failed: "Failed"
            case .succeeded: "Done"
            case .cancelled: "Cancelled"
            case .unspecified: "Ended"
            }
        let message = activity.outcome.message.map { ": \($0)" } ?? ""
        let more =
            switch (others, hasOmitted) {
            case (0, false): ""
            case (0, true): "; others have ended"
            case (_, true): "; more than \(others) others have ended"
            case (1, false): "; 1 more has ended"
            case (_, false): "; \(others) more have ended"
            }
        let time = activity.duration < .seconds(1) ? "" : " after \(Self.time(activity.duration))"
        return "\(word)\(time)\(message)\(more)"
    }

    /// `12 s`, `3 min 5 s` or `2 h 10 min`.
    private static func time(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds / 60 % 60) min"
    }
}
