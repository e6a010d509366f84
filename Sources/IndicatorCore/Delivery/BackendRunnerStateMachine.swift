import IndicatorThreads
import Logging

/// Decides which calls a backend receives, and when.
///
/// A plain value, like ``VisibilityStateMachine``: ``BackendRunner`` holds the lock, the thread and the timer.
struct BackendRunnerStateMachine: Sendable {
    /// A call to the backend.
    enum Operation: Sendable {
        case start
        case update(IndicatorSnapshot, isRepetition: Bool)
        case stop

        /// The name of the function.
        fileprivate var name: String {
            switch self {
            case .start: "start"
            case .update: "update"
            case .stop: "stop"
            }
        }
    }

    /// An event to log: what has happened to the backend, behind its name.
    typealias Event = (level: Logger.Level, text: String)

    private enum Phase: Sendable {
        /// The next call is `start()`.
        case idle
        /// `start()` or an update threw; the next call is `start()` at `retryAt`.
        case unavailable(retryAt: Duration)
        /// `start()` succeeded.
        case running
        /// An update threw, or the surface was lost; the next call is `stop()`.
        case failed
        /// No call follows.
        case stopped
    }

    private struct Finish: Sendable {
        var timeLimit: Duration
        var begunAt: Duration
        var progressAt: Duration

        /// When the backend is given up: a call has made no progress, or all of them together took too long.
        var deadline: Duration {
            min(progressAt + timeLimit, begunAt + max(timeLimit, BackendRunnerStateMachine.longestFinish))
        }
    }

    /// The longest time between two attempts to start a backend: a minute.
    static var longestRetryDelay: Duration { .seconds(60) }
    /// How long a backend must run until its earlier failures are forgotten: half a minute.
    static var successTime: Duration { .seconds(30) }
    /// How long a backend that makes progress may take to finish: 5 seconds.
    static var longestFinish: Duration { .seconds(5) }

    private let delivery: BackendDelivery
    private let retryScale: Double
    private var phase = Phase.idle
    private var call: (operation: Operation, begunAt: Duration)?
    private var inbox: SnapshotInbox
    private var latest: IndicatorSnapshot?
    /// The snapshot that the surface shows; `nil` if it has shown none since it was started.
    private var delivered: IndicatorSnapshot?
    private var repetitionDue: Duration?
    /// The earliest time of the next update; see ``BackendDelivery/minimumInterval``.
    private var nextUpdate: Duration?
    private var failures = 0
    private var startedAt = Duration.zero
    private var outage: String?
    private var finish: Finish?
    /// Whether a retry was requested during a call: if that fails, the next start follows immediately.
    private var isRetryDue = false
    /// Whether an unavailable backend has been tried once more since it is being ended.
    private var hadLastAttempt = false
    private(set) var isStalled = false
    private(set) var isGivenUp = false
    private(set) var updatesDelivered = 0
    private(set) var outages = 0
    private(set) var lastError: String?

    /// The times between attempts are multiplied by `retryScale`.
    init(delivery: BackendDelivery, retryScale: Double = 1) {
        self.delivery = delivery
        self.retryScale = retryScale
        inbox = SnapshotInbox(delivery: delivery)
    }

    /// Whether no call follows.
    var isStopped: Bool {
        if case .stopped = phase { true } else { false }
    }

    /// Whether callers that wait for the end can return.
    var isFinished: Bool { isStopped || isGivenUp }

    var backendState: BackendState {
        if isStopped { return .stopped }
        if isStalled { return .stalled }
        if let outage { return .unavailable(reason: outage) }
        if case .running = phase { return .running }
        return .starting
    }

    /// Whether there is no call to the backend now.
    var isIdle: Bool { call == nil }

    /// When ``advance(to:)`` or the next operation is due.
    var deadline: Duration? {
        var deadlines: [Duration] = []
        if let finish, !isFinished { deadlines.append(finish.deadline) }
        if let call {
            let limit = delivery.updateTimeLimit
            if !isStalled, limit < TimeSource.longest { deadlines.append(call.begunAt + limit) }
        } else if case .unavailable(let retryAt) = phase {
            deadlines.append(retryAt)
        } else if case .running = phase {
            if let nextUpdate, !inbox.isEmpty { deadlines.append(nextUpdate) }
            if let repetitionDue { deadlines.append(repetitionDue) }
        }
        return deadlines.min()
    }

    /// Receives a snapshot to show.
    mutating func post(_ snapshot: IndicatorSnapshot) {
        guard !isFinished, finish == nil else { return }
        latest = snapshot.withoutReports
        inbox.post(snapshot)
    }

    /// Starts an unavailable backend again immediately; one that is being called, if the call fails.
    mutating func retry(at now: Duration) -> [Event] {
        if call != nil { isRetryDue = true }
        if case .unavailable = phase { phase = .unavailable(retryAt: now) }
        return []
    }

    /// Stops and restarts a running backend that has lost its surface; one that is being ended, only during a call.
    mutating func surfaceWasLost(_ reason: String, at now: Duration) -> [Event] {
        guard case .running = phase, finish == nil || call != nil else { return [] }
        defer { phase = .failed }
        return fail(reason, at: now)
    }

