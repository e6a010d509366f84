import IndicatorCore

/// The state of the indicator before and after each activity.
public enum Situation: String, CaseIterable, Sendable {
    /// The start delay is running, for hours.
    case delayingStart = "not shown yet"
    /// The indicator is shown, also for hours after the work.
    case shown
    /// The indicator is disabled.
    case disabled
    /// The default delays.
    case standard = "standard delays"

    var delays: IndicatorDelays {
        let forHours = Duration.seconds(10 * 3600)
        switch self {
        case .delayingStart: return Self.delays(startDelay: forHours, completionDelay: .zero)
        case .shown: return Self.delays(startDelay: .zero, completionDelay: forHours)
        case .disabled, .standard: return .standard
        }
    }

    private static func delays(startDelay: Duration, completionDelay: Duration) -> IndicatorDelays {
        do throws(InvalidDelayError) {
            return try IndicatorDelays(startDelay: startDelay, completionDelay: completionDelay)
        } catch {
            preconditionFailure("\(error)")
        }
    }
}
