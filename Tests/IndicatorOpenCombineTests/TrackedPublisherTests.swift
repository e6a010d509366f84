import IndicatorOpenCombine
import IndicatorTracking
import OpenCombine
import TestSupport

@Suite struct TrackedPublisherTests {
    private struct SomeError: Error, Equatable {}

    private let tracker = ActivityTracker(defaultValue: "default")
    private let subject = PassthroughSubject<Int, Never>()

    private var line: String { "\(tracker.status.isLoading) \(tracker.status.associatedValue ?? "Empty")" }

    @Test func `The value is the initial one, by default that of the tracker, until an element changes it`() {
        /// The status after the subscription, while the subscriber receives each of two elements, and after the end.
        func track(_ initialValue: String? = nil, _ value: ((Int) -> String?)? = nil) -> String {
            let subject = PassthroughSubject<Int, Never>()
            var lines: [String] = []
            let subscription = subject.tracked(in: tracker, initialValue: initialValue, value: value)
                .sink { _ in lines.append(line) }
            lines.append(line)
            for number in 1...2 { subject.send(number) }
            subject.send(completion: .finished)
            withExtendedLifetime(subscription) {}
            return (lines + [line]).joined(separator: ", ")
        }
        #expect(track() == "true default, true default, true default, false Empty")
        #expect(track("constant") == "true constant, true constant, true constant, false Empty")
        #expect(track(nil) { "element \($0)" } == "true default, true element 1, true element 2, false Empty")
        #expect(track("zero") { $0 == 1 ? "one" : nil } == "true zero, true one, true Empty, false Empty")
    }

    @Test func `A subscription can be a member of a group`() async {
        let surface = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let manager = IndicatorManager(backends: [surface])
        let subject = PassthroughSubject<[UInt8], SomeError>()
        await manager.withActivity("Downloading", unit: .bytes) { group in
            func subscribe(_ label: String) -> AnyCancellable {
                subject.tracked(label, in: group, total: 4, unit: .bytes, by: \.count)
                    .sink(receiveCompletion: { _ in }, receiveValue: { _ in })
            }
            let publisher = subject.tracked("unused", in: group)
            #expect(manager.snapshot.activities.map(\.label) == ["Downloading"])
            withExtendedLifetime(publisher) {}
            let cancelled = subscribe("cancelled")
            #expect(manager.snapshot.activities.map(\.label) == ["Downloading", "cancelled"])
            subject.send([1, 2, 3])
            #expect(manager.snapshot.activities.map(\.completed) == [3, 3])
            #expect(manager.snapshot.activities.first?.total == 4)
            cancelled.cancel()
            #expect(await eventually { manager.snapshot.activities.map(\.label) == ["Downloading"] })
            let failed = subscribe("failed")
            subject.send([1, 2])
            subject.send(completion: .failure(SomeError()))
            let succeeded = Just(1).tracked("succeeded", in: group).sink { _ in }
            #expect(manager.snapshot.activities.map(\.label) == ["Downloading"])
            #expect(manager.snapshot.activities.first?.completed == 5)
            withExtendedLifetime((failed, succeeded)) {}
        }
        await manager.shutdown()
        #expect(surface.finished.dropLast().map(\.outcome) == [.cancelled, .failed("SomeError()"), .succeeded])
    }

    /// `Publisher.values` cancels its subscription in a cancellation handler, with the lock of the task's status. A
    /// value whose `deinit` resumes another task must not be released there: two such tasks would wait for each other.
    @Test func `A value is not released in the cancellation handler`() async {
        // Often: the job that takes the value may run before or after the release of the subscription.
        for _ in 0..<200 {
            let tracker = ActivityTracker<Token>(equalWhen: ===)
            let thread = await threadOfRelease { make in
                let task = Task {
                    let subject = CurrentValueSubject<Int, Never>(0)
                    for await _ in subject.tracked(in: tracker, value: { _ in make() }).values {}
                }
                #expect(await eventually { tracker.status.associatedValue != nil })
                return { task.cancel() }
            }
            #expect(thread != "cancelling")
        }
    }

    /// As in Reactant. It ended first, and "idle" was shown in between.
    @Test func `A step that begins in the completion of another follows without a gap`() {
        let manager = IndicatorManager()
        var steps: [(isLoading: Bool, count: Int)] = []
        _ = Just(1).tracked("first", in: manager).tracked(in: tracker, initialValue: "first").sink { _ in
            steps.append((tracker.status.isLoading, manager.activityCount))
            let next = Just(2).tracked("second", in: manager).tracked(in: tracker, initialValue: "second")
            _ = next.sink { _ in steps.append((tracker.status.isLoading, manager.activityCount)) }
        }
        steps.append((tracker.status.isLoading, manager.activityCount))
        #expect(steps.map(\.isLoading) == [true, true, false])
        #expect(steps.map(\.count) == [1, 2, 0])
    }

