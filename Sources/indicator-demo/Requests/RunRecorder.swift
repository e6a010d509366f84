import IndicatorCore
import IndicatorTesting

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

    /// Closes the record at the end of the run: the effects of the shutdown are not part of it.
    func close() {
        state.withLock { $0.isClosed = true }
        continuation.finish()
    }
}

/// The result of a step.
struct StepResult: Sendable, Hashable {
    /// The outcomes of its requests, in the order of their ends.
    var outcomes: [RequestOutcome]
    /// The unexpected response, if there was one.
    var problem: String?

    /// The outcomes: `200 OK`, `20 times from cache`.
    var summary: String {
        var runs: [(text: String, count: Int)] = []
        for text in outcomes.map(\.text) {
            if runs.last?.text == text { runs[runs.count - 1].count += 1 } else { runs.append((text, 1)) }
        }
        return runs.map { $0.count == 1 ? $0.text : "\($0.count) times \($0.text)" }.joined(separator: ", ")
    }

    /// The outcomes, and what is wrong.
    var text: String {
        // A failure without a problem is part of the plan.
        guard let problem else {
            return isSuccess || outcomes.contains(.cancelled) ? summary : "\(summary), as planned"
        }
        return summary.isEmpty ? problem : "\(summary): \(problem)"
    }

    /// Whether all requests were successful.
    var isSuccess: Bool { problem == nil && outcomes.allSatisfy(\.isSuccess) }
}

extension RunRecorder {
    /// When the indicator was shown and hidden.
    func observedVisibility() -> [VisibilityChange] {
        moments.compactMap { moment in
            guard case .visibility(let isVisible) = moment.event else { return nil }
            return VisibilityChange(isVisible: isVisible, instant: moment.time)
        }
    }

    /// When the indicator should have been shown and hidden, computed from when the requests began, paused and ended.
    func expectedVisibility(delays: IndicatorDelays, isEnabled: Bool) -> [VisibilityChange] {
        let replay = ActivityReplay(delays: delays, isEnabled: isEnabled)
        var changes: [VisibilityChange] = []
        for moment in moments {
            switch moment.event {
            case .request(let id, .began), .request(let id, .resumed):
                changes += replay.apply(.start(id: "\(id)"), at: moment.time)
            case .request(let id, .suspended), .request(let id, .ended):
                changes += replay.apply(.stop(id: "\(id)"), at: moment.time)
            case .visibility, .result:
                break
            }
        }
        changes += replay.finish()
        return changes
    }
}
