/// Which snapshots a backend receives, and how.
public struct BackendDelivery: Sendable, Hashable {
    /// How to handle snapshots that arrive faster than the backend processes them.
    public enum Mode: Sendable, Hashable {
        /// A newer snapshot replaces one that was not delivered yet, so a slow surface delays nothing else and always
        /// ends with the current state.
        case latestWins

        /// Every showing and hiding is delivered, in order, through a queue of at most `capacity` snapshots. When the
        /// queue is full, the oldest one is dropped and counted in ``BackendStatus/updatesDropped``. Other changes are
        /// coalesced.
        case everyTransition(capacity: Int)
    }

    /// How to handle snapshots that arrive faster than the backend processes them.
    public var mode: Mode

    /// Whether changes while the indicator is hidden (count, label, ``IndicatorState/delayingStart``) are delivered
    /// too. Default `false`: a hidden indicator then costs the backend nothing.
    public var includesHidden: Bool

    /// While visible, the latest snapshot is delivered again at this interval, for backends that animate. Default
    /// `nil`: it is delivered only when something changed. Less than 10 ms counts as 10 ms.
    public var animationInterval: Duration?

    /// How long a call to the backend may take before the backend counts as stalled. Default 5 seconds.
    public var updateTimeLimit: Duration

    /// Makes a delivery policy.
    public init(
        mode: Mode = .latestWins,
        includesHidden: Bool = false,
        animationInterval: Duration? = nil,
        updateTimeLimit: Duration = .seconds(5)
    ) {
        self.mode = mode
        self.includesHidden = includesHidden
        self.animationInterval = animationInterval
        self.updateTimeLimit = updateTimeLimit
    }

    /// The latest snapshot, while visible: suits most surfaces.
    public static var latestWins: Self { Self() }

    /// Every showing and hiding, in order, through a queue of 1024: for a record of events.
    public static var everyTransition: Self { Self(mode: .everyTransition(capacity: 1024)) }
}
