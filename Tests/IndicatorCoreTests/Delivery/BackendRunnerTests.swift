import Foundation
import InMemoryLogging
import IndicatorTesting
import IndicatorThreads
import Logging
import Synchronization
import TestSupport
import Testing

@testable import IndicatorCore

@Suite(.timeLimit(.minutes(10))) struct BackendRunnerTests {
    private let clock = VirtualClock()
    private let healthy = InMemoryBackend(name: "healthy")
    private let log = InMemoryLogHandler()

    private func manager(with backends: any IndicatorBackend...) throws -> IndicatorManager {
        try manager(with: backends)
    }

    /// The healthy backend is the last one, which is finished last.
    private func manager(with backends: [any IndicatorBackend]) throws -> IndicatorManager {
        var logger = Logger(label: "test") { [log] _ in log }
        logger.logLevel = .debug
        return IndicatorManager(
            delays: try IndicatorDelays(startDelay: .zero, completionDelay: .zero),
            backends: backends + [healthy],
            clock: clock,
            logger: logger
        )
    }

    private func messages(_ level: Logger.Level) -> [String] {
        log.entries.filter { $0.level == level }.map { "\($0.message)" }
    }

    private func status(_ manager: IndicatorManager) throws -> BackendStatus {
        try #require(manager.backendStatuses.first)
    }

    @Test func `A slow backend gets the latest snapshot and blocks nothing else`() async throws {
        let gate = Gate()
        let slow = ScriptedBackend(onUpdate: { _ in await gate.pass() })
        let manager = try manager(with: slow)
        manager.start("a")
        #expect(await eventually { gate.waiterCount == 1 })
        for _ in 0..<20 {
            manager.stop("a")
            manager.start("a")
        }
        manager.stop("a")
        #expect(await eventually { healthy.snapshots.count == 42 })
        #expect(slow.updates.count == 1)
        gate.open()
        #expect(await eventually { slow.updates.count == 2 })
        #expect(slow.updates.map(\.isVisible) == [true, false])
        #expect(slow.updates.last?.transitions.map(\.isVisible) == (0..<40).map { !$0.isMultiple(of: 2) })
        let delivered = BackendStatus(name: "scripted", state: .running, updatesDelivered: 2)
        #expect(try await eventually { try status(manager) == delivered })
        await manager.shutdown()
    }

    @Test("What was shown and hidden while a backend was busy rides along: the last 64, and how many more")
    func transitions() async throws {
        let gate = Gate()
        let slow = ScriptedBackend(onUpdate: { _ in await gate.pass() })
        let manager = try manager(with: slow)
        manager.start("a", label: "0")
        #expect(await eventually { gate.waiterCount == 1 })
        for number in 1...50 {
            manager.stop("a")
            manager.start("a", label: "\(number)")
        }
        gate.open()
        #expect(await eventually { slow.updates.count == 2 })
        let last = try #require(slow.updates.last)
        #expect(last.label == "50" && last.omittedTransitionCount == 99 - 64)
        #expect(last.transitions.map(\.isVisible) == (0..<64).map { $0.isMultiple(of: 2) })
        #expect(last.transitions.compactMap(\.label) == (18...49).map { "\($0)" })
        // None is reported twice, and all that ended are.
        #expect(last.finished.map(\.label) == (0..<50).map { "\($0)" })
        #expect(last.transitions.allSatisfy { $0.transitions.isEmpty })
        await manager.shutdown()
        #expect(slow.updates.last?.transitions == [])
    }

    @Test("What was shown and hidden while a backend was unavailable rides along, also in the last attempt")
    func transitionsOfOutage() async throws {
        let flaky = ScriptedBackend(onStart: { number in
            if number == 1 { throw ScriptedBackend.Failure(description: "no surface") }
        })
        let manager = try manager(with: flaky)
        #expect(await eventually { messages(.debug).count == 1 })
        for number in 1...2 { manager.begin("\(number)").end() }
        await manager.shutdown()
        #expect(flaky.updates.count == 1)
        #expect(flaky.updates.first?.withTransitions.map(\.isVisible) == [true, false, true, false])
        #expect(flaky.updates.first?.finished.map(\.label) == ["1", "2"])
    }

    @Test func `A backend that throws at start is retried with back off and recovers`() async throws {
        let flaky = ScriptedBackend(onStart: { number in
            if number < 5 { throw ScriptedBackend.Failure(description: "no surface; plug one in") }
        })
        let manager = try manager(with: flaky)
        manager.start("a", label: "work")
        let reason = "no surface; plug one in"
        #expect(await eventually { messages(.debug).count == 1 })
        #expect(try status(manager).state == .unavailable(reason: reason))
        // A call that is under way when the clock jumps would count as stalled.
        #expect(await eventually { manager.backendStatuses.last?.updatesDelivered == 1 })
        for (seconds, starts) in [(1, 2), (2, 3), (4, 4), (8, 5)] {
            clock.advance(by: .seconds(seconds) - .nanoseconds(1))
            #expect(flaky.startCount == starts - 1)
            clock.advance(by: .nanoseconds(1))
            #expect(await eventually { flaky.startCount == starts })
            #expect(await eventually { messages(.debug).count == min(starts, 4) })
        }
        #expect(await eventually { flaky.updates.map(\.label) == ["work"] })
        #expect(try await eventually { try status(manager).state == .running })
        #expect(try status(manager).lastError == reason)
        #expect(await eventually { messages(.notice).count == 1 })
        #expect(messages(.warning).count == 1)
        #expect(messages(.warning).first?.hasSuffix(reason) == true)
        #expect(healthy.isVisible)
        await manager.shutdown()
    }

    @Test func `A backend may request an immediate retry`() async throws {
        let flaky = ScriptedBackend(onStart: { number in
            if number < 2 { throw ScriptedBackend.Failure(description: "not yet") }
        })
        let manager = try manager(with: flaky)
        #expect(try await eventually { try status(manager).state == .unavailable(reason: "not yet") })
        flaky.control?.retry()
        #expect(try await eventually { try status(manager).state == .running })
        flaky.control?.retry()
        flaky.control?.setEnabled(false)
        #expect(!manager.isEnabled)
        await manager.shutdown()
        #expect(flaky.startCount == 2)
    }

    /// `attach(to:)` may not have returned.
    @Test func `A retry does not start a backend that is being added`() async {
        let backend = ScriptedBackend()
        let runner = BackendRunner(backend: backend, time: .reading(clock), logger: Logger(label: "test"))
        runner.retry()
        await runner.settle()
        #expect(backend.startCount == 0)
        runner.startDelivery()
        await runner.settle()
        #expect(backend.startCount == 1)
    }

    @Test func `A backend that throws at every update is restarted and logged once`() async throws {
        let isRepaired = Locked(false)
        let broken = ScriptedBackend(onUpdate: { _ in
            if !isRepaired.withLock({ $0 }) { throw ScriptedBackend.Failure(description: "lost") }
        })
        let manager = try manager(with: broken)
        manager.start("a")
        // A call that is under way when the clock jumps would count as stalled.
        #expect(await eventually { manager.backendStatuses.last?.updatesDelivered == 1 })
        for (seconds, updates) in [(0, 1), (1, 2), (2, 3), (4, 4)] {
            clock.advance(by: .seconds(seconds))
            #expect(await eventually { broken.updates.count == updates && broken.stopCount == updates })
            #expect(await eventually { messages(.debug).count == updates })
            #expect(try status(manager).state == .unavailable(reason: "lost"))
        }
        manager.stop("a")
        #expect(await eventually { manager.backendStatuses.last?.updatesDelivered == 2 })
        isRepaired.withLock { $0 = true }
        clock.advance(by: .seconds(8))
        #expect(try await eventually { try status(manager).state == .running })
        #expect(messages(.warning).count == 1)
        #expect(await eventually { messages(.notice).count == 1 })
        // It was shown and hidden.
        #expect(broken.updates.last?.withTransitions.map(\.isVisible) == [true, false])
        #expect(try status(manager).updatesDelivered == 1)
        #expect(await eventually { healthy.snapshots.map(\.isVisible) == [true, false] })
        await manager.shutdown()
    }

    @Test func `A backend that never returns from an update is stalled and given up`() async throws {
        let gate = Gate()
        let stuck = ScriptedBackend(
            delivery: BackendDelivery(target: "/mnt/x"),
            onUpdate: { _ in await gate.pass() }
        )
        let manager = try manager(with: stuck)
        manager.start("a")
        #expect(await eventually { gate.waiterCount == 1 && clock.deadlines.contains(.seconds(5)) })
        #expect(try status(manager).state == .running)
        #expect(await eventually { manager.backendStatuses.last?.updatesDelivered == 1 })
        clock.advance(by: .seconds(5))
        #expect(try await eventually { try status(manager).state == .stalled })
        let warning = "The backend 'scripted' has not returned from 'update' (/mnt/x) for 5.0 seconds."
        #expect(await eventually { messages(.warning) == [warning] })
        manager.stop("a")
        #expect(await eventually { healthy.snapshots.count == 2 })
        try await expectShutdown(of: manager, takes: .seconds(2))
        #expect(healthy.stopCount == 1)
        #expect(stuck.stopCount == 0)
        // If it returns later, it is stopped, so that its surface is restored.
        gate.open()
        #expect(await eventually { stuck.stopCount == 1 })
        #expect(try await eventually { try status(manager).state == .stopped })
        #expect(stuck.updates.count == 1)
    }

    /// The timer's thread would wait for the end of the limit, after the call, too.
    @Test(arguments: [(5.0, Duration.seconds(5)), (3_155_760_000, nil)])
    func `A call without a time limit has no timer`(seconds: Double, deadline: Duration?) {
        var machine = BackendRunnerStateMachine(delivery: BackendDelivery(updateTimeLimit: .seconds(seconds)))
        _ = machine.nextOperation(at: .zero)
        #expect(machine.deadline == deadline)
    }

    @Test func `A backend that is lost again and again is tried more and more seldom`() {
        var machine = BackendRunnerStateMachine(delivery: BackendDelivery())
        var now = Duration.zero
        func pause(afterRunning time: Duration) -> Duration? {
            _ = machine.nextOperation(at: now)
            _ = machine.finished(error: nil, at: now)
            machine.post(IndicatorSnapshot(state: .active))
            _ = machine.nextOperation(at: now)
            _ = machine.finished(error: nil, at: now)
            now += time
            _ = machine.surfaceWasLost("lost", at: now)
            _ = machine.nextOperation(at: now)
            _ = machine.finished(error: nil, at: now)
            let pause = machine.deadline.map { $0 - now }
            now += pause ?? .zero
            return pause
        }
        #expect((0..<3).map { _ in pause(afterRunning: .seconds(29)) } == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(pause(afterRunning: .seconds(30)) == .seconds(1))
    }

    @Test func `A backend that blocks its thread forever blocks nothing else`() async throws {
        let semaphore = DispatchSemaphore(value: 0)
        let blocked = (0..<8).map { number in
            ScriptedBackend(name: "blocked \(number)", onUpdate: { _ in Self.block(semaphore) })
        }
        let manager = try manager(with: blocked)
        manager.start("a")
        #expect(await eventually { blocked.allSatisfy { $0.updates.count == 1 } })
        #expect(await eventually { healthy.isVisible })
        try await expectShutdown(of: manager, takes: .seconds(2))
        for _ in blocked { semaphore.signal() }
        #expect(await eventually { blocked.allSatisfy { $0.stopCount == 1 } })
    }

    private static func block(_ semaphore: DispatchSemaphore) {
        semaphore.wait()
    }

    /// The backend's thread waited until its error was logged: a stopped terminal kept it from being tried again.
    @Test func `A backend is tried again while the log handler blocks`() async throws {
        let semaphore = DispatchSemaphore(value: 0)
        let flaky = ScriptedBackend(onStart: { number in
            if number < 3 { throw ScriptedBackend.Failure(description: "no broker") }
        })
        let indicator = IndicatorManager(
            backends: [flaky],
            clock: clock,
            logger: Logger(label: "test") { _ in BlockingLogHandler(semaphore: semaphore) }
        )
        #expect(try await eventually { try status(indicator).state == .unavailable(reason: "no broker") })
        // Time passes until both failures are over.
        let isRunning = try await eventually {
            clock.advance(by: .seconds(1))
            return try status(indicator).state == .running
        }
        #expect(isRunning)
        for _ in 0..<100 { semaphore.signal() }
        await indicator.shutdown()
    }

    private struct BlockingLogHandler: LogHandler {
        let semaphore: DispatchSemaphore
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            semaphore.wait()
        }
    }

    @Test func `A backend that never returns from stop is given up`() async throws {
        let gate = Gate()
        let stuck = ScriptedBackend(onStop: { await gate.pass() })
        let manager = try manager(with: stuck)
        manager.start("a")
        #expect(await eventually { stuck.updates.count == 1 })
        try await expectShutdown(of: manager, takes: .seconds(2)) { gate.waiterCount == 1 }
        #expect(stuck.updates.map(\.isVisible) == [true, false])
        #expect(healthy.stopCount == 1)
        #expect(await eventually { messages(.warning).count == 1 })
        gate.open()
        #expect(try await eventually { try status(manager).state == .stopped })
    }

    @Test
    func `What waits is delivered before the stop`() async throws {
        let slow = ScriptedBackend(onUpdate: { _ in await Task.yield() })
        let manager = try manager(with: slow)
        for _ in 0..<30 {
            manager.start("a")
            manager.stop("a")
        }
        await manager.shutdown()
        #expect(slow.updates.flatMap(\.withTransitions).map(\.isVisible) == (0..<60).map { $0.isMultiple(of: 2) })
        #expect(slow.stopCount == 1)
    }

    @Test func `An animating backend gets the latest snapshot again while visible`() async throws {
        let spinner = ScriptedBackend(delivery: BackendDelivery(animationInterval: .milliseconds(100)))
        let manager = try manager(with: spinner)
        #expect(try await eventually { try status(manager).state == .running })
        manager.start("a")
        for count in 1...5 {
            let due = Duration.milliseconds(100 * count)
            #expect(await eventually { spinner.updates.count == count && clock.deadlines.contains(due) })
            clock.advance(by: .milliseconds(100))
        }
        #expect(await eventually { spinner.updates.count == 6 })
        manager.stop("a")
        #expect(await eventually { spinner.updates.last?.isVisible == false })
        let count = spinner.updates.count
        #expect(try await eventually { try status(manager).updatesDelivered == 2 })
        clock.advance(by: .seconds(10))
        #expect(await eventually { clock.deadlines.isEmpty })
        #expect(spinner.updates.count == count)
        await manager.shutdown()
    }

    @Test func `An idle indicator has no timers`() async throws {
        let backend = ScriptedBackend()
        let manager = try manager(with: backend)
        #expect(await eventually { manager.backendStatuses.allSatisfy { $0.state == .running } })
        #expect(await eventually { clock.deadlines.isEmpty })
        manager.start("a")
        #expect(await eventually { backend.updates.count == 1 && healthy.isVisible })
        #expect(await eventually { clock.deadlines.isEmpty })
        await manager.shutdown()
    }

    @Test func `Backends can be added and removed`() async throws {
        let first = ScriptedBackend(name: "first")
        let manager = try manager(with: first)
        #expect(!manager.addBackend(ScriptedBackend(name: "first")))
        manager.start("a")
        let late = InMemoryBackend(name: "late")
        #expect(manager.addBackend(late))
        #expect(await eventually { late.isVisible && first.updates.count == 1 })
        await manager.removeBackend(named: "first")
        await manager.removeBackend(named: "unknown")
        #expect(first.stopCount == 1)
        #expect(manager.backendStatuses.map(\.name) == ["healthy", "late"])
        #expect(manager.addBackend(ScriptedBackend(name: "first")))
        await manager.shutdown()
    }

    /// A removed backend continued to show the indicator if its `stop()` did not hide it.
    @Test func `A backend that is removed while visible is hidden first`() async throws {
        let backend = ScriptedBackend(name: "removed")
        let manager = try manager(with: backend)
        manager.start("a", label: "work")
        #expect(await eventually { backend.updates.count == 1 })
        await manager.removeBackend(named: "removed")
        #expect(backend.updates.map(\.isVisible) == [true, false])
        #expect(backend.stopCount == 1)
        #expect(manager.isVisible)
        await manager.shutdown()
    }

    @Test func `Adding a backend twice does not change it`() async throws {
        let backend = ScriptedBackend()
        let manager = try manager(with: backend)
        #expect(await eventually { backend.startCount == 1 })
        #expect(!manager.addBackend(backend))
        #expect(backend.attachCount == 1)
        backend.control?.setEnabled(false)
        #expect(!manager.isEnabled)
        await manager.shutdown()
        #expect(backend.startCount == 1)
    }

    /// There were 200 000 updates a second.
    @Test func `An animation without an interval is limited`() async throws {
        let spinner = ScriptedBackend(delivery: BackendDelivery(animationInterval: .zero))
        let manager = try manager(with: spinner)
        manager.start("a")
        #expect(await eventually { spinner.updates.count == 1 && clock.deadlines.contains(.milliseconds(10)) })
        clock.advance(by: .milliseconds(10))
        #expect(await eventually { spinner.updates.count == 2 && clock.deadlines.contains(.milliseconds(20)) })
        await manager.shutdown()
    }

    /// Counts its jobs.
    private final class CountingExecutor: TaskExecutor {
        let count = Atomic(0)

        func enqueue(_ job: consuming ExecutorJob) {
            count.wrappingAdd(1, ordering: .relaxed)
            let job = UnownedJob(job)
            DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// It had a job for each backend there, although a comment said that it uses none.
    @Test
    func `A shutdown waits without jobs on the executor of its caller`() async throws {
        let gate = Gate()
        let slow = (0..<5).map { ScriptedBackend(name: "slow \($0)", onStop: { await gate.pass() }) }
        let manager = try manager(with: slow)
        // One that has not started is not stopped.
        #expect(await eventually { slow.allSatisfy { $0.startCount == 1 } && healthy.startCount == 1 })
        let executor = CountingExecutor()
        let shutdown = Task(executorPreference: executor) { await manager.shutdown() }
        #expect(await eventually { gate.waiterCount == slow.count && healthy.stopCount == 1 })
        // The beginning of the task.
        #expect(executor.count.load(ordering: .relaxed) == 1)
        gate.open()
        await shutdown.value
    }

    /// Shuts down, and checks that it takes as long as `limit` on the virtual clock.
    ///
    /// - Parameters:
    ///   - manager: the indicator.
    ///   - limit: the expected duration.
    ///   - isStuck: whether the backends hang as expected; the clock is advanced when they do.
    private func expectShutdown(
        of manager: IndicatorManager,
        takes limit: Duration,
        once isStuck: @escaping () -> Bool = { true }
    ) async throws {
        let start = clock.now.offset
        let hasEnded = Locked(false)
        async let shutdown: Void = {
            await manager.shutdown()
            hasEnded.withLock { $0 = true }
        }()
        #expect(
            await eventually {
                // The healthy backend is finished last, so all limits have begun.
                isStuck() && clock.deadlines.min() == start + limit && manager.backendStatuses.last?.state == .stopped
            }
        )
        clock.advance(to: start + limit - .nanoseconds(1))
        #expect(!hasEnded.withLock { $0 })
        clock.advance(to: start + limit)
        await shutdown
    }
}
