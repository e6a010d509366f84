import IndicatorCore
import IndicatorThreads

/// Notes what happens in a run, and when, on a clock that cannot be set.
final class RunRecorder: Sendable {
    /// Something that happened to a request.
    enum Step: Sendable, Hashable {
        case began
        case suspended
        case resumed
        case ended
    }

    /// Something that happened.
    enum Event: Sendable, Hashable {
        /// To a request.
        case request(RequestID, Step)
        /// All requests of a row of the plan have ended.
        case result(row: Int, StepResult)
        /// To the indicator, as a surface sees it.
        case visibility(Bool)
        /// The indicator was switched on or off, from a panel for example.
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
    /// All that happens, as it happens. For one reader.
    let stream: AsyncStream<Moment>

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// The time since the run began.
    var now: Duration { ContinuousClock.now - origin }

    /// All that has happened, in the order of time.
    var moments: [Moment] { state.withLock { $0.moments }.sorted { $0.time < $1.time } }

    /// Notes an event, unless the record is closed.
    func note(_ event: Event, at time: Duration) {
        let moment = Moment(event: event, time: time)
        state.withLock { state in
            guard !state.isClosed else { return }
            state.moments.append(moment)
            continuation.yield(moment)
        }
    }

    /// Notes an event at the time at which `announce` tells the indicator of it.
    ///
    /// The indicator reads its own clock somewhere within that call, so the middle of it is the best guess, however
    /// busy the machine is.
    func note(_ event: Event, announce: () -> Void) {
        let before = now
        announce()
        note(event, at: (before + now) / 2)
    }

    /// Takes no more events: the run is over, and what the shutdown does is no part of it.
    func close() {
        state.withLock { $0.isClosed = true }
        continuation.finish()
    }
}
