import CProbe
import Foundation
import Workloads

/// Single activities that begin and end repeatedly, between two marks for `strace`.
enum Edges {
    /// Runs the parts and prints their names.
    static func run(count: Int) {
        run("while it is not shown yet", count, IdleIndicator(.delayingStart, audience: .whileShown))
        run("while it is disabled", count, IdleIndicator(.disabled, audience: .whileShown))
        run("while it is shown", count, IdleIndicator(.shown, audience: .nobody))
        run("with a backend that receives every change", count, IdleIndicator(.shown, audience: .always))
    }

    private static func run(_ name: String, _ count: Int, _ indicator: IdleIndicator) {
        print(name)
        fflush(nil)
        indicator.beginAndEnd(1000)
        // Wait until the effects of the first activities have ended.
        Thread.sleep(forTimeInterval: 0.5)
        probe_mark()
        indicator.beginAndEnd(count)
        probe_mark()
    }
}
