import IndicatorThreads
import Logging

/// Decides when a backend's function is called, and which updates it receives.
///
/// A plain value, like ``VisibilityStateMachine``: ``BackendRunner`` holds the lock, the thread, the timer and the
/// continuation of the backend that waits.
struct BackendRunnerStateMachine: Sendable {
    /// What to do with the backend.
    enum Action: Sendable {
        /// Call its function.
        case show(attempt: Int)
        /// Give it the update that it waits for.
        case deliver(IndicatorUpdate)
        /// End the updates that it waits for.
        case end
    }

    /// An event to log: what has happened to the backend, behind its name.
    typealias Event = (level: Logger.Level, text: String)

    private enum Phase: Sendable {
        /// The function is to be called.
        case idle
        /// The function runs.
        case running(Step)
        /// It has failed, and is to be called again.
        case unavailable(retryAt: Duration)
        /// It is not called again.
        case stopped
    }

    /// What the function does.
    private enum Step: Sendable {
        /// It has not asked for an update.
        case starting(Work)
        /// The same, but it has reported that the surface is not available.
        case reported(retryAt: Duration)
        /// It has shown all that it got. Whether it waits for the next update, or does something of its own.
        case asking(Surface, waits: Bool)
        case showing(IndicatorUpdate, Work, Surface)
        /// The updates have ended.
        case ending(Work)

        /// What the backend has to finish, if anything.
        var work: Work? {
            get {
                switch self {
                case .starting(let work), .showing(_, let work, _), .ending(let work): work
                case .reported, .asking: nil
                }
            }
            set {
                guard let work = newValue else { return }
                switch self {
                case .starting: self = .starting(work)
                case .showing(let update, _, let surface): self = .showing(update, work, surface)
                case .ending: self = .ending(work)
                case .reported, .asking: break
                }
            }
        }

        /// What it has not done when it stalls.
        var verb: String {
            switch self {
            case .starting, .reported: "started"
            case .asking, .showing: "shown an update"
            case .ending: "ended"
            }
        }
    }

    private struct Work: Sendable {
        var since: Duration
        var isStalled = false
    }

    /// What the backend shows.
    private struct Surface: Sendable {
        var startedAt: Duration
        /// `nil` if it has shown nothing since it was started.
        var shown: IndicatorSnapshot?
        var repetitionDue: Duration?
        /// The earliest time of the next update; see ``BackendDelivery/minimumInterval``.
        var nextUpdate: Duration?
    }

    private enum Ending: Sendable, Equatable {
        case none
        /// What waits is delivered. An unavailable backend is called once more.
        case delivering(hadLastAttempt: Bool)
        /// Nothing waits for the backend any more.
        case givenUp
    }

    /// The longest time between two attempts to start a backend: a minute.
    static var longestRetryDelay: Duration { .seconds(60) }
    /// How long a backend must run until its earlier failures are forgotten: half a minute.
    static var successTime: Duration { .seconds(30) }

    private let delivery: BackendDelivery
    private let retryScale: Double
    private var phase = Phase.idle
    private var ending = Ending.none
    private var inbox: UpdateInbox
    private var latest: IndicatorSnapshot?
    private var failures = 0
    private var outage: String?
    private var counts: BackendStatus
    private var events: [Event] = []
    /// The number of the current call of the function, or of the last one.
    private(set) var attempt = 0
    /// Grows with each step of the backend.
    private(set) var progress = 0

    /// The times between attempts are multiplied by `retryScale`.
    init(name: String = "", delivery: BackendDelivery, retryScale: Double = 1) {
        self.delivery = delivery
        self.retryScale = retryScale
        inbox = UpdateInbox(delivery: delivery)
        counts = BackendStatus(name: name, state: .starting)
    }

    // MARK: - Reading

    /// Whether the function is not called again.
    var isStopped: Bool {
        if case .stopped = phase { true } else { false }
    }

    /// Whether callers that wait for the end can return.
    var isFinished: Bool { isStopped || ending == .givenUp }

    /// Whether the backend is being ended.
    var isEnding: Bool { ending != .none }

    private var step: Step? {
        if case .running(let step) = phase { step } else { nil }
    }

    var status: BackendStatus {
        var status = counts
        switch (phase, step) {
        case (.stopped, _): status.state = .stopped
        case (_, let step?) where step.work?.isStalled == true: status.state = .stalled
        case _ where outage != nil: status.state = .unavailable(reason: outage ?? "")
        case (_, .asking), (_, .showing), (_, .ending): status.state = .running
        default: status.state = .starting
        }
        return status
    }

