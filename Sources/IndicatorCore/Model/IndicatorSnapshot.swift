public import Foundation

/// The whole public state of an indicator at one moment, as a value.
///
/// Two snapshots are equal if a surface shows the same for them. ``IndicatorManager/snapshots`` delivers them to the
/// app; backends receive them in an ``IndicatorUpdate``.
public struct IndicatorSnapshot: Sendable, Equatable {
    /// The minimum interval between snapshots of an indicator that is neither shown nor hidden: 100 ms.
    static var minimumInterval: Duration { .milliseconds(100) }

    /// The state of the indicator.
    public var state: IndicatorState

    /// Whether the indicator is enabled. A disabled one is always ``IndicatorState/inactive``, but still counts.
    public var isEnabled: Bool

    /// How many activities are in progress, with and without a label; a group and its members are one.
    public var activityCount: Int

    /// The activities in progress that have a label, in the order in which they began, the members of a group after it;
    /// at most the first 16.
    public var activities: [ActivityDetails]

    /// Whether a request to cancel would reach the app: it iterates ``IndicatorManager/cancellationRequests``. See
    /// ``IndicatorControl/requestCancellation(_:)``.
    public var isCancellable = false

    /// When the indicator was last shown or hidden, by the wall clock; if it never was, when it was created. This and
    /// all other dates are those of the wall clock as it was set when a snapshot was last published.
    public var since: Date

    /// The same as ``since``, as of `ServiceThread.now`; `nil` in a snapshot that an app has made, or with another
    /// clock.
    package var sinceUptime: Int64?

    /// For how long the indicator has been shown or hidden, in seconds. See ``ActivityDetails/elapsed(at:)``.
    package func elapsed(at now: Date) -> TimeInterval {
        sinceUptime.map { Double(ServiceThread.now - $0) / 1e9 } ?? now.timeIntervalSince(since)
    }

    /// How often the indicator had been shown or hidden: the same in all snapshots of one time, unlike ``since``, which
    /// follows the wall clock. 0 in a snapshot that was not made by an indicator.
    public package(set) var period = 0

    /// When ``label`` last changed, by the wall clock; if its activity has changed it, when that was published.
    public package(set) var labelSince: Date

    /// The start delay of the indicator, for backends that report single activities. Default: 1 s.
    public package(set) var startDelay: Duration = .seconds(1)

    /// What was shown last, while the indicator is visible and nothing is in progress; otherwise empty.
    var lastActivities: [ActivityDetails] = []

    /// Makes a snapshot, by default that of an idle indicator. Without `activities`, one activity with `label` and
    /// `progress` is listed, or none if `label` is `nil`.
    public init(
        state: IndicatorState = .inactive,
        isEnabled: Bool = true,
        activityCount: Int = 0,
        label: String? = nil,
        progress: Double? = nil,
        activities: [ActivityDetails]? = nil,
        since: Date = Date()
    ) {
        self.state = state
        self.isEnabled = isEnabled
        self.activityCount = activityCount
        self.activities =
            activities ?? label.map { [ActivityDetails(label: $0, progress: progress, since: since)] } ?? []
        self.since = since
        labelSince = since
    }

    /// Whether the indicator is shown.
    public var isVisible: Bool { state.isVisible }

    /// The activities to show: ``activities``; while the indicator is visible and nothing is in progress, those that
    /// were shown last, so that a surface shows no empty text in between.
    public var shownActivities: [ActivityDetails] { activities.isEmpty ? lastActivities : activities }

    /// The label of the first activity in progress that has one; `nil` when none has. During the completion delay, when
    /// nothing is in progress, the one that was shown last.
    public var label: String? { shownActivities.first?.label }

    /// How much is done, 0…1, of the activity that ``label`` belongs to; `nil` when that is unknown.
    public var progress: Double? { shownActivities.first?.progress }

    /// What the activity that ``label`` belongs to asks the user for, if it waits for an answer.
    public var attention: String? { shownActivities.first?.attention }

    /// Whether a surface shows the same: times at which nothing visible changed do not count.
    public static func == (left: Self, right: Self) -> Bool {
        (left.state, left.isEnabled, left.activityCount) == (right.state, right.isEnabled, right.activityCount)
            && (left.since, left.isCancellable) == (right.since, right.isCancellable)
            && left.shownActivities == right.shownActivities
    }
}

/// The four states of an indicator.
///
/// Work that lasts takes the indicator through all four: ``inactive``, ``delayingStart``, ``active``,
/// ``delayingCompletion`` and back. The indicator is visible in the last two.
public enum IndicatorState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing is in progress, or the indicator is disabled. Hidden.
    case inactive
    /// Work has begun and the start delay has not elapsed yet. Hidden.
    case delayingStart
    /// Work has been in progress for longer than the start delay. Visible.
    case active
    /// Work has ended and the completion delay has not elapsed yet. Visible.
    case delayingCompletion

    /// Whether the indicator is shown in this state.
    public var isVisible: Bool {
        switch self {
        case .inactive, .delayingStart: false
        case .active, .delayingCompletion: true
        }
    }
}
