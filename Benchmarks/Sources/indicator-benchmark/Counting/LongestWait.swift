import Foundation
import IndicatorCore
import Workloads

/// The longest wait of a call while the lifetimes of many objects are checked continuously.
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
            // Ignore calls during which this thread was preempted.
            if duration > longest, Self.preemptions == preemptions { longest = duration }
        }
        withExtendedLifetime(objects) {}
        return Figure(
            name: name,
            title: "longest wait of a call while \(Decimals.grouped(scale.trackedObjects)) objects are tracked",
            goal: 1,
            outcome: .count(longest / .milliseconds(1), unit: "ms"),
            detail: "begin and end of an activity with a label, while all objects are checked 20 times a second"
        )
    }

    /// How often this thread was preempted.
    private static var preemptions: Int {
        var usage = rusage()
        // `RUSAGE_THREAD`, which Swift's Glibc does not import.
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nivcsw
    }
}
