import NetworkKit
import Testing

@testable import IndicatorCommands
@testable import indicator_demo

@Suite struct StepResultTests {
    private func result(_ outcomes: RequestOutcome..., problem: String? = nil) -> StepResult {
        StepResult(outcomes: outcomes, problem: problem)
    }

    @Test func equalOutcomesAreReportedOnce() {
        let icons = result(.answered(200, .cache), .answered(200, .cache), .answered(200))
        #expect(icons.note == "from cache (2), 200")
        #expect(icons.text == "2 times from cache, 200 OK")
        #expect(icons.isSuccess)
        #expect(result(.answered(200, .revalidatedCache)).note == "unchanged")
    }

    @Test func aProblemFollowsTheOutcome() {
        let wrong = result(.answered(200), problem: "the picture is another")
        #expect(wrong.note == "200, wrong")
        #expect(wrong.text == "200 OK: the picture is another")
        #expect(!wrong.isSuccess)
        #expect(result(problem: "there are no icons").text == "there are no icons")
    }

    @Test func aPlannedFailureIsMarked() {
        #expect(result(.answered(404)).text == "404 Not Found, as planned")
        #expect(result(.refused).text == "connection refused, as planned")
        #expect(result(.cancelled).text == "cancelled")
        #expect(result(.answered(500), problem: "it should have been 404").text.hasSuffix("it should have been 404"))
    }

    @Test func failuresAreNotSuccesses() {
        #expect(!result(.answered(404)).isSuccess)
        #expect(!result(.refused).isSuccess)
        #expect(!result(.answered(200), .cancelled).isSuccess)
    }
}
