import IndicatorCore
import Testing

@testable import IndicatorBackends

@Suite struct LogTransitionsTests {
    private func events(_ snapshots: IndicatorSnapshot...) -> [LogFileBackend.Event?] {
        var transitions = LogTransitions()
        return snapshots.map { transitions.event(for: $0) }
    }

    @Test func `Showing hiding and a new label are events`() {
        #expect(
            events(.hidden(at: 0), .shown("a", at: 1), .shown("b", at: 1), .hidden(at: 2)) == [
                nil, .shown, .label, .hidden,
            ]
        )
    }

    @Test func `A repetition is not an event`() {
        #expect(
            events(.shown("a"), .shown("a"), .shown("a", count: 5, progress: 0.5), .hidden(at: 2), .hidden(at: 2))
                == [.shown, nil, nil, .hidden, nil]
        )
    }

    /// A step of the wall clock changes the time at which the indicator was shown.
    @Test func `A corrected date is not an event`() {
        let snapshots = [(1, 3.0), (1, 7), (2, 9)].map { period, time in
            var snapshot = IndicatorSnapshot.shown("a", at: time)
            snapshot.period = period
            return snapshot
        }
        #expect(events(snapshots[0], snapshots[1], snapshots[2]) == [.shown, nil, .shown])
    }

    @Test func `The end of a label is an event`() {
        #expect(events(.shown("a"), .shown(nil)) == [.shown, .label])
    }

    @Test func `The completion delay is not an event`() {
        var ending = IndicatorSnapshot.shown("a")
        ending.state = .delayingCompletion
        #expect(events(.shown("a"), ending, .shown("a")) == [.shown, nil, nil])
    }

    @Test func `A dropped transition is detected`() {
        #expect(
            events(.shown("a", at: 1), .shown("a", at: 9), .hidden(at: 10), .hidden(at: 20)) == [
                .shown, .shown, .hidden, .hidden,
            ]
        )
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
