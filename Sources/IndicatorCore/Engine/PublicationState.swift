import Foundation

/// What an indicator has published: who observes it, when the next publication may follow, and what the snapshots keep
/// from earlier ones.
struct PublicationState: Sendable {
    /// Which receivers observe changes that do not affect the visibility.
    enum Audience: Sendable, Comparable {
        case nobody
        /// Receivers that show the indicator while it is visible.
        case whileVisible
        /// At least one receiver that observes the count and the label while the indicator is hidden, too.
        case always
    }

    var audience = Audience.nobody
    /// When postponed changes are published.
    private(set) var due: Duration?
    private var last: Duration?
    /// When the indicator was last shown or hidden, and how often it was.
    private(set) var since: Date
    private var sinceUptime: Int64?
    private var period = 0
    /// The label that was last published, and when it last changed.
    private var label: String?
    private var labelSince: Date
    /// The activities that were published last while work was in progress and the indicator was visible.
    private var shownActivities: [ActivityDetails] = []

    init(since: Date, uptime: Int64?) {
        self.since = since
        sinceUptime = uptime
        labelSince = since
    }

    /// Whether a receiver observes changes that do not affect the visibility.
    func isObserved(isVisible: Bool) -> Bool { audience == .always || audience == .whileVisible && isVisible }

    /// The indicator is shown or hidden.
    mutating func beginPeriod(_ date: Date, uptime: Int64?) {
        (since, sinceUptime) = (date, uptime)
        period += 1
    }

    /// The wall clock was set.
    mutating func shift(by seconds: TimeInterval) {
        if seconds != 0 { (since, labelSince) = (since + seconds, labelSince + seconds) }
    }

    /// Adds to a snapshot what does not follow from the current state.
    @inline(__always)
    func complete(_ snapshot: inout IndicatorSnapshot) {
        (snapshot.period, snapshot.labelSince, snapshot.sinceUptime) = (period, labelSince, sinceUptime)
        if snapshot.activityCount == 0, snapshot.isVisible { snapshot.lastActivities = shownActivities }
    }

    /// Postpones a publication. Returns `false` if it is due now.
    mutating func postpone(at now: Duration) -> Bool {
        guard let last, now < last + IndicatorSnapshot.minimumInterval else { return false }
        due = last + IndicatorSnapshot.minimumInterval
        return true
    }

    /// Takes what later snapshots need of one that is published.
    ///
    /// - Parameters:
    ///   - lastEnd: when the last activity ended that is published with it.
    ///   - date: converts a time to the wall clock.
    mutating func publish(
        _ snapshot: inout IndicatorSnapshot,
        lastEnd: Date?,
        at now: Duration,
        _ date: (Duration) -> Date
    ) {
        let previous = last
        (last, due) = (now, nil)
        if snapshot.activityCount > 0 || !snapshot.isVisible { shownActivities = snapshot.activities }
        guard snapshot.label != label else { return }
        label = snapshot.label
        let beginning = snapshot.activities.first?.since ?? .distantPast
        let isNew = previous.map { beginning > date($0) } ?? true
        labelSince = lastEnd ?? (isNew ? beginning : date(now))
        snapshot.labelSince = labelSince
    }
}

/// A receiver of updates: a backend's runner, or a subscription.
protocol UpdateReceiver: AnyObject, Sendable {
    /// Which changes it observes.
    var audience: PublicationState.Audience { get }

    /// Adds an update to the inbox. Called under the engine's lock, so it takes only its own; ``startDelivery()``
    /// follows.
    func post(_ update: IndicatorUpdate)

    /// No more updates follow. Called as ``post(_:)``.
    func finish(timeLimit: Duration)

    /// Begins what has become necessary. Called without a lock, on any thread, in any order.
    func startDelivery()

    /// Returns when nothing is delivered any more, after ``finish(timeLimit:)``.
    func waitUntilFinished() async
}

/// A resource with the lifetime of a manager, such as the watcher of its config file.
package protocol ManagerResource: AnyObject, Sendable {
    /// The manager is being shut down, or it and its activities were released: release everything. A shutdown waits for
    /// this in bounded time.
    /// Called on a thread for foreign code.
    func managerHasEnded() async
}
