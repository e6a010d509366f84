import Synchronization
import TestSupport

@testable import IndicatorTracking

@Suite struct TrackingConcurrencyTests {
    private static let threads = 8
    /// Fewer under the thread sanitizer, which also reports races that did no harm.
    private static var sequencesPerThread: Int {
        #if THREAD_SANITIZER
        2500
        #else
        12_500
        #endif
    }

    /// 100 000 sequences (20 000 under the thread sanitizer) from 8 threads, iterated to the end, left early, dropped,
    /// copied and cancelled at random.
    @Test func `Nothing stays on and nothing is leaked`() async {
        let census = Census()
        weak var weakTracker: ActivityTracker<Step>?
        await { () async in
            let tracker = ActivityTracker<Step> { $0.number == $1.number }
            weakTracker = tracker
            let indicator = TestIndicator()
            tracker.attach(to: indicator.manager, label: { "\($0.number)" })
            let statuses = tracker.statuses
            let count = Locked(0)
            let reader = Task { for await _ in statuses { count.withLock { $0 += 1 } } }
            // The reader has subscribed.
            #expect(await eventually { count.withLock { $0 } > 0 })
            let threads = (0..<Self.threads).map { thread in
                JoinableThread { Self.work(tracker, census, seed: UInt64(thread)) }
            }
            for thread in threads { await thread.join() }
            #expect(await eventually { census.tasks.load(ordering: .relaxed) == 0 })
            #expect(!tracker.status.isLoading)
            #expect(tracker.status.associatedValue == nil)
            #expect(await eventually { indicator.manager.activityCount == 0 })
            reader.cancel()
            await reader.value
        }()
        #expect(await eventually { weakTracker == nil })
        #expect(await eventually { census.living.load(ordering: .relaxed) == 0 })
        #expect(census.born.load(ordering: .relaxed) > Self.threads * Self.sequencesPerThread)
    }

    private static func work(_ tracker: ActivityTracker<Step>, _ census: Census, seed: UInt64) {
        var generator = SplitMix(state: seed)
        for round in 0..<sequencesPerThread {
            let count = Int.random(in: 0...4, using: &generator)
            let ending = Int.random(in: 0..<4, using: &generator)
            let pages = Pages { continuation in
                for number in 0..<count { continuation.yield(Step(number, census)) }
                if ending < 2 { continuation.finish(throwing: ending == 0 ? nil : CancellationError()) }
            }
            let first = Step(round, census)
            let tracked = pages.tracked(in: tracker, initialValue: first) { $0.number % 3 == 0 ? nil : $0 }
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: _ = tracked.makeAsyncIterator()
            case 1:
                let iterator = tracked.makeAsyncIterator()
                let copies = [iterator, iterator]
                withExtendedLifetime(copies) {}
            case 2:
                let inner = tracked.makeAsyncIterator()
                let outer = tracked.tracked(in: tracker).makeAsyncIterator()
                withExtendedLifetime((inner, outer)) {}
            default: iterate(tracked, isEndless: ending > 1, census, &generator)
            }
        }
    }

    /// Iterates in a task, and cancels it after a random delay, always if it would never end.
    private static func iterate(
        _ tracked: TrackedAsyncSequence<Pages>,
        isEndless: Bool,
        _ census: Census,
        _ generator: inout SplitMix
    ) {
        let limit = Int.random(in: 1...6, using: &generator)
        let delay = Int.random(in: 0..<400, using: &generator)
        let isCancelled = isEndless || Bool.random(using: &generator)
        census.tasks.add(1, ordering: .relaxed)
        let task = Task {
            defer { census.tasks.subtract(1, ordering: .relaxed) }
            var count = 0
            do {
                for try await _ in tracked {
                    count += 1
                    if count == limit { break }
                }
            } catch {}
        }
        guard isCancelled else { return }
        for _ in 0..<delay { census.spin.add(1, ordering: .relaxed) }
        task.cancel()
    }

    /// Counts the tasks that run, and the objects.
    private final class Census: Sendable {
        let tasks = Atomic(0)
        let born = Atomic(0)
        let living = Atomic(0)
        let spin = Atomic(0)
    }

    /// A value.
    private final class Step: Sendable {
        let number: Int
        private let census: Census

        init(_ number: Int, _ census: Census) {
            self.number = number
            self.census = census
            census.living.add(1, ordering: .relaxed)
            census.born.add(1, ordering: .relaxed)
        }

        deinit { census.living.subtract(1, ordering: .relaxed) }
    }

    /// Some elements, and then an end, an error, or nothing until the task is cancelled.
    private typealias Pages = AsyncThrowingStream<Step, any Error>
}
