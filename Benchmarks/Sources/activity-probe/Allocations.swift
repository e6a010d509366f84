import CProbe
import Workloads

/// How many times activities allocate memory on the thread that begins and ends them.
enum Allocations {
    /// Prints the numbers of allocations in `count` times beginning and ending, and first a check that allocations are
    /// counted.
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
