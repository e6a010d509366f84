import Foundation
import Synchronization

/// Runs a function on two threads at the same time.
///
/// On a machine that does other things too, one of them may have to wait for a processor, and then neither is in the other's way: that is
/// not what is to be measured. A run counts when both had a processor nearly all the time; otherwise there is another.
enum TwoThreads {
    /// How many times is enough.
    private static let attempts = 10

    /// Runs it. Returns the time from when both began until both were done.
    static func run(_ body: @escaping @Sendable (Int) -> Void, count: Int) -> Duration {
        var best = Attempt(body, count)
        for _ in 1..<attempts where best.share < 0.95 {
            let next = Attempt(body, count)
            if next.share > best.share { best = next }
        }
        return best.duration
    }

    /// One run.
    private struct Attempt {
        var duration: Duration
        /// Which part of that time the thread that had less of it had a processor.
        var share: Double

        init(_ body: @escaping @Sendable (Int) -> Void, _ count: Int) {
            let race = Race(body)
            let times = race.run(count)
            let duration = times.map(\.end).reduce(.zero, max) - times.map(\.start).reduce(times[0].start, min)
            self.duration = duration
            share = times.map { $0.processor / duration }.reduce(1, min)
        }
    }

    /// When a thread began and ended, and how much time of a processor it had in between.
    private struct Times {
        var start: Duration
        var end: Duration
        var processor: Duration
    }

    /// Two threads that begin together.
    private final class Race: Sendable {
        private let body: @Sendable (Int) -> Void
        private let ready = Atomic<Int>(0)
        private let done = DispatchSemaphore(value: 0)
        private let times = Mutex<[Times]>([])

        init(_ body: @escaping @Sendable (Int) -> Void) {
            self.body = body
        }

        func run(_ count: Int) -> [Times] {
            for _ in 0..<2 {
                Thread.detachNewThread { [self] in
                    ready.add(1, ordering: .acquiringAndReleasing)
                    while ready.load(ordering: .acquiring) < 2 {}
                    let (start, before) = (now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID))
                    body(count)
                    let (end, after) = (now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID))
                    times.withLock { $0.append(Times(start: start, end: end, processor: after - before)) }
                    done.signal()
                }
            }
            done.wait()
            done.wait()
            return times.withLock { $0 }
        }
    }

    private static func now(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
