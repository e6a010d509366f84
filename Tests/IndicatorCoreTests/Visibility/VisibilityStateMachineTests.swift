import IndicatorCore
import Testing

@Suite struct VisibilityStateMachineTests {
    @Test func goesThroughItsFourStates() {
        var machine = VisibilityStateMachine()
        #expect(machine.state == .inactive)
        #expect(machine.deadline == nil)
        #expect(machine.setBusy(true, at: .zero).isEmpty)
        #expect(machine.state == .delayingStart)
        #expect(machine.deadline == .seconds(1))
        #expect(machine.advance(to: .milliseconds(999)).isEmpty)
        #expect(machine.advance(to: .seconds(3)).map(\.instant) == [.seconds(1)])
        #expect(machine.state == .active)
        #expect(machine.deadline == nil)
        #expect(machine.setBusy(false, at: .seconds(4)).isEmpty)
        #expect(machine.state == .delayingCompletion)
        #expect(machine.isVisible)
        #expect(machine.deadline == .milliseconds(4200))
        #expect(machine.advance(to: .milliseconds(4200)).map(\.isVisible) == [false])
        #expect(machine.state == .inactive)
    }

    @Test func aLateEventComesAfterTheDeadlineThatItMissed() {
        var machine = VisibilityStateMachine()
        _ = machine.setBusy(true, at: .zero)
        machine.delays = (try? IndicatorDelays(completionDelay: .zero)) ?? .standard
        let changes = machine.setBusy(false, at: .seconds(7))
        #expect(changes.map(\.isVisible) == [true, false])
        #expect(changes.map(\.instant) == [.seconds(1), .seconds(7)])
    }

    @Test func aChangedDelayAppliesFromItsNextBeginning() throws {
        var machine = VisibilityStateMachine()
        _ = machine.setBusy(true, at: .zero)
        machine.delays = try IndicatorDelays(startDelay: .seconds(5))
        #expect(machine.deadline == .seconds(1))
        _ = machine.advance(to: .seconds(1))
        machine.delays = try IndicatorDelays(completionDelay: .seconds(2), minimumVisibleTime: .seconds(60))
        _ = machine.setBusy(false, at: .seconds(3))
        #expect(machine.deadline == .seconds(5))
    }

    @Test func timeThatRunsBackwardsIsTreatedAsUnchanged() {
        var machine = VisibilityStateMachine()
        _ = machine.setBusy(true, at: .seconds(10))
        _ = machine.setBusy(false, at: .seconds(2))
        #expect(machine.deadline == .seconds(11))
    }
}

@Suite struct IndicatorDelaysTests {
    @Test(arguments: [-0.001, -.infinity, .infinity, .nan, 1e300])
    func anInvalidDelayIsRejectedByName(_ seconds: Double) {
        for setting in IndicatorDelays.Setting.allCases {
            #expect(throws: InvalidDelayError.self) { try IndicatorDelays.duration(ofSeconds: seconds, for: setting) }
        }
        let error = #expect(throws: InvalidDelayError.self) {
            try IndicatorDelays.duration(ofSeconds: seconds, for: .completionDelay)
        }
        #expect(error?.description.hasPrefix("completionDelay is \(seconds) s; it must be zero or more") == true)
    }

    @Test func negativeDurationsAreRejected() {
        #expect(throws: InvalidDelayError.self) { try IndicatorDelays(minimumVisibleTime: .nanoseconds(-1)) }
    }

    @Test func delaysAreRoundedToTheNearestMicrosecond() throws {
        #expect(try IndicatorDelays.duration(ofSeconds: 0.123_456_49, for: .startDelay) == .microseconds(123_456))
        #expect(try IndicatorDelays.duration(ofSeconds: 0.123_456_51, for: .startDelay) == .microseconds(123_457))
        #expect(try IndicatorDelays(startDelay: .nanoseconds(1_500)).startDelay == .microseconds(2))
        #expect(try IndicatorDelays(startDelay: .nanoseconds(1_499)).startDelay == .microseconds(1))
    }
}