    /// Whether the backend does nothing now.
    var isIdle: Bool {
        switch step {
        case .starting, .asking(_, waits: false), .showing, .ending: false
        case nil, .reported, .asking(_, waits: true): true
        }
    }

    /// When ``advance(to:)`` or the next action is due.
    var deadline: Duration? {
        if let work = step?.work {
            let limit = delivery.updateTimeLimit
            return work.isStalled || limit >= TimeSource.longest ? nil : work.since + limit
        }
        switch phase {
        case .unavailable(let retryAt): return retryAt
        case .running(.asking(let surface, waits: true)):
            let due = inbox.isEmpty ? nil : surface.nextUpdate
            return [due, surface.repetitionDue].compactMap(\.self).min()
        default: return nil
        }
    }

    /// Removes and returns what is to be logged.
    mutating func takeEvents() -> [Event] { exchange(&events, with: []) }

    // MARK: - Inputs: the indicator

    /// Receives an update to show.
    mutating func post(_ update: IndicatorUpdate) {
        guard !isFinished, !isEnding else { return }
        latest = update.snapshot
        inbox.post(update)
    }

    /// Ends the backend: what waits is delivered before.
    mutating func finish() {
        guard !isEnding else { return }
        ending = .delivering(hadLastAttempt: false)
        inbox.close()
    }

    /// Ends the backend, or stops waiting for it, without delivering what waits.
    mutating func giveUp() {
        guard !isFinished else { return }
        if case .showing(let update, _, _) = step, !update.isRepetition { inbox.giveBack(update) }
        events.append((.warning, "did not stop in time and was given up."))
        countLost()
        ending = .givenUp
    }

    private mutating func countLost() {
        let (activities, showings) = inbox.lost
        inbox = UpdateInbox(delivery: delivery)
        counts.lost = activities + showings
        guard counts.lost > 0 else { return }
        let text = [(activities, "ended activit", "y", "ies"), (showings, "showing", "", "s")]
            .compactMap { count, noun, one, many in count == 0 ? nil : "\(count) \(noun)\(count == 1 ? one : many)" }
        events.append((.warning, "has ended before it could show \(text.joined(separator: " and "))."))
    }

    // MARK: - Inputs: the backend

    /// The backend has shown what it got, and waits for the next update.
    mutating func ask(at now: Duration) {
        guard case .running(var step) = phase else { return }
        endStall(of: &step)
        switch step {
        case .starting, .reported:
            step = .asking(Surface(startedAt: now), waits: true)
            if let latest, inbox.isEmpty, ending != .givenUp { inbox.restart(with: latest) }
        case .showing(let update, let work, let surface):
            step = .asking(hasShown(update, work, surface, at: now), waits: true)
        case .asking(let surface, _): step = .asking(surface, waits: true)
        case .ending: break
        }
        phase = .running(step)
        if case .asking(let surface, _) = step, outage != nil, !inbox.hasChanges(since: surface.shown) {
            outage = nil
            events.append((.notice, "is available again."))
        }
    }

    /// The backend waits for an update no longer, because of an event of its own.
    mutating func withdraw() {
        if case .running(.asking(let surface, _)) = phase { phase = .running(.asking(surface, waits: false)) }
    }

    /// The backend has shown the update, or wants it no more.
    mutating func consume(at now: Duration) {
        guard case .running(var step) = phase, case .showing(let update, let work, let surface) = step else { return }
        endStall(of: &step)
        phase = .running(.asking(hasShown(update, work, surface, at: now), waits: false))
    }

    private mutating func hasShown(
        _ update: IndicatorUpdate,
        _ work: Work,
        _ surface: Surface,
        at now: Duration
    ) -> Surface {
        var surface = surface
        (surface.shown, surface.repetitionDue) = (update.snapshot, nil)
        inbox.hasShown(update)
        if !update.isRepetition { counts.updatesDelivered += 1 }
        if update.snapshot.isVisible, let interval = delivery.animationInterval {
            surface.repetitionDue = max(work.since + interval, now)
        }
        return surface
    }

    private mutating func endStall(of step: inout Step) {
        progress += 1
        guard step.work?.isStalled == true else { return }
        step.work?.isStalled = false
        events.append((.notice, "goes on."))
    }

