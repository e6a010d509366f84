import Foundation

/// Reads an injected clock as the time since the source was made.
///
/// The type of the clock's instants stays inside, so that the state machine, the manager and the runners compute with plain
/// `Duration`s whichever clock they run on.
package class TimeSource: @unchecked Sendable {
    // `@unchecked`: the class and its subclasses have no mutable state.

    fileprivate init() {}

    /// The time since the source was made.
    package var now: Duration { preconditionFailure("abstract") }

    /// The time since the source was made, in whole nanoseconds.
    package var nanoseconds: Int64 { now.wholeNanoseconds }

    /// Whether a time has not come yet; costs less than reading the clock when it is some hundredths of a second away.
    ///
    /// On the system's clock it may still say so after the machine has slept, until the timer that is set for the time goes off.
    ///
    /// - Parameter deadline: nanoseconds since the source was made.
    package func isBefore(_ deadline: Int64) -> Bool { nanoseconds < deadline }

    /// Waits until `deadline`, or throws when the task is cancelled.
    package func sleep(until deadline: Duration) async throws { preconditionFailure("abstract") }

    /// A time that does not come, in nanoseconds: 146 years.
    package static var distantFuture: Int64 { Int64.max / 2 - 1 }

    /// The longest time that anything waits, a hundred years: what is longer is not computed with.
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
    /// What the coarse clock, which stands still while the machine sleeps, is behind the time of this source at most.
    private let coarseLag: Int64

    override init() {
        originNanoseconds = Self.read(CLOCK_BOOTTIME)
        // Not before the reading above: sleeping must not end early.
        origin = ContinuousClock.now
        let coarse = Self.read(CLOCK_MONOTONIC_COARSE)
        var resolution = timespec()
        clock_getres(CLOCK_MONOTONIC_COARSE, &resolution)
        // Two of its ticks, and what a virtual machine may be kept waiting.
        coarseLag = Self.read(CLOCK_BOOTTIME) - coarse - originNanoseconds + 2 * Int64(resolution.tv_nsec) + 10_000_000
    }

    override var now: Duration { .nanoseconds(nanoseconds) }

    override var nanoseconds: Int64 { Self.read(CLOCK_BOOTTIME) - originNanoseconds }

    override func isBefore(_ deadline: Int64) -> Bool {
        Self.read(CLOCK_MONOTONIC_COARSE) + coarseLag < deadline || nanoseconds < deadline
    }

    override func sleep(until deadline: Duration) async throws {
        try await ContinuousClock().sleep(until: origin.advanced(by: min(deadline, Self.longest * 2)), tolerance: nil)
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Duration {
    /// The whole nanoseconds, rounded down; limited to what half the range of an `Int64` holds, 146 years.
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let limit = TimeSource.distantFuture / 1_000_000_000 - 1
        let nanoseconds = min(max(seconds, -limit), limit) * 1_000_000_000 + attoseconds / 1_000_000_000
        return attoseconds < 0 && attoseconds % 1_000_000_000 != 0 ? nanoseconds - 1 : nanoseconds
    }
}
