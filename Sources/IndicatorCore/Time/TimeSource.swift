import Foundation

/// Reads an injected clock as the time since the source was made.
///
/// The type of the clock's instants stays inside, so that the state machines compute with plain `Duration`s whichever
/// clock they run on.
package class TimeSource: @unchecked Sendable {
    // `@unchecked`: the class and its subclasses have no mutable state, or a lock around it.

    fileprivate init() {}

    /// The time since the source was made.
    package var now: Duration { preconditionFailure("abstract") }

    /// The time since the source was made, in whole nanoseconds.
    package var nanoseconds: Int64 { now.wholeNanoseconds }

    /// Waits until `deadline`, or throws when the task is cancelled.
    package func sleep(until deadline: Duration) async throws { preconditionFailure("abstract") }

    /// The longest time that anything waits: a hundred years. Longer times count as this.
    package static var longest: Duration { .seconds(3_155_760_000) }

    /// A source that reads `clock`.
    package static func reading(_ clock: any Clock<Duration>) -> TimeSource {
        if clock is ContinuousClock { return ContinuousTimeSource() }
        func open<C: Clock<Duration>>(_ clock: C) -> TimeSource { ClockTimeSource(clock) }
        return open(clock)
    }
}

private final class ClockTimeSource<C: Clock<Duration>>: TimeSource, @unchecked Sendable {
    // `@unchecked`: like its superclass it has constants only, and a `Clock` is `Sendable`.

    private let clock: C
    private let origin: C.Instant

    init(_ clock: C) {
        self.clock = clock
        origin = clock.now
    }

    override var now: Duration { origin.duration(to: clock.now) }

    override func sleep(until deadline: Duration) async throws {
        try await clock.sleep(until: origin.advanced(by: min(deadline, Self.longest * 2)), tolerance: nil)
    }
}

/// Reads what `ContinuousClock` reads, `CLOCK_BOOTTIME`, without its arithmetic in 128 bits.
private final class ContinuousTimeSource: TimeSource, @unchecked Sendable {
    // `@unchecked`: like its superclass it has constants only.

    private let originNanoseconds: Int64
    private let origin: ContinuousClock.Instant

    override init() {
        originNanoseconds = Self.read()
        // Not before the reading above: sleeping must not end early.
        origin = ContinuousClock.now
    }

    override var now: Duration { .nanoseconds(nanoseconds) }

    override var nanoseconds: Int64 { Self.read() - originNanoseconds }

    override func sleep(until deadline: Duration) async throws {
        try await ContinuousClock().sleep(until: origin.advanced(by: min(deadline, Self.longest * 2)), tolerance: nil)
    }

    private static func read() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// A time that its owner sets, for replays. Nobody sleeps on it.
final class ReplayTimeSource: TimeSource, @unchecked Sendable {
    // `@unchecked`: the state is behind a lock.

    private let time = Locked(Duration.zero)

    override init() {}

    override var now: Duration { time.withLock { $0 } }

    func set(to now: Duration) {
        time.withLock { $0 = max($0, now) }
    }

    override func sleep(until deadline: Duration) async throws { throw CancellationError() }
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
