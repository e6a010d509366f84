public import IndicatorCore

/// Of which activities a backend says how they ended. Never of cancelled ones: who cancels work knows that it has
/// ended.
public enum WhenDone: String, Sendable, Hashable, CaseIterable {
    /// Of none.
    case never
    /// Of those that failed.
    case failures
    /// Of all.
    case always

    /// Whether a backend says how this activity ended.
    ///
    /// - Parameters:
    ///   - activity: the activity.
    ///   - least: how long it must have lasted.
    public func covers(_ activity: FinishedActivity, after least: Duration) -> Bool {
        // A group speaks for its members.
        guard activity.duration >= least, !activity.isMember else { return false }
        return switch activity.outcome {
        case .cancelled: false
        case .failed: self != .never
        case .succeeded, .unspecified: self == .always
        }
    }
}

/// What a notification says of activities that have ended.
struct OutcomeNotice: Sendable, Hashable {
    /// How many Unicode scalars of a text are shown.
    private static let textLimit = 300

    var title: String
    var body: String
    var isFailure: Bool

    /// - Parameters:
    ///   - finished: the activities; `nil` is returned for none.
    ///   - applicationName: the title where there are several.
    init?(_ finished: [FinishedActivity], applicationName: String) {
        // What failed is what the user has to know.
        guard let chosen = finished.last(where: { $0.outcome.name == "failed" }) ?? finished.last else { return nil }
        func text(_ text: String) -> String { DisplayText.singleLine(text, limit: Self.textLimit) }
        isFailure = chosen.outcome.name == "failed"
        let message = chosen.outcome.message.map { ": \(text($0))" } ?? ""
        body = "\(isFailure ? "Failed" : "Done") after \(Self.time(chosen.duration))\(message)"
        let label = text(chosen.label)
        title = label.isEmpty ? applicationName : label
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

extension BackendSetting {
    /// Which outcomes are shown.
    static func whenDone(default value: WhenDone) -> BackendSetting {
        BackendSetting(
            "whenDone",
            .choice(WhenDone.allCases.map(\.rawValue)),
            default: .string(value.rawValue),
            summary: "of which activities an ordinary notification says how they ended; never of cancelled ones"
        )
    }

    /// How long an activity must have lasted.
    static func after(default value: Duration) -> BackendSetting {
        BackendSetting(
            "after",
            .seconds,
            default: .duration(value),
            summary: "how long an activity must have lasted for that"
        )
    }
}
