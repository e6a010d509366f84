import IndicatorCore
import IndicatorThreads

/// Records the events of a run with their times, on a monotonic clock.
final class RunRecorder: Sendable {
    /// An event of a request.
    enum Step: Sendable, Hashable {
        case began
        case suspended
        case resumed
        case ended
    }

    /// An event of a run.
    enum Event: Sendable, Hashable {
        /// An event of a request.
        case request(RequestID, Step)
        /// All requests of a row of the plan have ended.
        case result(row: Int, StepResult)
        /// The indicator was shown or hidden, as a backend receives it.
        case visibility(Bool)
        /// The indicator was enabled or disabled, for example from a panel.
        case enabled(Bool)
    }

    /// An event and its time since the run began.
    struct Moment: Sendable, Hashable {
        var event: Event
        var time: Duration
    }

    private struct State: Sendable {
        var moments: [Moment] = []
        var isClosed = false
    }

    private let origin = ContinuousClock.now
    private let state = Locked(State())
    private let continuation: AsyncStream<Moment>.Continuation
    /// All events as they are recorded. For one reader.
    let stream: AsyncStream<Moment>

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// The time since the run began.
    var now: Duration { ContinuousClock.now - origin }

    /// All recorded events, in the order of time.
    var moments: [Moment] { state.withLock { $0.moments }.sorted { $0.time < $1.time } }

    /// Records an event, unless the record is closed.
    func note(_ event: Event, at time: Duration) {
        let moment = Moment(event: event, time: time)
        state.withLock { state in
            guard !state.isClosed else { return }
            state.moments.append(moment)
            continuation.yield(moment)
        }
    }

    /// Records an event at the time at which `announce` announces it to the indicator.
    ///
    /// The indicator reads its own clock during that call. The middle of the call is the best estimate.
    func note(_ event: Event, announce: () -> Void) {
        let before = now
        announce()
        note(event, at: (before + now) / 2)
    }

    /// Closes the record at the end of the run: the effects of the shutdown are not part of it.
    func close() {
        state.withLock { $0.isClosed = true }
        continuation.finish()
    }
}
