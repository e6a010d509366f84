import Synchronization
import TestSupport

@Suite("The tools for the tests of apps")
struct IndicatorTestingTests {
    @Test func `do not lose a cancellation at the beginning of a wait for a snapshot`() async throws {
        let backend = InMemoryBackend()
        // Keeps the backend's lock busy, on which a wait and its cancellation meet.
        let isDone = Atomic(false)
        let reader = JoinableThread {
            while !isDone.load(ordering: .relaxed) { _ = backend.startCount }
        }
        let ended = Locked(0)
        let count = 2000
        for round in 0..<count {
            let task = Task { @Sendable in
                #expect(await backend.first { _ in false } == nil)
                ended.withLock { $0 += 1 }
            }
            usleep(UInt32(round % 100))
            Thread.detachNewThread { task.cancel() }
        }
        #expect(await eventually { ended.withLock { $0 } == count })
        isDone.store(true, ordering: .relaxed)
        await reader.join()
    }

    /// A backend of an app that animates.
    private final class Spinner: IndicatorBackend {
        let name = "spinner"
        let delivery = BackendDelivery(animationInterval: .milliseconds(100))
        let frames = Mutex<[String]>([])

        func show(_ updates: IndicatorUpdates) async {
            for await update in updates where update.snapshot.isVisible {
                let frame = "\(updates.control.now) \(update.snapshot.label ?? "")"
                frames.withLock { $0.append(frame + (update.isRepetition ? " again" : "")) }
            }
        }
    }

    @Test
    func `let a backend that animates tell a repetition from a change, and read the virtual clock`() async throws {
        let clock = VirtualClock()
        let spinner = Spinner()
        let delays = IndicatorDelays.noStart
        let indicator = IndicatorManager(delays: delays, backends: [spinner], clock: clock)
        indicator.start("a", label: "A")
        // The animation may be scheduled before the backend has read the clock.
        await clock.advance(by: .zero, settling: indicator)
        #expect(await eventually { clock.deadlines.contains(.milliseconds(100)) })
        await clock.advance(by: .milliseconds(100), settling: indicator)
        #expect(spinner.frames.withLock { $0 } == ["0.0 seconds A", "0.1 seconds A again"])
        await indicator.shutdown()
    }

    @Test
    func `advance the clock, and return when the indicator and its backends have done what was due`() async throws {
        let clock = VirtualClock()
        let (backend, curious) = (
            InMemoryBackend(), InMemoryBackend(name: "curious", delivery: .init(includesHidden: true))
        )
        clock.advance(by: .seconds(7))
        let indicator = IndicatorManager(backends: [backend], clock: clock)
        for _ in 0..<20 {
            let count = backend.snapshots.count
            indicator.start("a", label: "Uploading")
            await clock.advance(by: .milliseconds(999), settling: indicator)
            #expect(!indicator.isVisible && backend.snapshots.count == count)
            await clock.advance(by: .milliseconds(1), settling: indicator)
            #expect(indicator.isVisible && backend.snapshots.last?.label == "Uploading")
            // One that is late is decided at its own time.
            indicator.stop("a")
            await clock.advance(by: .seconds(60), settling: indicator)
            #expect(!backend.isVisible && backend.snapshots.count == count + 2)
        }
        indicator.addBackend(curious)
        await clock.advance(by: .zero, settling: indicator)
        #expect(curious.startCount == 1 && curious.snapshots.count == 1)
        await indicator.shutdown()
    }

    @Test func `check the lifetimes of objects when the clock is advanced`() async {
        final class Operation: Sendable {}
        let clock = VirtualClock()
        let indicator = IndicatorManager(clock: clock)
        do {
            let operation = Operation()
            indicator.track(operation)
            await clock.advance(by: .seconds(3), settling: indicator)
            #expect(indicator.isVisible)
            withExtendedLifetime(operation) {}
        }
        await clock.advance(by: .seconds(1.5), settling: indicator)
        #expect(indicator.activityCount == 0 && !indicator.isVisible)
    }

    @Test func `end a sleep when its task is cancelled before or during it`() async {
        let clock = VirtualClock()
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(until: .init(offset: .seconds(1)))
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        let late = Task { try await clock.sleep(until: .init(offset: .seconds(1))) }
        #expect(await eventually { clock.deadlines == [.seconds(1)] })
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(clock.deadlines.isEmpty)
    }
}