    /// The backend has reported that its surface is not available. Returns when it is called again if it fails.
    mutating func reportUnavailable(_ error: String, at now: Duration) -> Duration {
        guard case .running(.starting(let work)) = phase else { return .zero }
        var step = Step.starting(work)
        endStall(of: &step)
        fail(error)
        phase = .running(.reported(retryAt: now + retryDelay))
        return retryDelay
    }

    /// The function has returned, or thrown an error with this text.
    mutating func returned(error: String?, at now: Duration) {
        guard case .running(var step) = phase else { preconditionFailure("the function does not run in \(phase)") }
        endStall(of: &step)
        if isEnding, error == nil {
            // It was asked to end.
            if case .showing(let update, _, _) = step, !update.isRepetition, ending != .givenUp {
                inbox.giveBack(update)
            }
            return stop()
        }
        let reason = error ?? "it has ended before the updates"
        var retryAt: Duration?
        switch step {
        case .ending:
            counts.lastError = error ?? counts.lastError
            return stop()
        case .starting: fail(reason)
        case .reported(let time): (counts.lastError, outage, retryAt) = (reason, reason, time)
        case .asking(let surface, _): fail(reason, startedAt: surface.startedAt, at: now)
        case .showing(let update, _, let surface):
            if !update.isRepetition, ending != .givenUp { inbox.giveBack(update) }
            fail(reason, startedAt: surface.startedAt, at: now)
        }
        phase = .unavailable(retryAt: retryAt ?? now + retryDelay)
        if !isEnding { events.append((.debug, "will be tried again in \(retryAt.map { $0 - now } ?? retryDelay).")) }
    }

    /// 1 s, 2 s, 4 s, … up to a minute, or a part of it.
    private var retryDelay: Duration {
        min(.seconds(1 << min(max(failures - 1, 0), 6)), Self.longestRetryDelay) * retryScale
    }

    private mutating func fail(_ error: String, startedAt: Duration? = nil, at now: Duration = .zero) {
        // A surface that is lost again and again is tried as seldom as one that cannot be started.
        if let startedAt, now - startedAt >= Self.successTime { failures = 0 }
        failures += 1
        counts.lastError = error
        if outage == nil {
            counts.outages += 1
            events.append((.warning, "is unavailable\(isEnding ? "" : " and will be tried again"): \(error)"))
        }
        outage = error
    }

    private mutating func stop() {
        phase = .stopped
        if ending != .givenUp { countLost() }
    }

    // MARK: - Inputs: time

    /// Processes the deadlines up to `now`.
    mutating func advance(to now: Duration) {
        guard case .running(var step) = phase, let work = step.work, !work.isStalled,
            work.since + delivery.updateTimeLimit <= now
        else { return }
        step.work?.isStalled = true
        phase = .running(step)
        let target = delivery.target.map { " (\($0))" } ?? ""
        events.append((.warning, "has not \(step.verb)\(target) for \(delivery.updateTimeLimit)."))
    }

    /// Begins what is to be done now; `nil` if there is nothing.
    mutating func next(at now: Duration) -> Action? {
        switch phase {
        case .stopped: return nil
        case .idle where !isEnding: return show(at: now)
        case .unavailable(let retryAt) where !isEnding: return retryAt <= now ? show(at: now) : nil
        case .idle, .unavailable:
            // What waits is lost otherwise, and the backend may be available again.
            if ending == .delivering(hadLastAttempt: false), inbox.hasUndelivered {
                ending = .delivering(hadLastAttempt: true)
                return show(at: now)
            }
            stop()
            return nil
        case .running(.asking(var surface, waits: true)):
            if isEnding || surface.nextUpdate.map({ $0 <= now }) ?? true,
                let update = inbox.take(delivered: surface.shown)
            {
                surface.nextUpdate = delivery.minimumInterval > .zero ? now + delivery.minimumInterval : nil
                return deliver(update, surface, at: now)
            }
            if isEnding {
                phase = .running(.ending(Work(since: now)))
                return .end
            }
            if let due = surface.repetitionDue, due <= now, let shown = surface.shown {
                return deliver(IndicatorUpdate(shown, isRepetition: true), surface, at: now)
            }
            return nil
        case .running: return nil
        }
    }

    private mutating func show(at now: Duration) -> Action {
        attempt += 1
        phase = .running(.starting(Work(since: now)))
        return .show(attempt: attempt)
    }

    private mutating func deliver(_ update: IndicatorUpdate, _ surface: Surface, at now: Duration) -> Action {
        phase = .running(.showing(update, Work(since: now), surface))
        return .deliver(update)
    }
}
