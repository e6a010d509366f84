import Foundation
import IndicatorCore
import IndicatorTracking

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
            var calls = Calls()
            for _ in 0..<5 {
                calls.beginRound()
                round(count, &calls)
            }
            return (name, calls.longest)
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
    private static func indicators(_ count: Int, _ calls: inout Calls) {
        var managers = (0..<count).map { _ in IndicatorManager() }.shuffled()
        for manager in managers { calls.measure { manager.incrementActivityCount() } }
        managers.shuffle()
        while !managers.isEmpty { calls.measure { _ = managers.removeLast() } }
    }

    private static func statuses(_ count: Int, _ calls: inout Calls) {
        let tracker = ActivityTracker<Int>()
        var all = (0..<count).map { _ in calls.measure { tracker.statuses } }
        for number in 0..<20 {
            let activity = calls.measure { ManagedTrackedActivity(number, in: tracker) }
            calls.measure { activity.end() }
        }
        while !all.isEmpty { calls.measure { _ = all.removeLast() } }
    }

    private static func cancellationRequests(_ count: Int, _ calls: inout Calls) {
        let manager = IndicatorManager()
        var all = (0..<count).map { _ in calls.measure { manager.cancellationRequests } }
        while !all.isEmpty { calls.measure { _ = all.removeLast() } }
    }

    /// The shortest time of each call in several rounds: a call that is long by itself is so in each of them, unlike
    /// one that the hypervisor interrupts.
    private struct Calls {
        private var milliseconds: [Double] = []
        private var number = 0

        var longest: Double { milliseconds.max() ?? 0 }

        mutating func beginRound() { number = 0 }

        mutating func measure<Result>(_ call: () -> Result) -> Result {
            let start = Self.now
            let result = call()
            let time = Self.now - start
            if number < milliseconds.count {
                milliseconds[number] = min(milliseconds[number], time)
            } else {
                milliseconds.append(time)
            }
            number += 1
            return result
        }

        /// The processor's time of this thread, in milliseconds.
        private static var now: Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
        }
    }
}
