import IndicatorCore
import IndicatorTracking

/// A tracker with many activities in progress, attached to an indicator.
final class BusyTracker: @unchecked Sendable {
    // `@unchecked`: only the measuring thread changes the activities.

    /// Which activity ends after another has begun.
    enum End: String, CaseIterable {
        /// The newest activity: the tracker's status does not change.
        case newest = "the newest ends"
        /// The activity whose value is the status: the status changes to the next one.
        case oldest = "the oldest ends"
    }

    private let manager = IndicatorManager.measured(.shown)
    private let tracker = ActivityTracker<String>()
    private let end: End
    /// The activities in progress, as a ring buffer.
    private var activities: [TrackedActivity<String>]
    private var oldest = 0

    init(count: Int, ending end: End) {
        self.end = end
        tracker.attach(to: manager)
        activities = []
        for index in 0..<count { activities.append(tracker.begin(Names.labels[index & 63])) }
    }

    func beginAndEnd(_ times: Int) {
        switch end {
        case .newest: endNewest(times)
        case .oldest: endOldest(times)
        }
    }

    private func endNewest(_ times: Int) {
        let labels = Names.labels
        for index in 0..<times {
            let activity = tracker.begin(labels[index & 63])
            activity.end()
        }
    }

    private func endOldest(_ times: Int) {
        let labels = Names.labels
        for index in 0..<times {
            let newest = tracker.begin(labels[index & 63])
            activities[oldest].end()
            activities[oldest] = newest
            oldest = oldest + 1 == activities.count ? 0 : oldest + 1
        }
    }
}
