import Dispatch
import IndicatorCore
import IndicatorThreads
import IndicatorTracking
import Synchronization
import TestSupport
import Testing

@Suite struct ActivityStatusesTests {
    @Test func `The first status is the current one`() async {
        let tracker = ActivityTracker<Int>()
        let activity = tracker.begin(1)
        var iterator = tracker.statuses.makeAsyncIterator()
        #expect(await iterator.next() == ActivityStatus(isLoading: true, associatedValue: 1))
        activity.update(2)
        #expect(await iterator.next() == ActivityStatus(isLoading: true, associatedValue: 2))
        activity.end()
        #expect(await iterator.next() == ActivityStatus(isLoading: false))
    }

    @Test func `The sequence ends with the tracker`() async {
        func subscribe() -> AsyncStream<ActivityStatus<Int>> {
            let tracker = ActivityTracker<Int>()
            let statuses = tracker.statuses
            tracker.begin(1).end()
            return statuses
        }
        let statuses = subscribe()
        var last: ActivityStatus<Int>?
        for await status in statuses { last = status }
        #expect(last == ActivityStatus(isLoading: false))
        for await _ in statuses { Issue.record("The tracker has been deallocated.") }
    }

    @Test
    func `A subscription ends with its iterator, or with the sequence that nobody iterates`() async {
        let comparisons = Atomic(0)
        let tracker = ActivityTracker<Int> { old, new in
            comparisons.wrappingAdd(1, ordering: .relaxed)
            return old == new
        }
        let activity = tracker.begin(0)
        var probe = tracker.statuses.makeAsyncIterator()
        /// How many subscribers compare a value with the one before, when one more does.
        func subscriberCount() async -> Int {
            let before = comparisons.load(ordering: .relaxed)
            let number = (tracker.status.associatedValue ?? 0) + 1
            activity.update(number)
            while let status = await probe.next(), status.associatedValue != number {}
            return comparisons.load(ordering: .relaxed) - before
        }
        // The first one to be called, so that the count of another one may come later.
        func expect(_ count: Int) async -> Bool { await eventually { await subscriberCount() == count } }
        do {
            var iterator = tracker.statuses.makeAsyncIterator()
            _ = await iterator.next()
            #expect(await expect(2))
        }
        #expect(await expect(1))
        do {
            let statuses = tracker.statuses
            #expect(await expect(2))
            withExtendedLifetime(statuses) {}
        }
        #expect(await expect(1))
    }

    @Test func `The subscription ends with its task`() async {
        let tracker = ActivityTracker<Int>()
        let count = Locked(0)
        let task = Task { [statuses = tracker.statuses] in
            for await _ in statuses { count.withLock { $0 += 1 } }
        }
        #expect(await eventually { count.withLock { $0 } == 1 })
        task.cancel()
        await task.value
        tracker.begin(1).end()
        #expect(count.withLock { $0 } == 1)
    }

    /// Each change put a job on the shared thread, and each status waited in a buffer without a limit.
    @Test func `A slow subscriber receives the latest status`() async {
        let tracker = ActivityTracker<CountedValue>()
        let sequences = (0..<3).map { _ in tracker.statuses }
        let barrier = DispatchSemaphore(value: 0)
        _ = ServiceThread.forCallersCode.call(at: .min) { barrier.wait() }
        for _ in 0..<1000 { tracker.begin(CountedValue()).end() }
        let last = CountedValue()
        let activity = tracker.begin(last)
        // The latest one, and none for a subscriber.
        #expect(CountedValue.liveCount.load(ordering: .relaxed) < 10)
        barrier.signal()
        for sequence in sequences {
            var iterator = sequence.makeAsyncIterator()
            while let status = await iterator.next(), status.associatedValue != last {}
        }
        activity.end()
    }

    /// All receive the same order, whichever threads make the changes, and no status twice in a row.
    @Test func `Subscribers agree on the order`() async {
        let tracker = ActivityTracker<Int>()
        let recorders = (0..<3).map { _ in StatusRecorder<Int>() }
        for recorder in recorders { tracker.subscribe(recorder) }
        // The first status is the one at that time.
        #expect(await eventually { recorders.allSatisfy { $0.statuses.count == 1 } })
        let threads = (0..<4).map { thread in
            JoinableThread {
                for round in 0..<500 {
                    let activity = tracker.begin(thread * 1000 + round)
                    activity.update(thread * 1000 + round / 7)
                }
            }
        }
        for thread in threads { await thread.join() }
        let last = tracker.begin(-1)
        #expect(await eventually { recorders.allSatisfy { $0.statuses.last?.associatedValue == -1 } })
        last.end()
        #expect(await eventually { recorders.allSatisfy { $0.statuses.last?.isLoading == false } })
        let statuses = recorders[0].statuses
        // The number depends on the interleaving: an activity that begins and ends during another one may not appear.
        #expect(statuses.count > 2)
        #expect(statuses.last == ActivityStatus(isLoading: false))
        #expect(zip(statuses, statuses.dropFirst()).allSatisfy { $0 != $1 })
        #expect(recorders.allSatisfy { $0.statuses == statuses })
    }
}

/// A value that counts how many of its kind exist.
private final class CountedValue: Sendable, Equatable {
    static let liveCount = Atomic(0)

    init() { Self.liveCount.wrappingAdd(1, ordering: .relaxed) }

    static func == (first: CountedValue, second: CountedValue) -> Bool { first === second }

    deinit { Self.liveCount.wrappingSubtract(1, ordering: .relaxed) }
}
