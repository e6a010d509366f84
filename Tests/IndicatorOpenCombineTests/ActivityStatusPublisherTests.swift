import Foundation
import IndicatorCore
import IndicatorOpenCombine
import IndicatorThreads
import IndicatorTracking
import OpenCombine
import TestSupport
import Testing

@Suite struct ActivityStatusPublisherTests {
    @Test func theFirstStatusIsTheCurrentOne() {
        let tracker = ActivityTracker<Int>()
        let activity = tracker.begin(1)
        var values: [Int?] = []
        let subscription = tracker.publisher.sink { values.append($0.associatedValue) }
        #expect(values == [1])
        activity.update(1)
        activity.update(2)
        activity.end()
        #expect(values == [1, 2, nil])
        withExtendedLifetime(subscription) {}
    }

    /// The statuses of a slow subscriber were kept without a limit.
    @Test func aSubscriberWithoutDemandReceivesTheLatestStatus() {
        let tracker = ActivityTracker<Int>()
        let publisher = tracker.publisher
        let slow = Puller<ActivityStatus<Int>, Never>(demand: .none)
        let fast = Puller<ActivityStatus<Int>, Never>(demand: .unlimited)
        publisher.subscribe(slow)
        publisher.subscribe(fast)
        var activity = tracker.begin(0)
        for number in 1..<200 { activity = tracker.begin(number) }
        #expect(fast.elements.count == 201)
        #expect(slow.elements.isEmpty)
        slow.subscription?.request(.max(3))
        #expect(slow.elements.map(\.associatedValue) == [199])
        activity.update(200)
        activity.update(201)
        activity.end()
        #expect(slow.elements.map(\.associatedValue) == [199, 200, 201])
        slow.subscription?.request(.unlimited)
        #expect(slow.elements.map(\.associatedValue) == [199, 200, 201, nil])
        #expect(fast.elements.last == slow.elements.last)
    }

    @Test func aSubscriberMayDemandMoreWithEachStatus() {
        let tracker = ActivityTracker<Int>()
        let subscriber = Puller<ActivityStatus<Int>, Never>(demand: .max(1), more: [.max(1), .max(1)])
        tracker.publisher.subscribe(subscriber)
        for number in 0..<5 { tracker.begin(number).end() }
        #expect(subscriber.elements.map(\.associatedValue) == [nil, 0, nil])
    }

    @Test func aSubscriptionFinishesWithTheTracker() {
        let subscriber = Puller<ActivityStatus<Int>, Never>(demand: .max(1))
        func subscribe() {
            let tracker = ActivityTracker<Int>()
            tracker.publisher.subscribe(subscriber)
            tracker.begin(1).end()
        }
        subscribe()
        // A status that was not demanded yet comes before the completion.
        #expect(subscriber.elements.count == 1)
        #expect(subscriber.completion == nil)
        subscriber.subscription?.request(.max(2))
        #expect(subscriber.elements.map(\.associatedValue) == [nil, nil])
        #expect(subscriber.completion == .finished)
    }

    @Test func aCancelledSubscriptionIsReleased() async {
        let tracker = ActivityTracker<Int>()
        weak var weakSubscriber: Puller<ActivityStatus<Int>, Never>?
        do {
            let subscriber = Puller<ActivityStatus<Int>, Never>(demand: .max(1))
            weakSubscriber = subscriber
            tracker.publisher.subscribe(subscriber)
            tracker.begin(1).end()
        }
        #expect(weakSubscriber?.elements.count == 1)
        weakSubscriber?.cancel()
        #expect(await eventually { weakSubscriber == nil })
    }

