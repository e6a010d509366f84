import Foundation
import IndicatorTesting
import TestSupport
import Testing

@testable import IndicatorCore

@Suite struct BackendRunnerStateMachineTests {
    private var machine = BackendRunnerStateMachine(delivery: .latestWins)

    private func name(_ operation: BackendRunnerStateMachine.Operation?) -> String? {
        switch operation {
        case .start: "start"
        case .update: "update"
        case .stop: "stop"
        case nil: nil
        }
    }

    private mutating func next(_ seconds: Double) -> String? { name(machine.nextOperation(at: .seconds(seconds))) }

    private mutating func finish(_ seconds: Double, error: String? = nil) {
        _ = machine.finished(error: error, at: .seconds(seconds))
    }

    /// It was lost: the next start followed after 4 s, or 60 in a long outage.
    @Test mutating func `A retry during a call that fails is remembered`() {
        #expect(next(0) == "start")
        _ = machine.retry(at: .zero)
        finish(1, error: "no server")
        #expect(next(1) == "start")
        finish(1, error: "no server")
        // Once.
        #expect(next(1) == nil)
        #expect(machine.deadline == .seconds(3))
    }

    @Test mutating func `A retry during an update that fails is remembered`() {
        machine.post(IndicatorSnapshot(state: .active))
        #expect(next(0) == "start")
        finish(0)
        #expect(next(0) == "update")
        _ = machine.retry(at: .zero)
        finish(0, error: "lost")
        #expect(next(0) == "stop")
        finish(0)
        #expect(next(0) == "start")
        finish(0)
        // Not beyond a call that succeeds.
        #expect(next(0) == "update")
        _ = machine.retry(at: .zero)
        finish(0)
        _ = machine.surfaceWasLost("lost", at: .zero)
        #expect(next(0) == "stop")
        finish(0)
        #expect(next(0) == nil)
    }

    /// It counted twice: the first pause was 2 s.
    @Test mutating func `A surface that is lost during an update that fails is one failure`() {
        machine.post(IndicatorSnapshot(state: .active))
        #expect(next(0) == "start")
        finish(0)
        #expect(next(0) == "update")
        _ = machine.surfaceWasLost("the server has quit", at: .zero)
        finish(0, error: "broken pipe")
        #expect(machine.outages == 1 && machine.lastError == "broken pipe")
        #expect(next(0) == "stop")
        finish(0)
        #expect(machine.deadline == .seconds(1))
    }

    /// What waited was dropped without another attempt, although the disk had room again.
    @Test(arguments: [false, true])
    func `What waits is tried once more at the end`(isAvailableAgain: Bool) {
        var machine = BackendRunnerStateMachine(delivery: .latestWins)
        _ = machine.nextOperation(at: .zero)
        _ = machine.finished(error: "the disk is full", at: .zero)
        machine.post(IndicatorSnapshot(state: .active, label: "Saving"))
        #expect(machine.nextOperation(at: .zero) == nil)
        machine.finish(timeLimit: .seconds(2), at: .milliseconds(500))
        #expect(name(machine.nextOperation(at: .milliseconds(500))) == "start")
        if isAvailableAgain {
            _ = machine.finished(error: nil, at: .milliseconds(500))
            #expect(name(machine.nextOperation(at: .milliseconds(500))) == "update")
            _ = machine.finished(error: nil, at: .milliseconds(500))
            #expect(name(machine.nextOperation(at: .milliseconds(500))) == "stop")
            _ = machine.finished(error: nil, at: .milliseconds(500))
        } else {
            _ = machine.finished(error: "the disk is full", at: .milliseconds(500))
        }
        #expect(machine.nextOperation(at: .milliseconds(500)) == nil)
        #expect(machine.isStopped)
    }

    /// The update that was lost is tried once more, too.
    @Test mutating func `An update that fails at the end is tried once more`() {
        #expect(next(0) == "start")
        finish(0)
        let ended = FinishedActivity(label: "Saving", outcome: .failed("no space"), duration: .seconds(1))
        var snapshot = IndicatorSnapshot(state: .active)
        snapshot.finishedActivities = FinishedActivities(latest: [ended])
        machine.post(snapshot)
        machine.finish(timeLimit: .seconds(2), at: .zero)
        #expect(next(0) == "update")
        finish(0, error: "the broker is gone")
        #expect(next(0) == "stop")
        finish(0)
        #expect(next(0) == "start")
        finish(0)
        guard case .update(let again, _) = machine.nextOperation(at: .zero) else {
            Issue.record("nothing is delivered again")
            return
        }
        #expect(again.finished == [ended])
        finish(0)
        #expect(next(0) == "stop")
        finish(0)
        #expect(next(0) == nil && machine.isStopped)
    }

    /// With a virtual clock, it never returned.
    @Test func `A shutdown with a virtual clock does not wait for a backend that hangs`() async throws {
        let gate = Gate()
        let backend = ScriptedBackend(onStart: { _ in await gate.pass() })
        let manager = IndicatorManager(backends: [backend], clock: VirtualClock())
        #expect(await eventually { backend.startCount == 1 })
        await manager.shutdown(timeLimit: .milliseconds(10))
        #expect(backend.stopCount == 0)
        gate.open()
    }
}
