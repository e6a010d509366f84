import IndicatorOpenCombine
import IndicatorTracking
import OpenCombine
import OpenCombineDispatch
import TestSupport

@Suite struct ActivityStatusPublisherTests {
    private let tracker = ActivityTracker<Int>()

    /// The statuses of a slow subscriber were kept without a limit.
    @Test func `A slow subscriber gets the latest status when it demands one, also more with each status`() async {
        let slow = Puller<ActivityStatus<Int>, Never>(demand: .none, more: [.max(1), .max(1)])
        let fast = Puller<ActivityStatus<Int>, Never>()
        tracker.publisher.subscribe(slow)
        tracker.publisher.subscribe(fast)
        #expect(await fast.receives(1))
        let activity = tracker.begin(0)
        for number in 1..<200 { activity.update(number) }
        #expect(await eventually { fast.elements.last?.associatedValue == 199 } && slow.elements.isEmpty)
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
        let (leaver, other) = (Puller<ActivityStatus<Int>, Never>(last: 2), Puller<ActivityStatus<Int>, Never>())
        for subscriber in [leaver, other] {
            tracker.publisher.subscribe(subscriber)
            #expect(await subscriber.receives(1))
        }
        let activity = tracker.begin(1)
        #expect(await leaver.receives(2))
        activity.update(2)
        #expect(await eventually { other.elements.last?.associatedValue == 2 })
        #expect(leaver.elements.map(\.associatedValue) == [nil, 1])
        other.cancel()
    }

    @Test func `On a concurrent scheduler, there is one status at a time, and then the latest one`() async {
        let queue = DispatchQueue(label: "statuses", attributes: .concurrent)
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let activity = tracker.begin(1)
        let received = Locked<[Int]>([])
        let isBusy = Locked(false)
        let first = DispatchSemaphore(value: 0)
        let subscription = tracker.publisher(on: queue.ocombine).sink { status in
            #expect(DispatchQueue.getSpecific(key: key) == true)
            #expect(!isBusy.withLock { exchange(&$0, with: true) })
            received.withLock { $0.append(status.associatedValue ?? -1) }
            if status.associatedValue == 1 { first.wait() } else { Thread.sleep(forTimeInterval: 0.000_01) }
            isBusy.withLock { $0 = false }
        }
        #expect(await eventually { received.withLock { $0 } == [1] })
        let other = Puller<ActivityStatus<Int>, Never>()
        tracker.publisher.subscribe(other)
        for number in 2...9 {
            activity.update(number)
            #expect(await eventually { other.elements.last?.associatedValue == number })
        }
        first.signal()
        #expect(await eventually { received.withLock { $0.last } == 9 })
        #expect(received.withLock { $0 } == [1, 9])
        for number in 10...2000 { activity.update(number) }
        #expect(await eventually { received.withLock { $0.last } == 2000 })
        let numbers = received.withLock { $0 }
        #expect(numbers == Set(numbers).sorted())
        other.cancel()
        subscription.cancel()
    }
}
