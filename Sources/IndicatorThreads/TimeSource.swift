/// Reads an injected clock as the time since the source was made.
///
/// The type of the clock's instants stays inside, so that the state machines compute with plain `Duration`s whichever
/// clock they run on.
package struct TimeSource: Sendable {
    private let read: @Sendable () -> Int64
    private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Cancellation

    /// Takes back a call that is not under way.
    package typealias Cancellation = @Sendable () -> Void

    /// The time since the source was made.
    package var now: Duration { .nanoseconds(read()) }

    /// The same in nanoseconds, without the arithmetic of `Duration` in 128 bits.
    package var nanoseconds: Int64 { read() }

    /// Calls `body` once `deadline` has come, on the thread of all timers: it must not block.
    package func call(at deadline: Duration, _ body: @escaping @Sendable () -> Void) -> Cancellation {
        schedule(min(deadline, Self.longest * 2), body)
    }

    /// The longest time that anything waits: a hundred years. Longer times count as this.
    package static var longest: Duration { .seconds(3_155_760_000) }

    /// A source that reads `clock`.
    package static func reading(_ clock: any Clock<Duration>) -> TimeSource {
        func open<C: Clock<Duration>>(_ clock: C) -> TimeSource {
            let origin = clock.now
            return TimeSource(
                read: { origin.duration(to: clock.now).wholeNanoseconds },
                schedule: { deadline, body in
                    // Detached: it must not inherit the task-local values of the thread that happened to begin an
                    // activity.
                    let task = Task.detached {
                        do { try await clock.sleep(until: origin.advanced(by: deadline), tolerance: nil) } catch {
                            return
                        }
                        body()
                    }
                    return { task.cancel() }
                }
            )
        }
        return clock is ContinuousClock ? continuous() : open(clock)
    }

    /// Reads what `ContinuousClock` reads without its arithmetic in 128 bits, and has timers that need no descriptor.
    private static func continuous() -> TimeSource {
        let origin = ServiceThread.now
        return TimeSource(
            read: { ServiceThread.now - origin },
            schedule: { deadline, body in
                let number = ServiceThread.shared.call(at: origin + deadline.wholeNanoseconds, body)
                return { ServiceThread.shared.cancelCall(number) }
            }
        )
    }
}

extension Duration {
    /// The whole milliseconds, rounded down; a negative duration is zero.
    package var wholeMilliseconds: Int { max(0, Int(wholeNanoseconds / 1_000_000)) }

    /// The whole nanoseconds, rounded down; limited to what half the range of an `Int64` holds, 146 years.
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let limit = Int64.max / 2 / 1_000_000_000 - 1
        let nanoseconds = min(max(seconds, -limit), limit) * 1_000_000_000 + attoseconds / 1_000_000_000
        return attoseconds < 0 && attoseconds % 1_000_000_000 != 0 ? nanoseconds - 1 : nanoseconds
    }
}
