import Foundation

/// Reads an injected clock as the time since the source was made.
///
/// The type of the clock's instants stays inside, so that the state machines compute with plain `Duration`s whichever
/// clock they run on.
package struct TimeSource: Sendable {
    private let read: @Sendable () -> Int64
    private let wait: @Sendable (Duration) async throws -> Void

    /// The time since the source was made.
    package var now: Duration { .nanoseconds(read()) }

    /// The same in nanoseconds, without the arithmetic of `Duration` in 128 bits.
    package var nanoseconds: Int64 { read() }

    /// Waits until `deadline`, or throws when the task is cancelled.
    package func sleep(until deadline: Duration) async throws { try await wait(min(deadline, Self.longest * 2)) }

    /// The longest time that anything waits: a hundred years. Longer times count as this.
    package static var longest: Duration { .seconds(3_155_760_000) }

    /// A source that reads `clock`.
    package static func reading(_ clock: any Clock<Duration>) -> TimeSource {
        func open<C: Clock<Duration>>(_ clock: C) -> TimeSource {
            let origin = clock.now
            return TimeSource(
                read: { origin.duration(to: clock.now).wholeNanoseconds },
                wait: { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
            )
        }
        return clock is ContinuousClock ? continuous() : open(clock)
    }

    /// Reads what `ContinuousClock` reads, `CLOCK_BOOTTIME`, without its arithmetic in 128 bits.
    private static func continuous() -> TimeSource {
        let originNanoseconds = readBootTime()
        // Not before the reading above: sleeping must not end early.
        let origin = ContinuousClock.now
        return TimeSource(
            read: { readBootTime() - originNanoseconds },
            wait: { try await ContinuousClock().sleep(until: origin.advanced(by: $0), tolerance: nil) }
        )
    }

    private static func readBootTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// A source for replays: it shows the time that `clock` holds, and nobody sleeps on it.
    static func showing(_ clock: ReplayClock) -> TimeSource {
        TimeSource(read: { clock.time.withLock { $0 }.wholeNanoseconds }, wait: { _ in throw CancellationError() })
    }
}

/// A time that its owner sets, for replays.
final class ReplayClock: Sendable {
    let time = Locked(Duration.zero)
}

extension Duration {
    /// The whole nanoseconds, rounded down; limited to what half the range of an `Int64` holds, 146 years.
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let limit = Int64.max / 2 / 1_000_000_000 - 1
        let nanoseconds = min(max(seconds, -limit), limit) * 1_000_000_000 + attoseconds / 1_000_000_000
        return attoseconds < 0 && attoseconds % 1_000_000_000 != 0 ? nanoseconds - 1 : nanoseconds
    }
}
