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
        case starting
        /// The same, but it has reported that the surface is not available.
        case reported(retryAt: Duration)
        /// It has shown all that it got. Whether it waits for the next update, or does something of its own.
        case asking(Surface, waits: Bool)
        case showing(IndicatorUpdate, Surface)
        /// The updates have ended.
        case ending

        /// Whether it has something to finish, within the time limit.
        var isWork: Bool {
            switch self {
            case .starting, .showing, .ending: true
            case .reported, .asking: false
            }
        }

        /// What the backend has not done when it stalls.
        var verb: String {
            switch self {
            case .starting, .reported: "started"
            case .asking, .showing: "shown an update"
            case .ending: "ended"
            }
        }
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
    /// When the work of the current step has begun, and whether it has taken longer than the time limit.
    private var workSince = Duration.zero
    private var isStalled = false
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
        case (_, _?) where isStalled: status.state = .stalled
        case _ where outage != nil: status.state = .unavailable(reason: outage ?? "")
        case (_, .asking), (_, .showing), (_, .ending): status.state = .running
        default: status.state = .starting
        }
        return status
    }

    /// Whether the backend does nothing now.
    var isIdle: Bool {
        if case .asking(_, waits: let waits) = step { waits } else { !(step?.isWork ?? false) }
    }

    /// When ``advance(to:)`` or the next action is due.
    var deadline: Duration? {
        if step?.isWork == true {
            let limit = delivery.updateTimeLimit
            return isStalled || limit >= TimeSource.longest ? nil : workSince + limit
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
        if case .showing(let update, _) = step, !update.isRepetition { inbox.giveBack(update) }
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
        let surface: Surface
        switch step {
        case .starting, .reported:
            surface = Surface(startedAt: now)
            if let latest, inbox.isEmpty, ending != .givenUp { inbox.restart(with: latest) }
        case .showing(let update, let before): surface = hasShown(update, before, at: now)
        case .asking(let before, _): surface = before
        case .ending: return endStall()
        case nil: return
        }
        endStall()
        phase = .running(.asking(surface, waits: true))
        if outage != nil, !inbox.hasChanges(since: surface.shown) {
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
        guard case .running(.showing(let update, let surface)) = phase else { return }
        endStall()
        phase = .running(.asking(hasShown(update, surface, at: now), waits: false))
    }

    private mutating func hasShown(_ update: IndicatorUpdate, _ before: Surface, at now: Duration) -> Surface {
        var surface = before
        (surface.shown, surface.repetitionDue) = (update.snapshot, nil)
        inbox.hasShown(update)
        if !update.isRepetition { counts.updatesDelivered += 1 }
        if update.snapshot.isVisible, let interval = delivery.animationInterval {
            surface.repetitionDue = max(workSince + interval, now)
        }
        return surface
    }

    private mutating func endStall() {
        progress += 1
        if exchange(&isStalled, with: false) { events.append((.notice, "goes on.")) }
    }

    /// The backend has reported that its surface is not available. Returns when it is called again if it fails.
    mutating func reportUnavailable(_ error: String, at now: Duration) -> Duration {
        guard case .running(.starting) = phase else { return .zero }
        endStall()
        fail(error)
        phase = .running(.reported(retryAt: now + retryDelay))
        return retryDelay
    }

    /// The function has returned, or thrown an error with this text.
    mutating func returned(error: String?, at now: Duration) {
        guard let step else { preconditionFailure("the function does not run in \(phase)") }
        endStall()
        if case .showing(let update, _) = step, !update.isRepetition, ending != .givenUp { inbox.giveBack(update) }
        // It was asked to end.
        if isEnding, error == nil { return stop() }
        let reason = error ?? "it has ended before the updates"
        var retryAt: Duration?
        switch step {
        case .ending:
            counts.lastError = error ?? counts.lastError
            return stop()
        case .starting: fail(reason)
        case .reported(let time): (counts.lastError, outage, retryAt) = (reason, reason, time)
        case .asking(let surface, _), .showing(_, let surface): fail(reason, startedAt: surface.startedAt, at: now)
        }
        phase = .unavailable(retryAt: retryAt ?? now + retryDelay)
        let delay = retryAt.map { max($0 - now, .zero) } ?? retryDelay
        if !isEnding { events.append((.debug, "will be tried again in \(delay).")) }
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
        guard let step, step.isWork, !isStalled, workSince + delivery.updateTimeLimit <= now else { return }
        isStalled = true
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
            let hides = surface.shown?.isVisible == true && latest?.isVisible == false
            if isEnding || hides || surface.nextUpdate.map({ $0 <= now }) ?? true,
                let update = inbox.take(delivered: surface.shown)
            {
                surface.nextUpdate = delivery.minimumInterval > .zero ? now + delivery.minimumInterval : nil
                return begin(.showing(update, surface), .deliver(update), at: now)
            }
            if isEnding {
                return begin(.ending, .end, at: now)
            }
            if let due = surface.repetitionDue, due <= now, let shown = surface.shown {
                let update = IndicatorUpdate(shown, isRepetition: true)
                return begin(.showing(update, surface), .deliver(update), at: now)
            }
            return nil
        case .running: return nil
        }
    }

    private mutating func show(at now: Duration) -> Action {
        attempt += 1
        return begin(.starting, .show(attempt: attempt), at: now)
    }

    private mutating func begin(_ step: Step, _ action: Action, at now: Duration) -> Action {
        (phase, workSince) = (.running(step), now)
        return action
    }
}
