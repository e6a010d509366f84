public import IndicatorCore

/// A clock whose time only changes when a test advances it.
///
/// ```swift
/// let clock = VirtualClock()
/// let indicator = IndicatorManager(backends: [backend], clock: clock)
/// indicator.start("upload")
/// clock.advance(by: .seconds(1))
/// ```
public final class VirtualClock: Clock {
    /// An instant of the clock.
    public struct Instant: InstantProtocol {
        /// The time since the clock's start.
        public var offset: Duration

        /// Creates an instant.
        public init(offset: Duration = .zero) {
            self.offset = offset
        }

        /// The instant after a duration.
        public func advanced(by duration: Duration) -> Self {
            Self(offset: offset + duration)
        }

        /// The duration to another instant.
        public func duration(to other: Self) -> Duration {
            other.offset - offset
        }

        /// Whether an instant is earlier than another one.
        public static func < (lhs: Self, rhs: Self) -> Bool {
            lhs.offset < rhs.offset
        }
    }

    private struct Sleeper {
        var id: Int
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant()
        var sleepers: [Sleeper] = []
        var nextID = 0
        var sleepsStarted = 0
    }

    private let state = Locked(State())

    /// Creates a clock at offset zero.
    public init() {}

    /// The current time of the clock.
    public var now: Instant {
        state.withLock { $0.now }
    }

    /// The minimum difference of two instants: a nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The deadlines of sleeping tasks, earliest first, as offsets from the clock's start.
    public var deadlines: [Duration] {
        state.withLock { $0.sleepers.map(\.deadline.offset).sorted() }
    }

    /// The total number of started sleeps, to test what a component schedules.
    public var sleepsStarted: Int {
        state.withLock { $0.sleepsStarted }
    }

    /// Waits until the clock reaches a deadline.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            state.sleepsStarted += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let immediate: Result<Void, any Error>? = state.withLock { state in
                    // Under the lock: a cancellation after this check finds the sleeper.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
                    state.sleepers.append(Sleeper(id: id, deadline: deadline, continuation: continuation))
                    return nil
                }
                if let immediate { continuation.resume(with: immediate) }
            }
        } onCancel: {
            let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else { return nil }
                return state.sleepers.remove(at: index).continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    /// Advances the clock and resumes the tasks whose deadlines have passed, in the order of the deadlines. They run
    /// asynchronously: wait for a condition, not for a time.
    public func advance(by duration: Duration) {
        let due = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let due = state.sleepers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
            state.sleepers.removeAll { $0.deadline <= now }
            return due.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// Advances the clock from deadline to deadline, and returns when what was due has run: the indicator has been
    /// shown and hidden, and its backends have received their snapshots.
    ///
    /// ```swift
    /// indicator.start("upload")
    /// await clock.advance(by: .seconds(1), settling: indicator)
    /// #expect(backend.isVisible)
    /// ```
    ///
    /// Tasks of the app that sleep on the clock are resumed at their deadlines, but they run on: for them, wait for a
    /// condition. A backend whose call never returns is waited for.
    ///
    /// - Parameters:
    ///   - duration: how long.
    ///   - indicator: an indicator with this clock.
    public func advance(by duration: Duration, settling indicator: IndicatorManager) async {
        let end = now.offset + duration
        while true {
            let next = await indicator.engine.settle()
            let left = end - now.offset
            guard left > .zero else { return }
            let steps = [next, deadlines.first.map { $0 - now.offset }].compactMap(\.self).filter { $0 > .zero }
            advance(by: min(steps.min() ?? left, left))
        }
    }

    /// Advances the clock to an offset from its start. An offset in the past has no effect.
    public func advance(to offset: Duration) {
        let difference = offset - now.offset
        if difference > .zero { advance(by: difference) }
    }
}
