import Foundation
import Synchronization

/// Runs a function on two threads at the same time.
///
/// On a machine that does other things too, one of them may have to wait for a processor, and then neither is in the
/// other's way: that is not what is to be measured. So a turn is made of short pieces, and only those count in which
/// both had a processor nearly all the time.
enum TwoThreads {
    /// How many pieces a turn is made of.
    private static let pieces = 10
    /// How many are tried at most.
    private static let attempts = 40
    /// The part of the time that both must have had a processor.
    private static let leastShare = 0.95

    /// Runs it. The time is that from when both began until both were done.
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
