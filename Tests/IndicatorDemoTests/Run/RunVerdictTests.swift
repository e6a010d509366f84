import IndicatorCore
import NetworkKit
import Testing

@testable import indicator_demo
@testable import IndicatorCommands

@Suite struct RunVerdictTests {
    @Test(
        "The indicator may differ from the rules for half a second",
        arguments: [
            ([1500, 2000], [1000, 2500], 500, []), ([1400, 3000], [1000, 1500, 1800, 2600], 400, []),
            ([1501, 3000], [1000, 3000], 501, ["wrongly hidden from 1.00 s to 1.50 s"]), ([], [], 0, []),
            ([1000, 3000], [], 2000, ["wrongly shown from 1.00 s to 3.00 s"]),
            ([1000], [1000, 2000], 0, ["wrongly shown at the end"]),
        ]
    )
    func deviation(observed: [Int], expected: [Int], deviation: Int, differences: [String]) {
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
    @Test(
        arguments: [
            // Equal outcomes are reported once.
            ([.answered(200, .cache), .answered(200, .cache), .answered(200)], nil, "2 times from cache, 200", true),
            ([.answered(200, .revalidatedCache)], nil, "unchanged", true),
            ([.answered(200)], "the picture is another", "200: the picture is another", false),
            ([], "there are no icons", "there are no icons", false), ([.answered(404)], nil, "404, as planned", false),
            ([.refused], nil, "connection refused, as planned", false), ([.cancelled], nil, "cancelled", false),
            ([.answered(500)], "it should have been 404", "500: it should have been 404", false),
            ([.answered(200), .cancelled], nil, "200, cancelled", false),
        ] as [([RequestOutcome], String?, String, Bool)]
    )
    func `A result has a text`(outcomes: [RequestOutcome], problem: String?, text: String, isSuccess: Bool) {
        let result = StepResult(outcomes: outcomes, problem: problem)
        #expect(result.text == text && result.isSuccess == isSuccess)
    }
}
