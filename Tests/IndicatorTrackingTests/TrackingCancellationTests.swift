import IndicatorTracking
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct TrackingCancellationTests {
    private let tracker = ActivityTracker<Int>()

    /// Waits for a gate, and ignores cancellation.
    private struct Stubborn: AsyncSequence, AsyncIteratorProtocol {
        let gate: Gate

        mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
            await gate.pass()
            return 1
        }

        func makeAsyncIterator() -> Self { self }
    }

    @Test func `An activity lasts as long as a sequence that ignores the cancellation works`() async {
        let gate = Gate()
        let task = Task { [tracker] in
            for await _ in Stubborn(gate: gate).tracked(in: tracker, value: { $0 + 1 }) {
                #expect(!tracker.status.isLoading)
                break
            }
        }
        #expect(await eventually { gate.waiterCount > 0 })
        task.cancel()
        #expect(tracker.status.isLoading)
        gate.open()
        await task.value
    }

    @Test func `A task that was cancelled before it began leaves nothing on`() async {
        let gate = Gate()
        let task = Task { [tracker] in
            await gate.pass()
            var iterator = Elements(elements: [1, 2, 3]).tracked(in: tracker, initialValue: 1).makeAsyncIterator()
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

    /// Two such tasks, each resumed by the `deinit` of the other's value, waited for each other when both were
    /// cancelled.
    @Test func `A value is not released in the cancellation handler`() async {
        let tracker = ActivityTracker<Token>(equalWhen: ===)
        let (stream, continuation) = AsyncStream<Int>.makeStream()
        let thread = await threadOfRelease { make in
            let task = Task {
                for await _ in stream.tracked(in: tracker, value: { _ in make() }) {}
            }
            continuation.yield(1)
            #expect(await eventually { tracker.status.associatedValue != nil })
            return { task.cancel() }
        }
        // On the other one, it would delay the timers of all indicators.
        #expect(!["cancelling", "indicator"].contains(thread))
        #expect(await eventually { !tracker.status.isLoading })
    }

    @Test func `A status is not released in the cancellation handler of its subscriber`() async {
        // Equal values: the subscription keeps the first one, the tracker the second one.
        let tracker = ActivityTracker<Token> { _, _ in true }
        let step = tracker.begin(nil)
        let thread = await threadOfRelease { make in
            step.update(make())
            let hasReceived = Gate()
            let task = Task {
                for await isLoading in tracker.statuses.map(\.isLoading) where isLoading { hasReceived.open() }
            }
            await hasReceived.pass()
            step.update(Token {})
            return { task.cancel() }
        }
        #expect(!["cancelling", "indicator"].contains(thread))
        step.end()
    }

    /// A cancellation handler may release a stream.
    @Test func `A stream releases what the caller's functions refer to elsewhere`() async {
        let thread = await threadOfRelease { make in
            {
                var tracker: ActivityTracker<Int>? = ActivityTracker { [token = make()] old, new in
                    withExtendedLifetime(token) { old == new }
                }
                var statuses = tracker?.statuses
                #expect(statuses != nil)
                tracker = nil
                statuses = nil
            }
        }
        #expect(thread != "cancelling")
    }
}
