import CProbe
import Foundation
import Workloads

/// Work that begins while there is none, and ends, over and over, between two marks for `strace`: first while the indicator is not
/// shown yet, then while it is shown.
enum Edges {
    static func run(count: Int) {
        for situation in [Situation.delayingStart, .shown] {
            let indicator = IdleIndicator(situation)
            indicator.beginAndEnd(1000)
            // What the first activities have set going comes to its end.
            Thread.sleep(forTimeInterval: 0.5)
            probe_mark()
            indicator.beginAndEnd(count)
            probe_mark()
        }
    }
}
