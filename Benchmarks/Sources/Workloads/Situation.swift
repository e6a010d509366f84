import IndicatorCore

/// The state that work finds the indicator in, and leaves it in.
public enum Situation: String, CaseIterable, Sendable {
    /// Work has begun and has not lasted long enough yet, for hours.
    case delayingStart = "not shown yet"
    /// It is shown, and stays shown for hours after the work.
    case shown
    /// It is switched off.
    case disabled
    /// The delays that apps have.
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
