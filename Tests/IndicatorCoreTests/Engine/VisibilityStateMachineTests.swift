import IndicatorCore
import Testing

@Suite struct VisibilityStateMachineTests {
    @Test func `The indicator goes through its four states`() {
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

    @Test func `A late event comes after the deadline that it missed`() {
        var machine = VisibilityStateMachine()
        _ = machine.setBusy(true, at: .zero)
        machine.delays = (try? IndicatorDelays(completionDelay: .zero)) ?? .standard
        let changes = machine.setBusy(false, at: .seconds(7))
        #expect(changes.map(\.isVisible) == [true, false])
        #expect(changes.map(\.instant) == [.seconds(1), .seconds(7)])
    }

    @Test func `A changed delay applies from its next beginning`() throws {
        var machine = VisibilityStateMachine()
        _ = machine.setBusy(true, at: .zero)
        machine.delays = try IndicatorDelays(startDelay: .seconds(5))
        #expect(machine.deadline == .seconds(1))
        _ = machine.advance(to: .seconds(1))
        machine.delays = try IndicatorDelays(completionDelay: .seconds(2), minimumVisibleTime: .seconds(60))
        _ = machine.setBusy(false, at: .seconds(3))
        #expect(machine.deadline == .seconds(5))
    }

    @Test func `Time that runs backwards is treated as unchanged`() {
        var machine = VisibilityStateMachine()
        _ = machine.setBusy(true, at: .seconds(10))
        _ = machine.setBusy(false, at: .seconds(2))
        #expect(machine.deadline == .seconds(11))
    }
}

@Suite struct IndicatorDelaysTests {
    @Test func `Negative durations are rejected`() {
        #expect(throws: InvalidDelayError.self) { try IndicatorDelays(minimumVisibleTime: .nanoseconds(-1)) }
    }

    @Test("Delays are rounded to the nearest microsecond") func delaysAreRoundedToTheNearestMicrosecond() throws {
        #expect(try IndicatorDelays(startDelay: .nanoseconds(1_500)).startDelay == .microseconds(2))
        #expect(try IndicatorDelays(startDelay: .nanoseconds(1_499)).startDelay == .microseconds(1))
    }
}
