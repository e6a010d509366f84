/// Reads an injected clock as the time since the source was made.
///
/// The type of the clock's instants stays inside, so that the state machine, the manager and the runners compute with plain
/// `Duration`s whichever clock they run on.
package class TimeSource: @unchecked Sendable {
    // `@unchecked`: the class and its subclasses have no mutable state.

    fileprivate init() {}

    /// The time since the source was made.
    package var now: Duration { preconditionFailure("abstract") }

    /// Waits until `deadline`, or throws when the task is cancelled.
    package func sleep(until deadline: Duration) async throws { preconditionFailure("abstract") }

    /// A source that reads `clock`.
    package static func reading(_ clock: any Clock<Duration>) -> TimeSource {
        func open<C: Clock<Duration>>(_ clock: C) -> TimeSource { ClockTimeSource(clock) }
        return open(clock)
    }
}

private final class ClockTimeSource<C: Clock<Duration>>: TimeSource, @unchecked Sendable {
    private let clock: C
    private let origin: C.Instant

    init(_ clock: C) {
        self.clock = clock
        origin = clock.now
    }

    override var now: Duration { origin.duration(to: clock.now) }

    override func sleep(until deadline: Duration) async throws {
        try await clock.sleep(until: origin.advanced(by: deadline), tolerance: nil)
    }
}
