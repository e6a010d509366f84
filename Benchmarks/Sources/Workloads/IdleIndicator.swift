import IndicatorCore

/// An indicator without other activities.
public final class IdleIndicator: Sendable {
    private let manager: IndicatorManager

    /// Creates an idle indicator, in the state after an activity has ended.
    public init(_ situation: Situation, audience: Audience = .always) {
        manager = .measured(situation, audience: audience)
        beginAndEnd(1)
    }

    /// Begins and ends an activity repeatedly.
    public func beginAndEnd(_ times: Int) {
        for _ in 0..<times {
            let activity = manager.begin()
            activity.end()
        }
    }
}
