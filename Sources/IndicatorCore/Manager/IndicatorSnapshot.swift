public import Foundation

/// The whole public state of an indicator at one moment, as a value.
///
/// Backends receive snapshots, and ``IndicatorManager/snapshots`` delivers them to the app.
public struct IndicatorSnapshot: Sendable, Hashable {
    /// The state of the indicator.
    public var state: IndicatorState

    /// Whether the indicator is enabled. A disabled one is always ``IndicatorState/inactive``, and goes on counting.
    public var isEnabled: Bool

    /// How many activities are in progress, with and without a label.
    public var activityCount: Int

    /// The activities in progress that have a label, in the order of their beginning; at most 16.
    public var activities: [ActivityDetails]

    /// When the indicator was last shown or hidden, by the wall clock; for one that never was, when it was made.
    public var since: Date

    /// When ``label`` last changed, by the wall clock; if its activity has changed it, when that was published.
    package var labelSince: Date

    /// What has ended; behind ``finished`` and ``omittedFinishedCount``.
    var finishedActivities = FinishedActivities()

    /// Makes a snapshot, by default that of an indicator with nothing to do. Without `activities`, one activity with
    /// `label` and `progress` is listed, or none if `label` is `nil`.
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

    /// The label of the first activity in progress that has one; `nil` when none has.
    public var label: String? { activities.first?.label }

    /// How much is done, 0…1, of the activity that ``label`` belongs to; `nil` when that is unknown.
    public var progress: Double? { activities.first?.progress }

    /// What the user is asked for by the activity that ``label`` belongs to, if it waits for them.
    public var attention: String? { activities.first?.attention }

    /// The labelled activities that have ended since the snapshot that the same receiver got before: the last 64.
    ///
    /// Each receiver gets each activity once, also if it skips snapshots. The snapshot that an app reads
    /// (``IndicatorManager/snapshot``) and the first one of a receiver have none.
    public var finished: [FinishedActivity] { finishedActivities.latest }

    /// How many more have ended than ``finished`` lists.
    public var omittedFinishedCount: Int { finishedActivities.omittedCount }

    /// Puts what ended before in front: what a snapshot had that was skipped.
    mutating func takeOver(_ skipped: FinishedActivities) {
        guard !skipped.isEmpty else { return }
        var all = skipped
        all.append(finishedActivities)
        finishedActivities = all
    }

    /// Puts what ended before in front: what a snapshot had that the receiver has not read.
    package mutating func takeOverFinished(of skipped: IndicatorSnapshot) { takeOver(skipped.finishedActivities) }

    /// The same without what has ended.
    package var withoutFinished: Self {
        var copy = self
        copy.finishedActivities = FinishedActivities()
        return copy
    }
}

/// The four states of an indicator.
///
/// Work that lasts takes the indicator through all four: ``inactive``, ``delayingStart``, ``active``,
/// ``delayingCompletion`` and back. The indicator is visible in the last two.
public enum IndicatorState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing is in progress, or the indicator is disabled. Hidden.
    case inactive
    /// Work has begun and the start delay has not run out yet. Hidden.
    case delayingStart
    /// Work has been in progress for longer than the start delay. Visible.
    case active
    /// Work has ended and the completion delay has not run out yet. Visible.
    case delayingCompletion

    /// Whether the indicator is shown in this state.
    public var isVisible: Bool {
        switch self {
        case .inactive, .delayingStart: false
        case .active, .delayingCompletion: true
        }
    }
}
