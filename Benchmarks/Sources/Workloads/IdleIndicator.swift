import IndicatorCore

/// An indicator with nothing to do but what is measured.
public final class IdleIndicator: Sendable {
    private let manager: IndicatorManager

    /// Makes one, in a state that work leaves it in.
    public init(_ situation: Situation, audience: Audience = .always) {
        manager = .measured(situation, audience: audience)
        beginAndEnd(1)
    }

    /// Begins and ends an activity, so many times.
    public func beginAndEnd(_ times: Int) {
        for _ in 0..<times {
            let activity = manager.begin()
            activity.end()
        }
    }
}
