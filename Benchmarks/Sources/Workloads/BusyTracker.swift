import IndicatorCore

/// A tracker that an indicator shows, with so many activities in progress.
final class BusyTracker: @unchecked Sendable {
    // `@unchecked`: the activities are changed by the one thread that measures.

    /// Which activity ends when another has begun.
    enum End: String, CaseIterable {
        /// The one that has just begun: what the tracker tells stays the same.
        case newest = "the newest ends"
        /// The one that is told of, so that the next one is told of then.
        case oldest = "the oldest ends"
    }

    private let manager = IndicatorManager.measured(.shown)
    private let tracker = ActivityTracker<String>()
    private let end: End
    /// Those in progress, in a ring.
    private var activities: [ManagedTrackedActivity<String>]
    private var oldest = 0

    init(count: Int, ending end: End) {
        self.end = end
        tracker.attach(to: manager)
        activities = []
        for index in 0..<count { activities.append(ManagedTrackedActivity(Names.labels[index & 63], in: tracker)) }
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
            let newest = ManagedTrackedActivity(labels[index & 63], in: tracker)
            activities[oldest].end()
            activities[oldest] = newest
            oldest = oldest + 1 == activities.count ? 0 : oldest + 1
        }
    }
}
