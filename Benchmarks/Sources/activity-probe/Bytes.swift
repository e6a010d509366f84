import CProbe
import IndicatorCore

/// Measures the heap memory of an activity, beyond the caller's values.
enum Bytes {
    /// Prints the bytes per activity with `count` activities in progress.
    static func print(count: Int) {
        report("activity", count) { manager in
            // The caller's values are those that `begin` returns.
            let activities = UnsafeMutablePointer<Activity>.allocate(capacity: count)
            return grown {
                for index in 0..<count { (activities + index).initialize(to: manager.begin()) }
            }
        }
        let labels = (0..<count).map { "request-\($0)" }
        report("labelled", count) { manager in
            let activities = UnsafeMutablePointer<Activity>.allocate(capacity: count)
            return grown {
                for index in 0..<count { (activities + index).initialize(to: manager.begin(labels[index])) }
            }
        }
        // The caller's values are the identities.
        let texts = (0..<count).map { "request-\($0)" }
        report("identified by a text", count) { manager in
            grown { for text in texts { manager.start(text) } }
        }
        report("identified by a number", count) { manager in
            grown { for number in 0..<count { manager.start(number) } }
        }
    }

    private static func report(_ name: String, _ count: Int, _ begin: (IndicatorManager) -> Double) {
        let manager = IndicatorManager()
        let bytes = begin(manager)
        precondition(
            manager.activityCount == count,
            "\(manager.activityCount) activities are in progress, not \(count)"
        )
        Swift.print(name, bytes / Double(count))
    }

    private static func grown(_ body: () -> Void) -> Double {
        let before = probe_heap_bytes()
        body()
        return Double(probe_heap_bytes()) - Double(before)
    }
}
