import Foundation
import IndicatorCore
import IndicatorTracking

/// What activities cost other than time, counted by a preloaded library: `test-probe core counts` prints lines with a
/// name and a number.
enum CountsProbe {
    private static let pairs = 10_000
    private static let liveCount = 100_000

    static func run() throws {
        typealias Counter = @convention(c) () -> UInt
        guard let allocations = symbol("counted_allocations", as: Counter.self),
            let calls = symbol("counted_calls", as: Counter.self), let bytes = symbol("counted_bytes", as: Counter.self)
        else { return print("not preloaded") }
        func report(_ name: String, _ body: () -> Void) {
            // What is allocated once.
            for _ in 0..<100 { body() }
            let before = (allocations(), calls())
            for _ in 0..<pairs { body() }
            let after = (allocations(), calls())
            print("allocations, \(name): \(after.0 - before.0)")
            print("system calls, \(name): \(after.1 - before.1)")
        }
        let hours = Duration.seconds(36_000)
        let shown = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero, completionDelay: hours))
        let delayed = IndicatorManager(delays: try IndicatorDelays(startDelay: hours))
        let disabled = IndicatorManager(isEnabled: false)
        for (name, indicator) in [("shown", shown), ("not shown yet", delayed), ("disabled", disabled)] {
            report("begin and end, \(name)") { indicator.begin().end() }
        }
        let other = shown.begin()
        report("begin and end, others in progress") { shown.begin().end() }
        report("start and stop by a number") {
            shown.start(7)
            shown.stop(7)
        }
        report("begin with a label and end") { shown.begin("label").end() }
        other.end()
        let step = ActivityTracker<Int>().begin(0)
        report("a value in a tracker") { step.update(1) }

        func grown(_ name: String, _ begin: (IndicatorManager) -> Void) {
            let indicator = IndicatorManager()
            let before = bytes()
            begin(indicator)
            let grown = (bytes() - before) / UInt(liveCount)
            print("bytes, \(name): \(grown)")
        }
        // The caller's values do not count. They are never released: the process ends.
        grown("an activity") { indicator in
            let activities = UnsafeMutablePointer<Activity>.allocate(capacity: liveCount)
            for index in 0..<liveCount { (activities + index).initialize(to: indicator.begin()) }
        }
        grown("with a number") { indicator in for number in 0..<liveCount { indicator.start(number) } }
        grown("with a label") { indicator in
            let activities = UnsafeMutablePointer<Activity>.allocate(capacity: liveCount)
            for index in 0..<liveCount { (activities + index).initialize(to: indicator.begin("label")) }
        }
        exit(0)
    }
}
