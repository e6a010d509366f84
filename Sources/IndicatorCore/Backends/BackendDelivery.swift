/// Which snapshots a backend is given, and how.
public struct BackendDelivery: Sendable, Hashable {
    /// What happens to snapshots that come faster than the backend takes them.
    public enum Mode: Sendable, Hashable {
        /// A mailbox of one: a newer snapshot replaces one that was not delivered yet, so a slow surface costs nobody
        /// anything and always ends at the truth.
        case latestWins

        /// Every time that the indicator is shown or hidden is delivered, in order, through a queue of at most
        /// `capacity` snapshots. When the queue is full the oldest goes, and is counted in
        /// ``BackendStatus/updatesDropped``. Other changes are still coalesced.
        case everyTransition(capacity: Int)
    }

    /// What happens to snapshots that come faster than the backend takes them.
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

    /// The latest snapshot, while visible: what most surfaces want.
    public static var latestWins: Self { Self() }

    /// Every showing and hiding, in order, through a queue of 1024: what a record of events wants.
    public static var everyTransition: Self { Self(mode: .everyTransition(capacity: 1024)) }
}
