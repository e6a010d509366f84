import IndicatorOpenCombine
import IndicatorTracking
import OpenCombine
import TestSupport

@Suite struct ActivityStatusPublisherTests {
    /// The statuses of a slow subscriber were kept without a limit.
    @Test func `A slow subscriber gets the latest status when it demands one, also more with each status`() async {
        let tracker = ActivityTracker<Int>()
        let slow = Puller<ActivityStatus<Int>, Never>(demand: .none, more: [.max(1), .max(1)])
        let fast = Puller<ActivityStatus<Int>, Never>(demand: .unlimited)
        tracker.publisher.subscribe(slow)
        tracker.publisher.subscribe(fast)
        #expect(await fast.receives(1))
        let activity = tracker.begin(0)
        for number in 1..<200 { activity.update(number) }
        #expect(await eventually { fast.elements.last?.associatedValue == 199 })
        #expect(slow.elements.isEmpty)
        slow.subscription?.request(.max(1))
        for number in 1...3 {
            #expect(await slow.receives(number))
            if number < 3 { activity.update(199 + number) }
        }
        activity.end()
        #expect(await eventually { fast.elements.last?.isLoading == false })
        #expect(slow.elements.map(\.associatedValue) == [199, 200, 201])
        slow.subscription?.request(.unlimited)
        #expect(await slow.receives(4))
        #expect(fast.elements.last == slow.elements.last)
        slow.cancel()
        fast.cancel()
    }

    @Test func `A subscription finishes with the tracker, after the last status`() async {
        let subscriber = Puller<ActivityStatus<Int>, Never>(demand: .max(1))
        func subscribe() async {
            let tracker = ActivityTracker<Int>()
            let activity = tracker.begin(1)
            tracker.publisher.subscribe(subscriber)
            #expect(await subscriber.receives(1))
            activity.end()
        }
        await subscribe()
        #expect(subscriber.completion == nil)
        subscriber.subscription?.request(.max(2))
        #expect(await eventually { subscriber.completion == .finished })
        #expect(subscriber.elements.map(\.associatedValue) == [1, nil])
    }

    @Test func `A cancelled subscription is released`() async {
        let tracker = ActivityTracker<Int>()
        weak var weakSubscriber: Puller<ActivityStatus<Int>, Never>?
        do {
            let subscriber = Puller<ActivityStatus<Int>, Never>(demand: .max(1))
            weakSubscriber = subscriber
            tracker.publisher.subscribe(subscriber)
            #expect(await subscriber.receives(1))
            tracker.begin(1).end()
        }
        #expect(weakSubscriber?.elements.count == 1)
        weakSubscriber?.cancel()
        #expect(await eventually { weakSubscriber == nil })
    }

    /// The last status that a subscriber received may have the last reference to a value. Its `deinit` may resume a
    /// task, which must not happen in a cancellation handler: see `TrackedPublisherTests`.
    @Test func `A value is not released by cancelling`() async {
        // All are equal: nothing is delivered for the second one.
        let tracker = ActivityTracker<Token> { _, _ in true }
        let activity = tracker.begin(nil)
        let thread = await threadOfRelease { make in
            activity.update(make())
            let received = Gate()
            let subscription = Unchecked(tracker.publisher.sink { _ in received.open() })
            await received.pass()
            activity.update(Token {})
            return { subscription.value.cancel() }
        }
        #expect(thread != "cancelling")
    }

    @Test func `A subscriber may cancel while it receives a status`() async {
        let tracker = ActivityTracker<Int>()
        let subscription = Locked<Unchecked<AnyCancellable>?>(nil)
        let values = Locked<[Int?]>([])
        let new = Unchecked(
            tracker.publisher.sink { status in
                values.withLock { $0.append(status.associatedValue) }
                if status.associatedValue == 2 { subscription.withLock { $0 }?.value.cancel() }
            }
        )
        subscription.withLock { $0 = new }
        let probe = Puller<ActivityStatus<Int>, Never>(demand: .unlimited)
        tracker.publisher.subscribe(probe)
        #expect(await probe.receives(1))
        let activity = tracker.begin(0)
        for number in 1...3 {
            activity.update(number)
            #expect(await eventually { probe.elements.last?.associatedValue == number })
        }
        #expect(values.withLock { $0.last } == 2)
        probe.cancel()
    }

    /// Passes its actions to a function, at once.
    private struct FunctionScheduler: Scheduler {
        typealias Time = ImmediateScheduler.SchedulerTimeType

        let add: @Sendable (Unchecked<() -> Void>) -> Void

        var now: Time { ImmediateScheduler.shared.now }
        var minimumTolerance: Time.Stride { .nanoseconds(0) }

        func schedule(options: Never?, _ action: @escaping () -> Void) { add(Unchecked(action)) }

        func schedule(after _: Time, tolerance _: Time.Stride, options: Never?, _ action: @escaping () -> Void) {
            add(Unchecked(action))
        }

        func schedule(
            after _: Time,
            interval _: Time.Stride,
            tolerance _: Time.Stride,
            options: Never?,
            _ action: @escaping () -> Void
        ) -> any Cancellable { preconditionFailure("no test repeats an action") }
    }

    @Test func `Statuses are delivered on the scheduler, which has one action of a subscription to run`() async {
        let actions = Locked<[Unchecked<() -> Void>]>([])
        let scheduler = FunctionScheduler { action in actions.withLock { $0.append(action) } }
        func run() {
            for action in actions.withLock({ exchange(&$0, with: []) }) { action.value() }
        }
        let tracker = ActivityTracker<Int>()
        let activity = tracker.begin(1)
        let subscriber = Puller<ActivityStatus<Int>, Never>(demand: .unlimited)
        tracker.publisher(on: scheduler).subscribe(subscriber)
        #expect(await eventually { actions.withLock { $0.count } == 1 })
        for number in 2...9 { activity.update(number) }
        var statuses = tracker.statuses.makeAsyncIterator()
        #expect(await statuses.next()?.associatedValue == 9)
        #expect(actions.withLock { $0.count } == 1)
        #expect(subscriber.elements.isEmpty)
        run()
        #expect(subscriber.elements.map(\.associatedValue) == [1])
        #expect(await eventually { actions.withLock { $0.count } == 1 })
        run()
        #expect(subscriber.elements.map(\.associatedValue) == [1, 9])
        #expect(actions.withLock { $0.count } == 0)
        activity.end()
        subscriber.cancel()
    }

    @Test func `The order is kept on a scheduler that runs actions on any threads`() async {
        let tracker = ActivityTracker<Int>()
        let received = Locked<[Int?]>([])
        let calls = Locked((underWay: 0, overlapping: 0))
        let scheduler = FunctionScheduler { action in DispatchQueue.global().async { action.value() } }
        let subscription = tracker.publisher(on: scheduler).sink { status in
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
