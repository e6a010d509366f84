import IndicatorCore
import NetworkKit
import Testing

@testable import indicator_demo
@testable import IndicatorCommands

@Suite struct RunVerdictTests {
    private func changes(_ milliseconds: Int...) -> [VisibilityChange] {
        milliseconds.enumerated().map { VisibilityChange(isVisible: $0 % 2 == 0, instant: .milliseconds($1)) }
    }

    @Test func `Small deviations are accepted`() {
        let verdict = RunVerdict(observed: changes(1000, 2100), expected: changes(1100, 2000))
        #expect(verdict.isAsExpected)
        #expect(verdict.largestDeviation == .milliseconds(100))
    }

    @Test func `A late change is a difference`() {
        let verdict = RunVerdict(observed: changes(1101, 2000), expected: changes(1000, 2000))
        #expect(verdict.differences == ["shown at 1.10 s, expected shown at 1.00 s"])
    }

    @Test func `Lateness of the machine is accepted`() {
        let verdict = RunVerdict(observed: changes(1150), expected: changes(1000)) { start, end in
            #expect(start == .milliseconds(1000) && end == .milliseconds(1150))
            return .milliseconds(60)
        }
        #expect(verdict.isAsExpected)
    }

    @Test func `Slack allows lateness and short gaps`() {
        func isAsExpected(_ slack: Duration) -> Bool {
            let (observed, expected) = (changes(1400, 3000), changes(1000, 1500, 1800, 2600))
            return RunVerdict(observed: observed, expected: expected, slack: slack).isAsExpected
        }
        #expect(!isAsExpected(.milliseconds(299)))
        #expect(isAsExpected(.milliseconds(300)))
    }

    @Test func `Missing and superfluous changes are differences`() {
        #expect(RunVerdict(observed: changes(1000), expected: changes(1000, 2000)).differences.count == 1)
        #expect(RunVerdict(observed: changes(1000, 1010, 1020), expected: changes(1000)).differences.count == 2)
        #expect(!RunVerdict(observed: [], expected: changes(5)).isAsExpected)
        #expect(RunVerdict(observed: [], expected: []).isAsExpected)
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
