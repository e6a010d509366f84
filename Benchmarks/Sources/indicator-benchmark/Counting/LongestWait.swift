import Foundation
import IndicatorCore
import Workloads

/// The longest that a call waits while many objects are tracked, whose lifetimes are looked at all the time.
enum LongestWait {
    static let name = "longest-wait"

    private final class Tracked: Sendable {}

    static func measure(_ scale: Scale) -> Figure {
        let manager = IndicatorManager()
        manager.lifetimeCheckInterval = .milliseconds(50)
        let objects = (0..<scale.trackedObjects).map { _ in Tracked() }
        for object in objects { manager.track(object) }
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: scale.watch)
        var longest = Duration.zero
        while clock.now < end {
            let preemptions = Self.preemptions
            let duration = clock.measure {
                let activity = manager.begin("label")
                activity.end()
            }
            // A call during which another program took the processor says nothing.
            if duration > longest, Self.preemptions == preemptions { longest = duration }
        }
        withExtendedLifetime(objects) {}
        return Figure(
            name: name,
            title: "the longest that a call waits while \(Decimals.grouped(scale.trackedObjects)) objects are tracked",
            goal: 1,
            outcome: .count(longest / .milliseconds(1), unit: "ms"),
            detail: "to begin an activity with a label and to end it, while all objects are looked at 20 times a second"
        )
    }

    /// How often another thread took the processor away from this one.
    private static var preemptions: Int {
        var usage = rusage()
        // `RUSAGE_THREAD`, which Swift's Glibc does not import.
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nivcsw
    }
}
