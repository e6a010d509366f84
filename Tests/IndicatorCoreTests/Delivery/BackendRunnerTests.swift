import InMemoryLogging
@testable import IndicatorCore
import Synchronization
import TestSupport

@Suite(.timeLimit(.minutes(10))) struct BackendRunnerTests {
    private let clock = VirtualClock()
    private let healthy = InMemoryBackend(name: "healthy")
    private let log = InMemoryLogHandler()

    /// The healthy backend is the last one, which is finished last.
    private func manager(with backends: any IndicatorBackend...) -> IndicatorManager { manager(with: backends) }

    private func manager(with backends: [any IndicatorBackend]) -> IndicatorManager {
        var logger = Logger(label: "test") { [log] _ in log }
        logger.logLevel = .debug
        return IndicatorManager(delays: .zero, backends: backends + [healthy], clock: clock, logger: logger)
    }

    private func messages(_ level: Logger.Level) -> [String] {
        log.entries.filter { $0.level == level }.map { "\($0.message)" }
    }

    private func status(_ manager: IndicatorManager) throws -> BackendStatus {
        try #require(manager.backendStatuses.first)
    }

    @Test("A busy backend blocks no other; what was shown and hidden rides along: the last 64, and how many more")
    func transitions() async throws {
        let gate = Gate()
        let slow = ScriptedBackend(onUpdate: { _ in await gate.pass() })
        let manager = manager(with: slow)
        manager.start("a", label: "0")
        #expect(await eventually { gate.waiterCount == 1 })
        for number in 1...50 {
            manager.stop("a")
            manager.start("a", label: "\(number)")
        }
        // How many of them it gets one by one depends on the load.
        #expect(await eventually { healthy.snapshots.last?.label == "50" })
        #expect(slow.updates.count == 1)
        gate.open()
        #expect(await eventually { slow.updates.count == 2 })
        let last = try #require(slow.updates.last)
        #expect(last.snapshot.label == "50" && last.omittedTransitions == 99 - 64)
        #expect(last.transitions.map(\.isVisible) == (0..<64).map { $0.isMultiple(of: 2) })
        #expect(last.transitions.compactMap(\.label) == (18...49).map { "\($0)" })
        // None is reported twice, and all that ended are.
        #expect(last.finished.map(\.label) == (0..<50).map { "\($0)" })
        let delivered = BackendStatus(name: "scripted", state: .running, updatesDelivered: 2)
        #expect(try await eventually { try status(manager) == delivered })
        await manager.shutdown()
        #expect(slow.updates.last?.transitions == [])
    }

    @Test func `A backend that throws at start is tried again, and recovers`() async throws {
        let reason = "no surface; plug one in"
        let flaky = ScriptedBackend(onStart: { if $0 == 1 { throw ScriptedBackend.Failure(description: reason) } })
        let manager = manager(with: flaky)
        manager.start("a", label: "work")
        #expect(await eventually { messages(.debug).count == 1 })
        #expect(try status(manager).state == .unavailable(reason: reason))
        // A call that is under way when the clock jumps would count as stalled.
        #expect(await eventually { manager.backendStatuses.last?.updatesDelivered == 1 })
        clock.advance(by: .seconds(1) - .nanoseconds(1))
        #expect(flaky.startCount == 1)
        clock.advance(by: .nanoseconds(1))
        #expect(await eventually { flaky.snapshots.map(\.label) == ["work"] })
        #expect(try await eventually { try status(manager).state == .running })
        #expect(try status(manager).lastError == reason)
        #expect(await eventually { messages(.notice).count == 1 })
        #expect(messages(.warning).count == 1)
        #expect(messages(.warning).first?.hasSuffix(reason) == true)
        #expect(healthy.isVisible)
        await manager.shutdown()
    }

    @Test func `A backend that never returns from an update is stalled and given up`() async throws {
        let gate = Gate()
        let stuck = ScriptedBackend(delivery: BackendDelivery(target: "/mnt/x"), onUpdate: { _ in await gate.pass() })
        let manager = manager(with: stuck)
        manager.start("a")
        #expect(await eventually { gate.waiterCount == 1 && clock.deadlines.contains(.seconds(5)) })
        #expect(try status(manager).state == .running)
        #expect(await eventually { manager.backendStatuses.last?.updatesDelivered == 1 })
        clock.advance(by: .seconds(5))
        #expect(try await eventually { try status(manager).state == .stalled })
        let warning = "The backend 'scripted' has not shown an update (/mnt/x) for 5.0 seconds."
        #expect(await eventually { messages(.warning) == [warning] })
        manager.stop("a")
        #expect(await eventually { healthy.snapshots.count == 2 })
        await manager.shutdown(timeLimit: .milliseconds(10))
        #expect(stuck.stopCount == 0)
        #expect(try status(manager).lost == 1)
        // If it returns later, it is stopped, so that its surface is restored.
        gate.open()
        #expect(await eventually { stuck.stopCount == 1 && healthy.stopCount == 1 })
        #expect(try await eventually { try status(manager).state == .stopped })
        #expect(stuck.updates.count == 1)
    }

    @Test func `A backend that blocks its thread forever blocks nothing else`() async throws {
        let semaphore = DispatchSemaphore(value: 0)
        let blocked = (0..<8).map { number in
            ScriptedBackend(name: "blocked \(number)", onUpdate: { _ in Self.block(semaphore) })
        }
        let manager = manager(with: blocked)
        manager.start("a")
        #expect(await eventually { blocked.allSatisfy { $0.updates.count == 1 } })
        #expect(await eventually { healthy.isVisible })
        await manager.shutdown(timeLimit: .milliseconds(10))
        for _ in blocked { semaphore.signal() }
        #expect(await eventually { blocked.allSatisfy { $0.stopCount == 1 } })
    }

    private static func block(_ semaphore: DispatchSemaphore) { semaphore.wait() }

    /// The backend's thread waited until its error was logged: a stopped terminal kept it from being tried again.
    @Test func `A backend is tried again while the log handler blocks`() async throws {
        let semaphore = DispatchSemaphore(value: 0)
        let flaky = ScriptedBackend(onStart: { number in
            if number < 3 { throw ScriptedBackend.Failure(description: "no broker") }
        })
        let indicator = IndicatorManager(
            backends: [flaky],
            clock: clock,
            logger: Logger(label: "test") { _ in FunctionLogHandler { _ in semaphore.wait() } }
        )
        #expect(try await eventually { try status(indicator).state == .unavailable(reason: "no broker") })
        // Time passes until both failures are over.
        try await expectEventually {
            clock.advance(by: .seconds(1))
            return try status(indicator).state == .running
        }
        for _ in 0..<100 { semaphore.signal() }
        await indicator.shutdown()
    }

    private struct FunctionLogHandler: LogHandler {
        let onEvent: @Sendable (LogEvent) -> Void
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { onEvent(event) }
    }

    @Test func `An idle indicator has no timers`() async throws {
        let backend = ScriptedBackend()
        let manager = manager(with: backend)
        #expect(await eventually { manager.backendStatuses.allSatisfy { $0.state == .running } })
        #expect(await eventually { clock.deadlines.isEmpty })
        manager.start("a")
        #expect(await eventually { backend.updates.count == 1 && healthy.isVisible })
        #expect(await eventually { clock.deadlines.isEmpty })
        await manager.shutdown()
    }

    @Test func `Backends can be added and removed`() async throws {
        let first = ScriptedBackend(name: "first")
        let manager = manager(with: first)
        #expect(await eventually { first.startCount == 1 })
        for backend in [first, ScriptedBackend(name: "first")] { #expect(!manager.addBackend(backend)) }
        first.control?.isEnabled = false
        #expect(!manager.isEnabled)
        manager.isEnabled = true
        manager.start("a")
        let late = InMemoryBackend(name: "late")
        #expect(manager.addBackend(late))
        #expect(await eventually { late.isVisible && first.updates.count == 1 })
        await manager.removeBackend(named: "first")
        await manager.removeBackend(named: "unknown")
        #expect(first.startCount == 1 && first.stopCount == 1)
        #expect(manager.backendStatuses.map(\.name) == ["healthy", "late"])
        #expect(manager.addBackend(ScriptedBackend(name: "first")))
        await manager.shutdown()
    }

    /// A removed backend continued to show the indicator if its `stop()` did not hide it.
    @Test func `A backend that is removed while visible is hidden first`() async throws {
        let backend = ScriptedBackend(name: "removed")
        let manager = manager(with: backend)
        manager.start("a", label: "work")
        #expect(await eventually { backend.updates.count == 1 })
        clock.advance(by: .seconds(5))
        await manager.removeBackend(named: "removed")
        #expect(backend.snapshots.map(\.isVisible) == [true, false])
        let times = backend.snapshots.map(\.since)
        #expect(times[1].timeIntervalSince(times[0]).rounded() == 5)
        #expect(backend.stopCount == 1)
        #expect(manager.isVisible)
        await manager.shutdown()
    }

    /// It had a job for each backend there, although a comment said that it uses none.
    @Test func `A shutdown waits without jobs on the executor of its caller`() async throws {
        let gate = Gate()
        let slow = (0..<5).map { ScriptedBackend(name: "slow \($0)", onStop: { await gate.pass() }) }
        let manager = manager(with: slow)
        // One that has not started is not stopped.
        #expect(await eventually { slow.allSatisfy { $0.startCount == 1 } && healthy.startCount == 1 })
        let jobs = Atomic(0)
        let executor = ObservedExecutor { jobs.wrappingAdd(1, ordering: .relaxed) }
        let shutdown = Task(executorPreference: executor) { await manager.shutdown(timeLimit: .seconds(600)) }
        #expect(await eventually { gate.waiterCount == slow.count && healthy.stopCount == 1 })
        // The beginning of the task.
        #expect(jobs.load(ordering: .relaxed) == 1)
        gate.open()
        await shutdown.value
    }

    /// With an injected clock that stands, a removal never returned, and a shutdown took six seconds.
    @Test(arguments: [(true, true), (false, true), (false, false)])
    func `The time limit of an end is real`(isRemoved: Bool, atStart: Bool) async throws {
        let gate = Gate()
        let stuck = ScriptedBackend(
            onStart: { _ in if atStart { await gate.pass() } },
            onStop: { if !atStart { await gate.pass() } }
        )
        let manager = manager(with: stuck)
        #expect(await eventually { stuck.startCount == 1 && gate.waiterCount == (atStart ? 1 : 0) })
        if isRemoved {
            await manager.removeBackend(named: stuck.name, timeLimit: .milliseconds(10))
        } else {
            await manager.shutdown(timeLimit: .milliseconds(10))
        }
        // On a busy machine, the healthy one may take longer, too.
        let warning = "The backend 'scripted' did not stop in time and was given up."
        #expect(await eventually { messages(.warning).count { $0 == warning } == 1 })
        #expect(await eventually { stuck.stopCount == (atStart ? 0 : 1) })
        gate.open()
        if !isRemoved { #expect(try await eventually { try status(manager).state == .stopped }) }
        await manager.shutdown()
    }

    enum Fault: CaseIterable { case unavailable, failing, hanging }

    /// They were lost without a word.
    @Test(arguments: Fault.allCases) func `What is lost at the end is counted`(_ fault: Fault) async throws {
        let gate = Gate()
        let faulty = ScriptedBackend(
            delivery: BackendDelivery(includesHidden: true),
            onStart: { _ in if fault == .unavailable { throw ScriptedBackend.Failure(description: "no disk") } },
            onUpdate: { update in
                guard update.snapshot.activityCount > 0 || !update.finished.isEmpty else { return }
                if fault == .hanging { await gate.pass() }
                throw ScriptedBackend.Failure(description: "the disk is full")
            }
        )
        let manager = manager(with: faulty)
        for number in 0..<100 { manager.begin("\(number)").end(.failed("no space")) }
        await manager.shutdown(timeLimit: .milliseconds(10))
        let status = try status(manager)
        // A hundred ends and showings; what hangs may have been told of the first ones.
        #expect(status.lost == 200)
        let text = "The backend 'scripted' has ended before it could show 100 ended activities and 100 showings."
        #expect(await eventually { messages(.warning).count { $0 == text } == 1 })
        gate.open()
    }

    /// What a backend waits for beside updates.
    private final class Listener: IndicatorBackend {
        enum Heard: Equatable { case update(Bool), ready, due }

        let name = "listener"
        let delivery = BackendDelivery(includesHidden: true)
        let (descriptor, writable): (Int32, Int32)
        let heard = Locked<[Heard]>([])
        let updates = Locked<IndicatorUpdates?>(nil)

        init(_ pipe: [Int32]) { (descriptor, writable) = (pipe[0], pipe[1]) }

        func show(_ updates: IndicatorUpdates) async throws {
            self.updates.withLock { $0 = updates }
            // Before it asks, it gets no update.
            _ = await updates.wait(until: .now)
            heard.withLock { $0.append(.due) }
            // A deadline that has passed hides no descriptor.
            if case .ready? = await updates.wait(orWritable: [writable], until: .now - .seconds(1)) {
                heard.withLock { $0.append(.ready) }
            }
            while let event = await updates.next(orReadable: [descriptor]) {
                switch event {
                case .update(let update): heard.withLock { $0.append(.update(update.snapshot.isVisible)) }
                case .ready:
                    var byte = UInt8(0)
                    read(descriptor, &byte, 1)
                    heard.withLock { $0.append(.ready) }
                case .due: heard.withLock { $0.append(.due) }
                }
            }
        }
    }

    @Test func `A backend waits for updates, descriptors and other threads`() async throws {
        var pipe: [Int32] = [0, 0]
        #expect(Foundation.pipe(&pipe) == 0)
        let listener = Listener(pipe)
        let manager = manager(with: listener)
        #expect(await eventually { listener.heard.withLock { $0 } == [.due, .ready, .update(false)] })
        write(pipe[1], "x", 1)
        #expect(await eventually { listener.heard.withLock { $0.last } == .ready })
        manager.start("a")
        #expect(await eventually { listener.heard.withLock { $0.last } == .update(true) })
        listener.updates.withLock { $0 }?.wake()
        #expect(await eventually { listener.heard.withLock { $0.last } == .due })
        #expect(try status(manager).updatesDelivered == 2)
        await manager.shutdown()
        let heard = listener.heard.withLock(\.self)
        #expect(heard == [.due, .ready, .update(false), .ready, .update(true), .due, .update(false)])
        for descriptor in pipe { close(descriptor) }
    }

    @Test(arguments: [true, false]) func `Only a log handler of standard streams waits for them`(isOfStream: Bool) {
        let other = FunctionLogHandler { _ in }
        let stream = StreamLogHandler.standardError(label: "test")
        let handler = isOfStream ? MultiplexLogHandler([other, stream]) : MultiplexLogHandler([other])
        #expect(BackgroundLogHandler.usesStandardStreams(Logger(label: "test") { _ in handler }) == isOfStream)
        // Another thread may change what an object has.
        final class Object { let handler = StreamLogHandler.standardError(label: "test") }
        #expect(!BackgroundLogHandler.usesStandardStreams([Object()]))
    }
}
