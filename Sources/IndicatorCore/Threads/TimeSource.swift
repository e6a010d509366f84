/// The time since the source was created, as read from an injected clock.
///
/// It hides the type of the clock's instants: the state machines use plain `Duration`s with any clock.
package struct TimeSource: Sendable {
    private let read: @Sendable () -> Int64
    private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Cancellation
    /// When the source was created, as of `ServiceThread.now`; `nil` if the clock is another one.
    package var origin: Int64?

    /// Cancels a call that has not begun.
    package typealias Cancellation = @Sendable () -> Void

    /// Makes a source that reads nanoseconds.
    package init(
        read: @escaping @Sendable () -> Int64,
        schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Cancellation,
        origin: Int64? = nil
    ) {
        (self.read, self.schedule, self.origin) = (read, schedule, origin)
    }

    /// The time since the source was created.
    package var now: Duration { .nanoseconds(read()) }

    /// The same in nanoseconds, without the 128-bit arithmetic of `Duration`.
    package var nanoseconds: Int64 { read() }

    /// Calls `body` at `deadline`, on the shared timer thread: it must not block.
    package func call(at deadline: Duration, _ body: @escaping @Sendable () -> Void) -> Cancellation {
        schedule(min(deadline, Self.longest * 2), body)
    }

    /// The longest supported duration: a hundred years. Longer ones are limited to it.
    package static var longest: Duration { .seconds(3_155_760_000) }

    /// A source that reads `clock`.
    package static func reading<C: Clock<Duration>>(_ clock: C) -> TimeSource {
        if clock is SuspendingClock { return suspending() }
        let origin = clock.now
        return TimeSource(
            read: { origin.duration(to: clock.now).wholeNanoseconds },
            schedule: { deadline, body in
                // Detached, so that it does not inherit the task-local values of the task that began an activity.
                let task = Task.detached {
                    do { try await clock.sleep(until: origin.advanced(by: deadline), tolerance: nil) } catch { return }
                    body()
                }
                return { task.cancel() }
            }
        )
    }

    /// Reads the clock of `SuspendingClock` without 128-bit arithmetic, and has timers that need no descriptor.
    private static func suspending() -> TimeSource {
        let origin = ServiceThread.now
        return TimeSource(
            read: { ServiceThread.now - origin },
            schedule: { deadline, body in
                let number = ServiceThread.shared.call(at: origin + deadline.wholeNanoseconds, body)
                return { ServiceThread.shared.cancelCall(number) }
            },
            origin: origin
        )
    }
}

extension Duration {
    /// The milliseconds, rounded down; 0 for a negative duration.
    package var wholeMilliseconds: Int { max(0, Int(wholeNanoseconds / 1_000_000)) }

    /// The nanoseconds, rounded down, limited to half the range of `Int64` (146 years).
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let limit = Int64.max / 2 / 1_000_000_000 - 1
        let nanoseconds = min(max(seconds, -limit), limit) * 1_000_000_000 + attoseconds / 1_000_000_000
        return attoseconds < 0 && attoseconds % 1_000_000_000 != 0 ? nanoseconds - 1 : nanoseconds
    }
}
