import Foundation
import IndicatorCore
import IndicatorOpenCombine
import IndicatorThreads
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

    @Test func everySubscriberReceivesEveryStatusAtItsOwnPace() {
        let tracker = ActivityTracker<Int>()
        let publisher = tracker.publisher
        let slow = Puller<ActivityStatus<Int>, Never>(demand: .none)
        let fast = Puller<ActivityStatus<Int>, Never>(demand: .unlimited)
        publisher.subscribe(slow)
        publisher.subscribe(fast)
        for number in 0..<200 { tracker.begin(number).end() }
        #expect(fast.elements.count == 401)
        #expect(slow.elements.isEmpty)
        slow.subscription?.request(.max(3))
        #expect(slow.elements.map(\.associatedValue) == [nil, 0, nil])
        slow.subscription?.request(.max(300))
        #expect(slow.elements == Array(fast.elements.prefix(303)))
        slow.subscription?.request(.unlimited)
        #expect(slow.elements == fast.elements)
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
        // Statuses that were not demanded yet come before the completion.
        #expect(subscriber.elements.count == 1)
        #expect(subscriber.completion == nil)
        subscriber.subscription?.request(.max(2))
        #expect(subscriber.elements.map(\.associatedValue) == [nil, 1, nil])
        #expect(subscriber.completion == .finished)
    }

    @Test func aCancelledSubscriptionIsReleased() {
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
        #expect(weakSubscriber == nil)
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
        tracker.begin(1).end()
        #expect(values.isEmpty)
        scheduler.run()
        #expect(values == [nil, 1, nil])
        tracker.begin(2).end()
        #expect(values.count == 3)
        scheduler.run()
        #expect(values == [nil, 1, nil, 2, nil])
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
        for number in 0..<2000 { tracker.begin(number).end() }
        #expect(await eventually { received.withLock { $0.count } == 4001 })
        #expect(received.withLock { $0.compactMap(\.self) } == Array(0..<2000))
        #expect(calls.withLock { $0.overlapping } == 0)
        withExtendedLifetime(subscription) {}
    }
}
