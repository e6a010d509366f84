import TestSupport

/// What no trace contains: late events, and time that runs backwards. The rest is in `TraceTests`,
/// `RandomTraceTests` and `IndicatorStateMachineTests`.
@Suite struct VisibilityStateMachineTests {
    @Test func `A late event comes after the deadline that it missed`() throws {
        var machine = VisibilityStateMachine()
        _ = machine.setBusy(true, at: .zero)
        machine.delays = try IndicatorDelays(completionDelay: .zero)
        let changes = machine.setBusy(false, at: .seconds(7))
        #expect(changes.map(\.isVisible) == [true, false])
        #expect(changes.map(\.instant) == [.seconds(1), .seconds(7)])
    }

    @Test func `Time that runs backwards is treated as unchanged`() {
        var machine = VisibilityStateMachine(delays: .noStart)
        _ = machine.setBusy(true, at: .seconds(10))
        _ = machine.setBusy(false, at: .seconds(2))
        #expect(machine.deadline == .milliseconds(10_200))
    }
}
