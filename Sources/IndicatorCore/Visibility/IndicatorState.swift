/// The four states of an indicator.
///
/// Work that lasts takes the indicator through all four: ``inactive``, ``delayingStart``, ``active``,
/// ``delayingCompletion`` and back. The indicator is shown in the last two.
public enum IndicatorState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing is going on, or the indicator is disabled. Hidden.
    case inactive
    /// Work has begun and the start delay has not run out yet. Hidden.
    case delayingStart
    /// Work has been going on for longer than the start delay. Shown.
    case active
    /// Work has ended and the completion delay has not run out yet. Shown.
    case delayingCompletion

    /// Whether the indicator is shown in this state.
    public var isVisible: Bool {
        switch self {
        case .inactive, .delayingStart: false
        case .active, .delayingCompletion: true
        }
    }
}
