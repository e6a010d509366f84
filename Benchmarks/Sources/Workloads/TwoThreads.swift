import Foundation
import Synchronization

/// Runs a function on two threads at the same time.
///
/// On a busy machine, one thread may have to wait for a processor, so that the threads do not contend. So a turn
/// consists of short pieces, and only pieces count in which both threads had a processor nearly all the time.
enum TwoThreads {
    /// The number of pieces in a turn.
    private static let pieces = 10
    /// The maximum number of pieces to try.
    private static let attempts = 40
    /// The minimum fraction of the time for which both threads must have a processor.
    private static let leastShare = 0.95

    /// Runs a function `count` times. The duration is from the first begin to the last end.
    static func run(_ body: @escaping @Sendable (Int) -> Void, count: Int) -> Turn {
        let size = max(count / pieces, 1)
        var counting: [Duration] = []
        var others: [Duration] = []
        for _ in 0..<attempts where counting.count < pieces {
            let piece = Piece(body, size)
            if piece.share < leastShare { others.append(piece.duration) } else { counting.append(piece.duration) }
        }
        let durations = counting.isEmpty ? others : counting
        let mean = durations.reduce(.zero, +) / durations.count
        return Turn(duration: mean * (Double(count) / Double(size)), isDisturbed: counting.isEmpty)
    }

    /// A part of a turn.
    private struct Piece {
        var duration: Duration
        /// The fraction of that time for which a thread had a processor, the smaller one of both threads.
        var share: Double

        init(_ body: @escaping @Sendable (Int) -> Void, _ count: Int) {
            let race = Race(body)
            let times = race.run(count)
            let duration = times.map(\.end).reduce(.zero, max) - times.map(\.start).reduce(times[0].start, min)
            self.duration = duration
            share = times.map { $0.processor / duration }.reduce(1, min)
        }
    }

    /// The begin, the end and the processor time of a thread.
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