    @Test func `Cancelling ends the activity and reaches the upstream`() {
        var cancellations = 0
        let subscription = subject.handleEvents(receiveCancel: { cancellations += 1 }).tracked(in: tracker)
            .sink { _ in Issue.record("It was cancelled.") }
        subscription.cancel()
        subscription.cancel()
        #expect(!tracker.status.isLoading && cancellations == 1)
        subject.send(1)
    }

    private struct Forgetful: Publisher {
        typealias Output = Int
        typealias Failure = Never

        func receive(subscriber: some Subscriber<Int, Never>) {}
    }

    @Test
    func `A failure at once, a cancellation on subscription or an element, and a lost subscriber leave nothing on`() {
        var completion: Subscribers.Completion<SomeError>?
        _ = Fail<Int, SomeError>(error: SomeError()).tracked(in: tracker)
            .sink(receiveCompletion: { completion = $0 }, receiveValue: { _ in })
        #expect(completion == .failure(SomeError()) && !tracker.status.isLoading)
        let subscriber = Puller<Int, Never>(last: 0)
        PassthroughSubject<Int, Never>().tracked(in: tracker).subscribe(subscriber)
        #expect(!tracker.status.isLoading)
        // As the article says: OpenCombine's `prefix` cancels its upstream at the first element that is not passed on.
        let prefix = subject.tracked(in: tracker).prefix(2).sink { _ in }
        for isLoading in [true, true, false] {
            subject.send(1)
            #expect(tracker.status.isLoading == isLoading)
        }
        prefix.cancel()
        Forgetful().tracked(in: tracker).subscribe(Puller<Int, Never>())
        #expect(!tracker.status.isLoading)
    }

    @Test func `Demand is passed on unchanged`() {
        var demands: [Subscribers.Demand] = []
        let subscriber = Puller<Int, Never>(demand: .max(2), more: [.none, .max(3), .none, .none, .none])
        (0..<10).publisher.handleEvents(receiveRequest: { demands.append($0) })
            .tracked(in: tracker, value: { "\($0)" }).subscribe(subscriber)
        #expect(subscriber.elements == Array(0...4) && demands == [.max(2), .max(3)])
        #expect(tracker.status.associatedValue == "4")
        subscriber.subscription?.request(.max(1))
        #expect(subscriber.elements == Array(0...5) && demands == [.max(2), .max(3), .max(1)])
        subscriber.subscription?.cancel()
        #expect(!tracker.status.isLoading)
    }

    /// Reactant's `tracked` subscribed to a shared upstream twice, once for the values.
    @Test func `The upstream is subscribed to once for each subscriber`() {
        var subscriptions = 0
        var sent = 0
        let upstream = (0..<3).publisher
            .handleEvents(receiveSubscription: { _ in subscriptions += 1 }, receiveOutput: { _ in sent += 1 })
        let tracked = upstream.tracked(in: tracker, value: { "\($0)" })
        for _ in 0..<2 {
            var elements: [Int] = []
            _ = tracked.sink { elements.append($0) }
            #expect(elements == [0, 1, 2])
        }
        #expect((subscriptions, sent) == (2, 6))
    }

    /// As the article says. That of a sequence ends last.
    @Test func `The upstream of a flat map begins first, and ends with its own completion`() {
        let inner = PassthroughSubject<Int, Never>()
        let subscription = subject.tracked(in: tracker, initialValue: "upstream").flatMap { _ in inner }
            .tracked(in: tracker, initialValue: "flat map").sink { _ in }
        #expect(line == "true upstream")
        subject.send(1)
        subject.send(completion: .finished)
        #expect(line == "true flat map")
        inner.send(completion: .finished)
        #expect(!tracker.status.isLoading)
        withExtendedLifetime(subscription) {}
    }

    @Test func `The tracker lives as long as a subscription`() async {
        weak var weakTracker: ActivityTracker<Int>?
        func subscribe() -> AnyCancellable {
            let tracker = ActivityTracker<Int>()
            weakTracker = tracker
            return subject.tracked(in: tracker, initialValue: 1).sink { _ in }
        }
        var subscription: AnyCancellable? = subscribe()
        #expect(subscription != nil)
        #expect(weakTracker?.status.associatedValue == 1)
        subscription = nil
        #expect(await eventually { weakTracker == nil })
    }
}
