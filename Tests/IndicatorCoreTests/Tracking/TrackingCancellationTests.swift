import Foundation
import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import TestSupport
import Testing

@Suite struct TrackingCancellationTests {
    private let tracker = ActivityTracker<Int>()

    @Test func aCancelledTaskEndsItsActivity() async {
        let stream = AsyncStream<Int>.makeStream()
        let task = Task { [tracker] in
            for await _ in stream.stream.trackActivity(in: tracker, value: 1) {}
        }
        #expect(await eventually { tracker.status.isLoading })
        task.cancel()
        await task.value
        #expect(!tracker.status.isLoading)
        stream.continuation.finish()
    }

    /// Waits for a gate, and ignores cancellation.
    private struct Stubborn: AsyncSequence, AsyncIteratorProtocol {
        let gate: Gate

        mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
            await gate.pass()
            return 1
        }

        func makeAsyncIterator() -> Self { self }
    }

    @Test func anActivityEndsWithTheTaskEvenIfTheBaseContinues() async {
        let recorder = StatusRecorder<Int>()
        tracker.subscribe(recorder)
        let gate = Gate()
        let task = Task { [tracker] in
            for await _ in Stubborn(gate: gate).trackActivity(in: tracker, value: { $0 + 1 }) {
                #expect(!tracker.status.isLoading)
                break
            }
        }
        #expect(await eventually { gate.waiterCount > 0 })
        #expect(tracker.status.isLoading)
        task.cancel()
        #expect(!tracker.status.isLoading)
        // Subscribers are notified without any further call.
        #expect(await eventually { recorder.statuses.map(\.isLoading) == [false, true, false] })
        gate.open()
        await task.value
        #expect(recorder.statuses.count == 3)
    }

    @Test func aTaskThatWasCancelledBeforeItBeganLeavesNothingOn() async {
        let gate = Gate()
        let task = Task { [tracker] in
            await gate.pass()
            var iterator = Elements(elements: [1, 2, 3]).trackActivity(in: tracker, value: 1).makeAsyncIterator()
            #expect(tracker.status.isLoading)
            #expect(await iterator.next() == 1)
            #expect(!tracker.status.isLoading)
            #expect(await iterator.next() == 2)
            #expect(!tracker.status.isLoading)
        }
        task.cancel()
        gate.open()
        await task.value
    }

    @Test func aCancelledFunctionEndsItsActivity() async {
        let clock = VirtualClock()
        let task = Task { [tracker] in
            try await tracker.withActivity(1) { try await clock.sleep(for: .seconds(1)) }
        }
        #expect(await eventually { clock.deadlines.count == 1 })
        #expect(tracker.status.isLoading)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!tracker.status.isLoading)
    }

    /// The runtime may hold a lock of the task while a cancellation handler runs. Subscribers may do anything, so they
    /// are notified elsewhere.
    @Test func subscribersAreNotNotifiedInTheCancellationHandler() async {
        let gate = Gate()
        let threads = Locked<[String?]>([])
        tracker.subscribe(StatusRecorder<Int> { _ in threads.withLock { $0.append(Thread.current.name) } })
        let task = Task { [tracker] in
            for await _ in Stubborn(gate: gate).trackActivity(in: tracker, value: 1) { break }
        }
        #expect(await eventually { gate.waiterCount > 0 })
        let thread = JoinableThread {
            Thread.current.name = "cancelling"
            task.cancel()
        }
        await thread.join()
        #expect(await eventually { threads.withLock { $0.count } == 3 })
        #expect(!threads.withLock { $0.contains("cancelling") })
        gate.open()
        await task.value
    }
}
