import IndicatorCore
import NetworkKit
import Testing

@testable import indicator_demo
@testable import IndicatorCommands

@Suite struct RunVerdictTests {
    @Test(arguments: [
        ([1500, 2000], [1000, 2500], 500, []), ([1400, 3000], [1000, 1500, 1800, 2600], 400, []),
        ([1501, 3000], [1000, 3000], 501, ["wrongly hidden from 1.00 s to 1.50 s"]), ([], [], 0, []),
        ([1000, 3000], [], 2000, ["wrongly shown from 1.00 s to 3.00 s"]),
        ([1000], [1000, 2000], 0, ["wrongly shown at the end"]),
    ])
    func `The indicator may differ from the rules for half a second`(
        observed: [Int],
        expected: [Int],
        deviation: Int,
        differences: [String]
    ) {
        func changes(_ milliseconds: [Int]) -> [VisibilityChange] {
            milliseconds.enumerated().map { VisibilityChange(isVisible: $0 % 2 == 0, instant: .milliseconds($1)) }
        }
        let verdict = RunVerdict(observed: changes(observed), expected: changes(expected))
        #expect(verdict.differences == differences && verdict.isAsExpected == differences.isEmpty)
        #expect(verdict.largestDeviation == .milliseconds(deviation))
    }

    @Test func `The rules are applied to the requests`() throws {
        let recorder = RunRecorder()
        recorder.note(.request(RequestID(row: 0), .ended), at: .milliseconds(3000))
        recorder.note(.request(RequestID(row: 0), .began), at: .milliseconds(100))
        recorder.note(.request(RequestID(row: 0), .suspended), at: .milliseconds(1500))
        recorder.note(.request(RequestID(row: 0), .resumed), at: .milliseconds(1600))
        let expected = recorder.expectedVisibility(delays: .standard, isEnabled: true)
        #expect(
            expected == [
                VisibilityChange(isVisible: true, instant: .milliseconds(1100)),
                VisibilityChange(isVisible: false, instant: .milliseconds(3200)),
            ]
        )
        #expect(recorder.expectedVisibility(delays: .standard, isEnabled: false) == [])
    }
}

@Suite struct StepResultTests {
    private func result(_ outcomes: RequestOutcome..., problem: String? = nil) -> StepResult {
        StepResult(outcomes: outcomes, problem: problem)
    }

    @Test func `Equal outcomes are reported once`() {
        let icons = result(.answered(200, .cache), .answered(200, .cache), .answered(200))
        #expect(icons.text == "2 times from cache, 200")
        #expect(icons.isSuccess)
        #expect(result(.answered(200, .revalidatedCache)).text == "unchanged")
    }

    @Test func `A problem follows the outcome`() {
        let wrong = result(.answered(200), problem: "the picture is another")
        #expect(wrong.text == "200: the picture is another")
        #expect(!wrong.isSuccess)
        #expect(result(problem: "there are no icons").text == "there are no icons")
    }

    @Test func `A planned failure is marked`() {
        #expect(result(.answered(404)).text == "404, as planned")
        #expect(result(.refused).text == "connection refused, as planned")
        #expect(result(.cancelled).text == "cancelled")
        #expect(result(.answered(500), problem: "it should have been 404").text.hasSuffix("it should have been 404"))
    }

    @Test func `Failures are not successes`() {
        #expect(!result(.answered(404)).isSuccess)
        #expect(!result(.refused).isSuccess)
        #expect(!result(.answered(200), .cancelled).isSuccess)
    }
}
