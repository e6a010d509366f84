import IndicatorCore
import IndicatorThreads
import TestSupport
import Testing

@Suite struct ActivityStatusesTests {
    @Test func theFirstStatusIsTheCurrentOne() async {
        let tracker = ActivityTracker<Int>()
        let activity = tracker.begin(1)
        let statuses = tracker.statuses
        activity.update(2)
        activity.end()
        var iterator = statuses.makeAsyncIterator()
        #expect(await iterator.next() == ActivityStatus(isLoading: true, associatedValue: 1))
        #expect(await iterator.next() == ActivityStatus(isLoading: true, associatedValue: 2))
        #expect(await iterator.next() == ActivityStatus(isLoading: false))
    }

    @Test func theSequenceEndsWithTheTracker() async {
        func subscribe() -> AsyncStream<ActivityStatus<Int>> {
            let tracker = ActivityTracker<Int>()
            let statuses = tracker.statuses
            tracker.begin(1).end()
            return statuses
        }
        let statuses = subscribe()
        var values: [Int?] = []
        for await status in statuses { values.append(status.associatedValue) }
        #expect(values == [nil, 1, nil])
        for await _ in statuses { Issue.record("The tracker has been deallocated.") }
    }

    @Test func theSubscriptionEndsWithItsIterator() async {
        let comparisons = Locked(0)
        let tracker = ActivityTracker<Int> { old, new in
            comparisons.withLock { $0 += 1 }
            return old == new
        }
        func change() -> Int {
            let activity = tracker.begin(1)
            activity.update(2)
            activity.end()
            defer { comparisons.withLock { $0 = 0 } }
            return comparisons.withLock { $0 }
        }
        do {
            var iterator = tracker.statuses.makeAsyncIterator()
            _ = await iterator.next()
            #expect(change() == 1)
        }
        do {
            let statuses = tracker.statuses
            #expect(await eventually { change() == 1 })
            withExtendedLifetime(statuses) {}
        }
        // Values are compared for subscribers only, so none is left.
        #expect(await eventually { change() == 0 })
    }

    @Test func theSubscriptionEndsWithItsTask() async {
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

    /// The buffer has no limit, so a slow subscriber misses nothing.
    @Test func everySubscriberReceivesEveryStatus() async {
        let tracker = ActivityTracker<Int>()
        let sequences = (0..<3).map { _ in tracker.statuses }
        for number in 0..<10_000 { tracker.begin(number).end() }
        for sequence in sequences {
            var iterator = sequence.makeAsyncIterator()
            #expect(await iterator.next() == ActivityStatus(isLoading: false))
            for number in 0..<10_000 {
                guard
                    await iterator.next() == ActivityStatus(isLoading: true, associatedValue: number),
                    await iterator.next() == ActivityStatus(isLoading: false)
                else {
                    Issue.record("The status of \(number) is missing.")
                    break
                }
            }
        }
    }

    /// All receive the same order, whichever threads make the changes, and no status twice in a row.
    @Test func subscribersAgreeOnTheOrder() async {
        let tracker = ActivityTracker<Int>()
        let recorders = (0..<3).map { _ in StatusRecorder<Int>() }
        for recorder in recorders { tracker.subscribe(recorder) }
        let threads = (0..<4).map { thread in
            JoinableThread {
                for round in 0..<500 {
                    let activity = tracker.begin(thread * 1000 + round)
                    activity.update(thread * 1000 + round / 7)
                }
            }
        }
        for thread in threads { await thread.join() }
        let statuses = recorders[0].statuses
        // The number depends on the interleaving: an activity that begins and ends during another one may not appear.
        #expect(statuses.count > 2)
        #expect(statuses.last == ActivityStatus(isLoading: false))
        #expect(zip(statuses, statuses.dropFirst()).allSatisfy { $0 != $1 })
        #expect(recorders.allSatisfy { $0.statuses == statuses })
    }
}
