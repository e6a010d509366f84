import Foundation
import IndicatorCore

/// The longest call with many of what an app may have, in the processor's time, which other load does not change.
enum LongestCall {
    static let name = "longest-call"

    static func measure(_ scale: Scale) -> Figure {
        let count = scale.trackedObjects
        let longest = [
            ("indicators whose delays run", indicators),
            ("statuses of a tracker", statuses),
            ("subscribers to requests to cancel", cancellationRequests),
        ].map { name, round in
            // A call that is long by itself is so in each round, unlike one that the hypervisor interrupts.
            (name, (0..<3).map { _ in round(count) }.min() ?? 0)
        }
        return Figure(
            name: name,
            title: "longest call, with \(Decimals.grouped(count)) of what an app may have",
            goal: 1,
            outcome: .count(longest.map(\.1).max() ?? 0, unit: "ms of CPU"),
            detail: longest.map { "\($0.0): \(Decimals.count($0.1))" }.joined(separator: ", ")
        )
    }

    /// Begins work in all, and releases them in another order, which cancels their timers.
    private static func indicators(_ count: Int) -> Double {
        var longest = Longest()
        var managers = (0..<count).map { _ in IndicatorManager() }.shuffled()
        for manager in managers { longest.measure { manager.incrementActivityCount() } }
        managers.shuffle()
        while !managers.isEmpty { longest.measure { _ = managers.removeLast() } }
        return longest.milliseconds
    }

    private static func statuses(_ count: Int) -> Double {
        let tracker = ActivityTracker<Int>()
        var longest = Longest()
        var all = (0..<count).map { _ in longest.measure { tracker.statuses } }
        for number in 0..<20 {
            let activity = longest.measure { ManagedTrackedActivity(number, in: tracker) }
            longest.measure { activity.end() }
        }
        while !all.isEmpty { longest.measure { _ = all.removeLast() } }
        return longest.milliseconds
    }

    private static func cancellationRequests(_ count: Int) -> Double {
        let manager = IndicatorManager()
        var longest = Longest()
        var all = (0..<count).map { _ in longest.measure { manager.cancellationRequests } }
        while !all.isEmpty { longest.measure { _ = all.removeLast() } }
        return longest.milliseconds
    }

    private struct Longest {
        private(set) var milliseconds = 0.0

        mutating func measure<Result>(_ call: () -> Result) -> Result {
            let start = Self.now
            defer { milliseconds = max(milliseconds, Self.now - start) }
            return call()
        }

        /// The processor's time of this thread, in milliseconds.
        private static var now: Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
        }
    }
}
