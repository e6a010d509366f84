import Foundation
import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import Synchronization
import TestSupport
import Testing

@Suite("The tools for the tests of apps")
struct IndicatorTestingTests {
    @Test("do not lose a cancellation at the beginning of a wait for a snapshot")
    func cancelledWait() async throws {
        let backend = InMemoryBackend()
        // Keeps the backend's lock busy, on which a wait and its cancellation meet.
        let isDone = Atomic(false)
        let reader = JoinableThread {
            while !isDone.load(ordering: .relaxed) { _ = backend.startCount }
        }
        let ended = Locked(0)
        let count = 2000
        for _ in 0..<count {
            let task = Task { @Sendable in
                #expect(await backend.first { _ in false } == nil)
                ended.withLock { $0 += 1 }
            }
            usleep(.random(in: 0..<100))
            Thread.detachNewThread { task.cancel() }
        }
        #expect(await eventually { ended.withLock { $0 } == count })
        isDone.store(true, ordering: .relaxed)
        await reader.join()
    }

    @Test("end a sleep when its task is cancelled before or during it")
    func cancelledSleep() async {
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
