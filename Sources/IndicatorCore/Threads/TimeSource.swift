import Foundation

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

/// Calls a closure at a deadline.
///
/// Calls are scheduled and cancelled outside the lock, because an injected clock may have cancellation handlers.
package final class DeadlineTimer: Sendable {
    private struct State: Sendable {
        var deadline: Duration?
        var cancel: TimeSource.Cancellation?
    }

    private let time: TimeSource
    private let state = Locked(State())

    /// Creates a timer without a deadline.
    package init(time: TimeSource) {
        self.time = time
    }

    deinit {
        state.withLock { $0.cancel }?()
    }

    /// Sets or cancels the timer.
    ///
    /// - Parameters:
    ///   - deadline: when the timer fires now; `nil` cancels it. Called with the timer's lock held, so that of several
    ///     threads the last one reads the latest deadline.
    ///   - onDeadline: called with the deadline, on ``ServiceThread/shared`` or, with an injected clock, on the
    ///     cooperative thread pool. It is retained until then, or until the timer is set again.
    package func set(_ deadline: () -> Duration?, _ onDeadline: @escaping @Sendable (Duration) -> Void) {
        let (deadline, isNew, old): (Duration?, Bool, TimeSource.Cancellation?) = state.withLock { state in
            let deadline = deadline()
            guard deadline != state.deadline else { return (nil, false, nil) }
            state.deadline = deadline
            return (deadline, true, state.cancel.take())
        }
        old?()
        guard isNew, let deadline else { return }
        let cancel = time.call(at: deadline) { [weak self] in
            if self?.fires(deadline) == true { onDeadline(deadline) }
        }
        // Another thread may have set the timer meanwhile, also to the same deadline again: then one call is enough.
        let isNeeded = state.withLock { state in
            guard state.deadline == deadline, state.cancel == nil else { return false }
            state.cancel = cancel
            return true
        }
        if !isNeeded { cancel() }
    }

    /// Returns whether the timer is set to this deadline. If so, resets it.
    private func fires(_ deadline: Duration) -> Bool {
        state.withLock { state in
            guard state.deadline == deadline else { return false }
            (state.deadline, state.cancel) = (nil, nil)
            return true
        }
    }
}

/// Relates a clock, such as an indicator's, to the wall clock, which the user or the network may set at any time.
package struct WallClock: Sendable {
    /// The wall-clock time of the clock's origin.
    private(set) var origin: Date
    private let date: @Sendable () -> Date

    init(at now: Duration, date: @escaping @Sendable () -> Date = { Date() }) {
        origin = date() - now / .seconds(1)
        self.date = date
    }

    /// Corrects the origin if the wall clock was set by more than 0.1 seconds. Returns by how many seconds.
    mutating func follow(_ now: () -> Duration) -> TimeInterval {
        let before = now()
        let origin = date() - before / .seconds(1)
        let shift = origin.timeIntervalSince(self.origin)
        // If the thread had to wait between the readings, they do not belong together.
        guard abs(shift) > 0.1, now() - before < .milliseconds(10) else { return 0 }
        self.origin = origin
        return shift
    }
}
