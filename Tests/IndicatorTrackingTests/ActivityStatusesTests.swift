import Synchronization
import TestSupport

@testable import IndicatorTracking

@Suite struct ActivityStatusesTests {
    @Test func `The first status is the current one, and an activity without a value has statuses, too`() async {
        let tracker = ActivityTracker<Int>()
        var iterator = tracker.statuses.makeAsyncIterator()
        #expect(await iterator.next() == ActivityStatus(isLoading: false))
        let activity = tracker.begin()
        #expect(await iterator.next() == ActivityStatus(isLoading: true))
        activity.update(2)
        #expect(await iterator.next() == ActivityStatus(isLoading: true, associatedValue: 2))
        activity.update(nil)
        #expect(await iterator.next() == ActivityStatus(isLoading: true))
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

    /// A reader of the status made each change a signal to a sequence that had not taken the one before.
    @Test func `A value is signalled again only after a sequence has taken it, whoever reads the status`() async {
        let tracker = ActivityTracker<Int>()
        let activity = tracker.begin(1)
        var iterator = tracker.statuses.makeAsyncIterator()
        func isSignalNeeded() -> Bool { tracker.core.state.withLock { $0.taken != 0 } }
        #expect(!isSignalNeeded())
        #expect(await iterator.next()?.associatedValue == 1)
        #expect(isSignalNeeded())
        activity.update(2)
        #expect(tracker.status.associatedValue == 2)
        #expect(!isSignalNeeded())
        #expect(await iterator.next()?.associatedValue == 2)
        #expect(isSignalNeeded())
    }

    @Test func `A subscription ends with its iterator, or with the sequence that nobody iterates`() async {
        let tracker = ActivityTracker<Int>()
        do {
            var iterator = tracker.statuses.makeAsyncIterator()
            _ = await iterator.next()
            #expect(tracker.subscriptionCount == 1)
        }
        #expect(await eventually { tracker.subscriptionCount == 0 })
        do {
            let statuses = tracker.statuses
            #expect(tracker.subscriptionCount == 1)
            withExtendedLifetime(statuses) {}
        }
        #expect(await eventually { tracker.subscriptionCount == 0 })
    }

    @Test(arguments: [true, false])
    func `A loop that waits ends with its task, or with the tracker`(isCancelled: Bool) async throws {
        var tracker: ActivityTracker<Int>? = ActivityTracker()
        let statuses = try #require(tracker?.statuses)
        let count = Locked(0)
        let hasEnded = Locked(false)
        let task = Task {
            for await _ in statuses { count.withLock { $0 += 1 } }
            hasEnded.withLock { $0 = true }
        }
        #expect(await eventually { count.withLock { $0 } == 1 })
        if isCancelled { task.cancel() } else { tracker = nil }
        #expect(await eventually { hasEnded.withLock { $0 } })
        tracker?.begin(1).end()
        #expect(count.withLock { $0 } == 1)
    }

    /// Each change put a job on the shared thread, and each status waited in a buffer without a limit.
    @Test func `A slow subscriber receives the latest status`() async {
        let tracker = ActivityTracker<CountedValue>()
        let sequences = (0..<3).map { _ in tracker.statuses }
        let barrier = DispatchSemaphore(value: 0)
        _ = ServiceThread.foreignCode.call(at: .min) { barrier.wait() }
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

    /// Whichever threads make the changes. Each subscriber may skip others.
    @Test func `Subscribers agree on the order, and receive no status twice in a row`() async {
        let tracker = ActivityTracker<Int>()
        let recorders = (0..<3).map { _ in StatusRecorder<Int>() }
        for recorder in recorders { tracker.subscribe(recorder) }
        // The first status is the one at that time.
        #expect(await eventually { recorders.allSatisfy { $0.statuses.count == 1 } })
        let activity = tracker.begin(0)
        let number = Locked(0)
        let isDone = Atomic(false)
        let threads = (0..<4).map { _ in
            JoinableThread {
                while !isDone.load(ordering: .relaxed) {
                    number.withLock { number in
                        number += 1
                        activity.update(number)
                    }
                }
            }
        }
        #expect(await eventually { recorders.allSatisfy { $0.statuses.count > 10 } })
        isDone.store(true, ordering: .relaxed)
        for thread in threads { await thread.join() }
        activity.end()
        #expect(await eventually { recorders.allSatisfy { $0.statuses.last?.isLoading == false } })
        for recorder in recorders {
            let numbers = recorder.statuses.compactMap(\.associatedValue)
            #expect(numbers == Set(numbers).sorted())
        }
    }
}

/// A value that counts how many of its kind exist.
private final class CountedValue: Sendable, Equatable {
    static let liveCount = Atomic(0)

    init() { Self.liveCount.wrappingAdd(1, ordering: .relaxed) }

    static func == (first: CountedValue, second: CountedValue) -> Bool { first === second }

    deinit { Self.liveCount.wrappingSubtract(1, ordering: .relaxed) }
}
