public import Foundation

/// The whole public state of an indicator at one moment, as a value.
///
/// Backends are given snapshots, and ``IndicatorManager/snapshots`` delivers them to the app.
public struct IndicatorSnapshot: Sendable, Hashable {
    /// The state of the indicator.
    public var state: IndicatorState
    /// Whether the indicator is switched on. A disabled one is always ``IndicatorState/inactive``, and goes on counting.
    public var isEnabled: Bool
    /// How many activities are in progress, those without an identity included.
    public var activityCount: Int
    /// The label of the earliest-started activity that has one; `nil` when none has.
    public var label: String?
    /// The mean progress, 0…1, of the activities that report one; `nil` when none does.
    public var progress: Double?
    /// ``since`` in seconds since the reference date. With it, the compiler's own initialiser is apart from the public one, and makes
    /// the value without copying it.
    var secondsOfSince: TimeInterval

    /// When the indicator was last shown or hidden, by the wall clock; for one that never was, when it was made.
    public var since: Date {
        get { Date(timeIntervalSinceReferenceDate: secondsOfSince) }
        set { secondsOfSince = newValue.timeIntervalSinceReferenceDate }
    }

    /// Whether the indicator is shown.
    public var isVisible: Bool { state.isVisible }
}

extension IndicatorSnapshot {
    /// Makes a snapshot, by default that of an indicator with nothing to do.
    public init(
        state: IndicatorState = .inactive,
        isEnabled: Bool = true,
        activityCount: Int = 0,
        label: String? = nil,
        progress: Double? = nil,
        since: Date = Date()
    ) {
        self.init(
            state: state,
            isEnabled: isEnabled,
            activityCount: activityCount,
            label: label,
            progress: progress,
            secondsOfSince: since.timeIntervalSinceReferenceDate
        )
    }
}
