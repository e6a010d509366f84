import CProbe
import Foundation
import Workloads

/// Work that begins while there is none, and ends, over and over, between two marks for `strace`.
enum Edges {
    /// Runs the parts one after the other, and prints what each is.
    static func run(count: Int) {
        run("while it is not shown yet", count, IdleIndicator(.delayingStart, audience: .whileShown))
        run("while it is switched off", count, IdleIndicator(.disabled, audience: .whileShown))
        run("while it is shown", count, IdleIndicator(.shown, audience: .nobody))
        run("with a surface that hears of every change", count, IdleIndicator(.shown, audience: .always))
    }

    private static func run(_ name: String, _ count: Int, _ indicator: IdleIndicator) {
        print(name)
        fflush(nil)
        indicator.beginAndEnd(1000)
        // What the first activities have set going comes to its end.
        Thread.sleep(forTimeInterval: 0.5)
        probe_mark()
        indicator.beginAndEnd(count)
        probe_mark()
    }
}