    /// The last status that a subscriber received may have the last reference to a value. Its `deinit` may resume a
    /// task, which must not happen in a cancellation handler: see `TrackedPublisherTests`.
    @Test func aValueIsNotReleasedByCancelling() async {
        final class Item: Sendable {
            let onRelease: @Sendable () -> Void

            init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

            deinit { onRelease() }
        }
        let threads = Locked<[String?]>([])
        // All are equal: nothing is delivered for the second one.
        let tracker = ActivityTracker<Item> { _, _ in true }
        let activity = tracker.begin(Item { threads.withLock { $0.append(Thread.current.name) } })
        let subscription = Locked(Unchecked(tracker.publisher.sink { _ in }))
        activity.update(Item {})
        #expect(threads.withLock { $0.isEmpty })
        let thread = JoinableThread {
            Thread.current.name = "cancelling"
            subscription.withLock { $0 }.value.cancel()
        }
        await thread.join()
        #expect(await eventually { threads.withLock { !$0.isEmpty } })
        #expect(threads.withLock { !$0.contains("cancelling") })
    }

    private struct Unchecked: @unchecked Sendable {
        // `@unchecked`: `AnyCancellable` may be cancelled on any thread.
        let value: AnyCancellable

        init(_ value: AnyCancellable) { self.value = value }
    }

    @Test func aSubscriberMayCancelWhileItReceives() {
        let tracker = ActivityTracker<Int>()
        var subscription: AnyCancellable?
        var values: [Int?] = []
        subscription = tracker.publisher.sink { status in
            values.append(status.associatedValue)
            if status.associatedValue == 2 { subscription?.cancel() }
        }
        for number in 1...3 { tracker.begin(number).end() }
        #expect(values == [nil, 1, nil, 2])
    }

    @Test func statusesAreDeliveredOnTheGivenScheduler() {
        let scheduler = VirtualScheduler()
        let tracker = ActivityTracker<Int>()
        var values: [Int?] = []
        let subscription = tracker.publisher(on: scheduler).sink { values.append($0.associatedValue) }
        let activity = tracker.begin(1)
        #expect(values.isEmpty)
        scheduler.run()
        #expect(values == [1])
        activity.update(2)
        activity.end()
        #expect(values.count == 1)
        scheduler.run()
        #expect(values == [1, nil])
        withExtendedLifetime(subscription) {}
    }

    /// Runs everything immediately, on any threads.
    private struct UnorderedScheduler: Scheduler {
        typealias SchedulerTimeType = VirtualScheduler.Time
        typealias SchedulerOptions = Never

        var now: SchedulerTimeType { SchedulerTimeType() }
        var minimumTolerance: SchedulerTimeType.Stride { .nanoseconds(0) }

        private struct Action: @unchecked Sendable {
            // `@unchecked`: created on one thread and run on another, never used on both.
            let run: () -> Void
        }

        func schedule(options: Never?, _ action: @escaping () -> Void) {
            let action = Action(run: action)
            DispatchQueue.global().async { action.run() }
        }

        func schedule(
            after date: SchedulerTimeType,
            tolerance: SchedulerTimeType.Stride,
            options: Never?,
            _ action: @escaping () -> Void
        ) {
            schedule(options: options, action)
        }

        func schedule(
            after date: SchedulerTimeType,
            interval: SchedulerTimeType.Stride,
            tolerance: SchedulerTimeType.Stride,
            options: Never?,
            _ action: @escaping () -> Void
        ) -> any Cancellable {
            schedule(options: options, action)
            return AnyCancellable {}
        }
    }

    @Test func theOrderIsKeptOnAnUnorderedScheduler() async {
        let tracker = ActivityTracker<Int>()
        let received = Locked<[Int?]>([])
        let calls = Locked((underWay: 0, overlapping: 0))
        let subscription = tracker.publisher(on: UnorderedScheduler()).sink { status in
            calls.withLock { calls in
                calls.underWay += 1
                if calls.underWay > 1 { calls.overlapping += 1 }
            }
            Thread.sleep(forTimeInterval: 0.000_01)
            received.withLock { $0.append(status.associatedValue) }
            calls.withLock { $0.underWay -= 1 }
        }
        let activity = tracker.begin(0)
        for number in 1...2000 { activity.update(number) }
        #expect(await eventually { received.withLock { $0.last } == 2000 })
        let numbers = received.withLock { $0.compactMap(\.self) }
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        #expect(calls.withLock { $0.overlapping } == 0)
        withExtendedLifetime(subscription) {}
    }
}
