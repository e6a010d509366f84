import Foundation
import Synchronization

/// Runs a function on several threads at the same time.
///
/// On a busy machine, one thread may have to wait for a processor, so that the threads do not contend. So a turn
/// consists of short pieces, and only pieces count in which all threads had a processor nearly all the time. If there
/// are more threads than processors, all pieces count.
enum Threads {
    /// Twice as many threads as there are processors: threads that hold a lock, or wait for it, lose their processor.
    static let crowd = 2 * ProcessInfo.processInfo.activeProcessorCount

    /// The number of pieces in a turn.
    private static let pieces = 10
    /// The maximum number of pieces to try.
    private static let attempts = 40
    /// The minimum fraction of the time for which all threads must have a processor.
    private static let leastShare = 0.95

    /// Runs a function `count` times. The duration is from the first begin to the last end.
    static func run(_ body: @escaping @Sendable (Int) -> Void, count: Int, on threads: Int) -> Turn {
        let size = max(count / pieces, 1)
        let leastShare = threads < crowd ? leastShare : 0
        var counting: [Duration] = []
        var others: [Duration] = []
        for _ in 0..<attempts where counting.count < pieces {
            let piece = Piece(body, size, on: threads)
            if piece.share < leastShare { others.append(piece.duration) } else { counting.append(piece.duration) }
        }
        let durations = counting.isEmpty ? others : counting
        let mean = durations.reduce(.zero, +) / durations.count
        return Turn(duration: mean * (Double(count) / Double(size)), isDisturbed: counting.isEmpty)
    }

    /// A part of a turn.
    private struct Piece {
        var duration: Duration
        /// The fraction of that time for which a thread had a processor, the smallest one of all threads.
        var share: Double

        init(_ body: @escaping @Sendable (Int) -> Void, _ count: Int, on threads: Int) {
            let race = Race(body)
            let times = race.run(count, on: threads)
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

    /// Threads that begin together.
    private final class Race: Sendable {
        private let body: @Sendable (Int) -> Void
        private let ready = Atomic<Int>(0)
        private let done = DispatchSemaphore(value: 0)
        private let times = Mutex<[Times]>([])

        init(_ body: @escaping @Sendable (Int) -> Void) {
            self.body = body
        }

        func run(_ count: Int, on threads: Int) -> [Times] {
            for _ in 0..<threads {
                Thread.detachNewThread { [self] in
                    ready.add(1, ordering: .acquiringAndReleasing)
                    while ready.load(ordering: .acquiring) < threads { if threads >= crowd { sched_yield() } }
                    let (start, before) = (now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID))
                    body(count)
                    let (end, after) = (now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID))
                    times.withLock { $0.append(Times(start: start, end: end, processor: after - before)) }
                    done.signal()
                }
            }
            for _ in 0..<threads { done.wait() }
            return times.withLock { $0 }
        }
    }

    private static func now(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
