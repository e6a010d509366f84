import Foundation
import IndicatorCore
import TestSupport
import Testing

@Suite struct ActivityOutcomeTests {
    private struct Failure: Error, CustomStringConvertible { var description: String { "HTTP 503" } }

    /// A cancelled request of `URLSession` counted as failed.
    @Test func cancellationIsNoFailure() {
        #expect(ActivityOutcome(CancellationError()) == .cancelled)
        #expect(ActivityOutcome(URLError(.cancelled)) == .cancelled)
        #expect(ActivityOutcome(Failure()) == .failed("HTTP 503"))
    }

    /// 0 was both "none" and the first activity.
    @Test func idsBeginWithOne() {
        let manager = TestIndicator().manager
        let first = manager.begin("first")
        #expect(manager.snapshot.activities.map(\.id) == [1])
        #expect(ActivityDetails(label: "first").id == 0)
        first.end()
    }
}
