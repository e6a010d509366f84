import TestSupport

@testable import IndicatorBackends

@Suite struct LogTransitionsTests {
    private static func shown(at seconds: Double, period: Int) -> IndicatorSnapshot {
        var snapshot = period.isMultiple(of: 2) ? IndicatorSnapshot.hidden(at: seconds) : .shown("a", at: seconds)
        snapshot.period = period
        return snapshot
    }

    private static let ending = {
        var snapshot = IndicatorSnapshot.shown("a")
        snapshot.state = .delayingCompletion
        return snapshot
    }()

    private static let snapshots: [String: [(IndicatorSnapshot, LogFileBackend.Event?)]] = [
        "Showing, hiding and a new label are events": [
            (.hidden(at: 0), nil), (.shown("a", at: 1), .shown), (.shown("b", at: 1), .label),
            (.hidden(at: 2), .hidden),
        ],
        "A repetition is not an event": [
            (.shown("a"), .shown), (.shown("a"), nil), (.shown("a", count: 5, progress: 0.5), nil),
            (.hidden(at: 2), .hidden), (.hidden(at: 2), nil),
        ],
        // A step of the wall clock changes the time at which the indicator was shown.
        "A corrected date is not an event": [
            (shown(at: 3, period: 1), .shown), (shown(at: 7, period: 1), nil), (shown(at: 9, period: 3), .shown),
        ],
        "The end of a label is an event": [(.shown("a"), .shown), (.shown(nil), .label)],
        "The completion delay is not an event": [(.shown("a"), .shown), (ending, nil), (.shown("a"), nil)],
        "A dropped transition is detected": [
            (shown(at: 1, period: 1), .shown), (shown(at: 9, period: 3), .shown), (shown(at: 10, period: 4), .hidden),
            (shown(at: 20, period: 6), .hidden),
        ],
    ]

    @Test(arguments: snapshots) func `Snapshots are events`(
        sentence: String,
        steps: [(snapshot: IndicatorSnapshot, event: LogFileBackend.Event?)]
    ) {
        var transitions = LogTransitions()
        #expect(steps.map { transitions.event(for: $0.snapshot) } == steps.map(\.event), "\(sentence)")
    }

    @Test func `After a loss the next snapshot is an event`() {
        var transitions = LogTransitions()
        _ = transitions.event(for: .hidden(at: 0))
        for snapshot in [IndicatorSnapshot.hidden(at: 0), .shown(at: 0)] {
            transitions.isUncertain = true
            #expect(transitions.event(for: snapshot) == (snapshot.isVisible ? .shown : .hidden))
        }
    }
}
