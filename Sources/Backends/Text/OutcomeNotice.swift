package import IndicatorCore

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
    package func covers(_ activity: FinishedActivity, after least: Duration) -> Bool {
        // A group is reported instead of its members.
        guard activity.duration >= least, !activity.isMember else { return false }
        return switch activity.outcome {
        case .cancelled: false
        case .failed: self != .never
        case .succeeded, .unspecified: self == .always
        }
    }
}

/// The text of a notification about finished activities.
package struct OutcomeNotice: Sendable, Hashable {
    package var title: String
    package var body: String
    /// The activity that the text is about.
    package var activity: FinishedActivity
    package var isFailure: Bool { activity.outcome.isFailure }

    /// - Parameters:
    ///   - finished: the activities; returns `nil` if there are none.
    ///   - applicationName: the title if the activity has no label.
    package init?(_ finished: [FinishedActivity], applicationName: String) {
        // Failures have precedence.
        guard let chosen = finished.last(where: \.outcome.isFailure) ?? finished.last else { return nil }
        activity = chosen
        let message = chosen.outcome.message.map { ": \($0)" } ?? ""
        let word =
            switch chosen.outcome {
            case .failed: "Failed"
            case .succeeded: "Done"
            case .cancelled: "Cancelled"
            case .unspecified: "Ended"
            }
        body = word + (chosen.duration < .seconds(1) ? "" : " after \(Self.time(chosen.duration))") + message
        title = chosen.label.isEmpty ? applicationName : chosen.label
        if finished.count > 1 { body += "; \(finished.count - 1) more \(finished.count == 2 ? "has" : "have") ended" }
    }

    /// `12 s`, `3 min 5 s` or `2 h 10 min`.
    private static func time(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds / 60 % 60) min"
    }
}

extension ActivityOutcome {
    /// The name in logs and on buses.
    package var name: String {
        switch self {
        case .unspecified: "unspecified"
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    /// Whether the activity has failed.
    package var isFailure: Bool {
        if case .failed = self { true } else { false }
    }

    /// The message of a failure, if there is one.
    package var message: String? {
        if case .failed(let message) = self, !message.isEmpty { message } else { nil }
    }
}
