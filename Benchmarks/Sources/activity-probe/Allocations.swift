import CProbe
import Workloads

/// Counts the allocations of activities on the thread that begins and ends them.
enum Allocations {
    /// Prints a check that allocations are counted, then the numbers of allocations for `count` begins and ends.
    static func print(count: Int) {
        Swift.print("check", counted { for _ in 0..<100 { keep(Something()) } })
        let busy = BusyIndicator(.shown)
        report("others in progress", count, busy.beginAndEnd)
        for situation in [Situation.delayingStart, .shown, .disabled] {
            report(situation.rawValue, count, IdleIndicator(situation).beginAndEnd)
        }
    }

    private static func report(_ name: String, _ count: Int, _ body: (Int) -> Void) {
        body(1000)
        Swift.print(name, counted { body(count) })
    }

    private static func counted(_ body: () -> Void) -> UInt64 {
        let before = probe_allocations_of_thread()
        body()
        return probe_allocations_of_thread() - before
    }

    private final class Something {}

    @inline(never) @_optimize(none)
    private static func keep(_ something: Something) {}
}