    /// Whether the backend is being ended.
    var isFinishing: Bool { finish != nil }

    /// Ends the backend: the waiting snapshots are delivered, then it is stopped.
    mutating func finish(timeLimit: Duration, at now: Duration) {
        if finish == nil { finish = Finish(timeLimit: timeLimit, begunAt: now, progressAt: now) }
    }

    /// Begins the next call to the backend; `nil` if there is none now.
    mutating func nextOperation(at now: Duration) -> Operation? {
        guard call == nil else { return nil }
        guard let operation = nextCall(at: now) else { return nil }
        call = (operation, now)
        return operation
    }

    private mutating func nextCall(at now: Duration) -> Operation? {
        switch phase {
        case .idle where finish == nil || inbox.hasChanges(since: nil):
            // Also when finishing: a snapshot that was posted before the start must not be lost.
            hadLastAttempt = finish != nil
            return .start
        case .unavailable(let retryAt) where finish == nil:
            return retryAt <= now ? .start : nil
        case .unavailable where !hadLastAttempt && inbox.hasUndelivered:
            // What waits is lost otherwise, and the backend may be available again.
            hadLastAttempt = true
            return .start
        case .idle, .unavailable, .stopped:
            phase = .stopped
            return nil
        case .failed:
            return .stop
        case .running:
            let mayUpdate = finish != nil || nextUpdate.map { $0 <= now } ?? true
            if mayUpdate, let snapshot = inbox.take(delivered: delivered) {
                nextUpdate = delivery.minimumInterval > .zero ? now + delivery.minimumInterval : nil
                return .update(snapshot, isRepetition: false)
            }
            if finish != nil { return .stop }
            if let repetitionDue, repetitionDue <= now, let delivered { return .update(delivered, isRepetition: true) }
            return nil
        }
    }

    /// The current call has returned, or thrown an error with this text.
    mutating func finished(error: String?, at now: Duration) -> [Event] {
        guard let call = call.take() else { preconditionFailure("no call was under way in phase \(phase)") }
        var events: [Event] = []
        if isStalled {
            isStalled = false
            events.append((.notice, "has returned."))
        }
        finish?.progressAt = now
        repetitionDue = nil
        switch (call.operation, error) {
        case (.start, nil):
            phase = .running
            (delivered, nextUpdate, startedAt, isRetryDue) = (nil, nil, now, false)
            if let latest, inbox.isEmpty, !isGivenUp { inbox.restart(with: latest) }
        case (.start, let error?):
            events += fail(error, at: now)
            events.append(waitToRetry(from: now))
        case (.update(let snapshot, let isRepetition), nil):
            // A repetition must not report anything again.
            (delivered, isRetryDue) = (snapshot.withoutReports, false)
            inbox.hasShown(snapshot)
            if !isRepetition { updatesDelivered += 1 }
            if snapshot.isVisible, let interval = delivery.animationInterval {
                repetitionDue = max(call.begunAt + interval, now)
            }
        case (.update(let snapshot, let isRepetition), let error?):
            if !isRepetition, !isGivenUp { inbox.leave(snapshot) }
            // If the surface was lost during the call, that is the same failure.
            if case .running = phase { events += fail(error, at: now) } else { lastError = error }
            phase = .failed
        case (.stop, _):
            delivered = nil
            // After a failure, an attempt may be left.
            if finish == nil || outage != nil { events.append(waitToRetry(from: now)) } else { phase = .stopped }
        }
        if case .running = phase, outage != nil, !inbox.hasChanges(since: delivered) {
            outage = nil
            events.append((.notice, "is available again."))
        }
        return events
    }

    /// Processes the deadlines up to `now`.
    mutating func advance(to now: Duration) -> [Event] {
        var events: [Event] = []
        if let call, !isStalled, call.begunAt + delivery.updateTimeLimit <= now {
            isStalled = true
            let target = delivery.target.map { " (\($0))" } ?? ""
            let limit = delivery.updateTimeLimit
            events.append((.warning, "has not returned from '\(call.operation.name)'\(target) for \(limit)."))
        }
        if let finish, !isFinished, finish.deadline <= now {
            isGivenUp = true
            inbox = SnapshotInbox(delivery: delivery)
            events.append((.warning, "did not stop in time and was given up."))
        }
        return events
    }

    /// 1 s, 2 s, 4 s, … up to a minute, or a part of it.
    private var retryDelay: Duration {
        min(.seconds(1 << min(max(failures - 1, 0), 6)), Self.longestRetryDelay) * retryScale
    }

    private mutating func waitToRetry(from now: Duration) -> Event {
        let delay = exchange(&isRetryDue, with: false) ? .zero : retryDelay
        phase = .unavailable(retryAt: now + delay)
        return (.debug, "will be tried again in \(delay).")
    }

    private mutating func fail(_ error: String, at now: Duration) -> [Event] {
        // A surface that is lost again and again is tried as seldom as one that cannot be started.
        if case .running = phase, now - startedAt >= Self.successTime { failures = 0 }
        failures += 1
        lastError = error
        if outage == nil { outages += 1 }
        defer { outage = error }
        return outage == nil ? [(.warning, "is unavailable and will be tried again: \(error)")] : []
    }
}
