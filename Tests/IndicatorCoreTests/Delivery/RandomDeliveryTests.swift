import Foundation
import TestSupport
import Testing

@testable import IndicatorCore

/// Random traces of the inbox and of the runner's machine, checked against plain formulations of what they promise.
@Suite struct RandomDeliveryTests {
    /// Set `INDICATOR_TEST_SEED` to repeat a failing trace: it is then the first one.
    private static let seed =
        ProcessInfo.processInfo.environment["INDICATOR_TEST_SEED"].flatMap(UInt64.init) ?? 20_261_125
    private static let count: UInt64 = 1000

    @Test
    func `An inbox reports each period and each end once, in order, and ends in the current state`() async {
        var deliveries = 0
        for index in 0..<Self.count {
            if index.isMultiple(of: 100) { await Task.yield() }
            let seed = Self.seed &+ index
            var source = SnapshotSource(seed: seed)
            let delivery = source.delivery()
            var inbox = SnapshotInbox(delivery: delivery)
            var reports = Reports()
            var delivered: IndicatorSnapshot?
            for step in 0..<200 {
                let isLast = step == 199
                if !isLast, source.chance(3, of: 5) {
                    for _ in 0..<(source.chance(1, of: 40) ? 150 : 1) { inbox.post(source.next()) }
                    continue
                }
                let hasChanges = inbox.hasChanges(since: delivered)
                let taken = inbox.take(delivered: delivered)
                guard hasChanges == (taken != nil) else {
                    Issue.record("seed \(seed), step \(step): changes")
                    return
                }
                if let taken, !isLast, source.chance(1, of: 6) {
                    // The update failed.
                    inbox.leave(taken)
                    delivered = nil
                    if inbox.isEmpty { inbox.restart(with: source.latest) }
                } else if let taken {
                    deliveries += 1
                    if let wrong = reports.add(taken) {
                        Issue.record("seed \(seed), step \(step): \(wrong)")
                        return
                    }
                    inbox.hasShown(taken)
                    delivered = taken.withoutReports
                }
                if isLast, reports.period != source.latest.period {
                    Issue.record("seed \(seed): ends in period \(reports.period) of \(source.latest.period)")
                    return
                }
            }
        }
        // A generator whose inboxes never deliver anything would prove nothing.
        #expect(deliveries > Self.count * 5)
    }

    @Test("A backend that fails at any time is called in order, gets every end once, and ends in the current state")
    func runner() async {
        var (updates, failures) = (0, 0)
        for index in 0..<Self.count {
            if index.isMultiple(of: 100) { await Task.yield() }
            var trace = RunnerTrace(seed: Self.seed &+ index)
            if let wrong = trace.run() {
                Issue.record("seed \(Self.seed &+ index): \(wrong)")
                return
            }
            updates += trace.updates
            failures += trace.failures
        }
        #expect(updates > Int(Self.count) * 5 && failures > Int(Self.count))
    }
}

/// Random snapshots as an indicator publishes them, whose finished activities are numbered.
private struct SnapshotSource {
    private var generator: SplitMix
    private(set) var latest = IndicatorSnapshot(since: .distantPast)
    private(set) var finishedCount: UInt64 = 0

    init(seed: UInt64) {
        generator = SplitMix(state: seed)
    }

    mutating func chance(_ part: Int, of all: Int) -> Bool { Int.random(in: 0..<all, using: &generator) < part }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    mutating func delivery() -> BackendDelivery {
        BackendDelivery(
            includesHidden: chance(1, of: 2),
            animationInterval: chance(1, of: 3) ? .milliseconds(number(10...300)) : nil,
            minimumInterval: chance(1, of: 3) ? .milliseconds(number(1...2000)) : .zero
        )
    }

    mutating func next() -> IndicatorSnapshot {
        let states: [IndicatorState] =
            switch latest.state {
            case .inactive: [.inactive, .delayingStart, .active]
            case .delayingStart: [.inactive, .delayingStart, .active]
            case .active: [.active, .active, .delayingCompletion, .inactive]
            case .delayingCompletion: [.active, .delayingCompletion, .inactive]
            }
        let wasVisible = latest.isVisible
        latest.state = states[number(0...(states.count - 1))]
        if latest.isVisible != wasVisible { latest.period += 1 }
        latest.activityCount = number(0...2)
        var snapshot = latest
        for _ in 0..<(chance(1, of: 3) ? number(1...3) : chance(1, of: 20) ? 70 : 0) {
            var end = FinishedActivity(
                label: "\(finishedCount)",
                outcome: .succeeded,
                duration: .zero,
                date: .distantPast
            )
            end.id = finishedCount
            snapshot.finishedActivities.append(end)
            finishedCount += 1
        }
        snapshot.finishedActivities = snapshot.finishedActivities.takeAll()
        return snapshot
    }
}

/// What a receiver has been told.
private struct Reports {
    /// The last period, and how many activities have ended.
    private(set) var period = 0
    private(set) var endCount = 0

    /// Returns what is missing or wrong in a snapshot.
    mutating func add(_ snapshot: IndicatorSnapshot) -> String? {
        var omitted = snapshot.omittedTransitionCount
        if snapshot.transitions.count > IndicatorSnapshot.transitionLimit { return "too many transitions" }
        for snapshot in snapshot.withTransitions where snapshot.period != period {
            guard snapshot.period == period + 1 + omitted else {
                return "\(snapshot.period) after \(period), \(omitted)"
            }
            (period, omitted) = (snapshot.period, 0)
        }
        if omitted > 0 { return "omits \(omitted) that it lists" }
        if let first = snapshot.finished.first, Int(first.id) != endCount + snapshot.omittedFinishedCount {
            return "ends with \(first.id) after \(endCount)"
        }
        endCount += snapshot.finished.count + snapshot.omittedFinishedCount
        return nil
    }
}

/// A random life of a backend.
private struct RunnerTrace {
    private var source: SnapshotSource
    private let delivery: BackendDelivery
    private let retryScale: Double
    private var machine: BackendRunnerStateMachine
    private var now = Duration.zero
    /// What the backend has seen.
    private var isStarted = false
    private var mustStop = false
    private var shown: IndicatorSnapshot?
    private var reports = Reports()
    private var earliestStart = Duration.zero
    private var earliestUpdate = Duration.zero
    private var isEnding = false
    private(set) var updates = 0
    private(set) var failures = 0

    init(seed: UInt64) {
        source = SnapshotSource(seed: seed)
        delivery = source.delivery()
        retryScale = Double(source.number(1...4)) / 4
        machine = BackendRunnerStateMachine(delivery: delivery, retryScale: retryScale)
    }

    /// Returns what went wrong.
    mutating func run() -> String? {
        for step in 0..<80 {
            var wrong: String?
            switch source.number(0...9) {
            case 0...3: machine.post(source.next())
            case 4...7: wrong = call(mayFail: true)
            case 8: pass(.milliseconds(source.number(0...3000)))
            default:
                if source.chance(1, of: 4) {
                    _ = machine.retry(at: now)
                    earliestStart = min(earliestStart, now)
                } else if source.chance(1, of: 4), isStarted {
                    _ = machine.surfaceWasLost("lost", at: now)
                    mustStop = true
                }
            }
            if let wrong { return "step \(step): \(wrong)" }
        }
        return settle() ?? end()
    }

    private mutating func pass(_ time: Duration) {
        now += time
        _ = machine.advance(to: now)
    }

    /// Lets the machine make its next call, which may fail.
    private mutating func call(mayFail: Bool) -> String? {
        guard let operation = machine.nextOperation(at: now) else {
            // What waits for the interval is not forgotten.
            let deadline = machine.deadline
            return deadline.map { $0 <= now } ?? false ? "nothing to do at its own deadline" : nil
        }
        let begin = now
        guard machine.nextOperation(at: now) == nil else { return "two calls at once" }
        let fails = mayFail && source.chance(1, of: 4)
        if source.chance(1, of: 4) {
            pass(.milliseconds(source.number(0...8000)))
            if source.chance(1, of: 2) { machine.post(source.next()) }
        }
        failures += fails ? 1 : 0
        switch operation {
        case .start:
            if isStarted { return "start() of a started backend" }
            if now < earliestStart, !isEnding { return "start() at \(now), before \(earliestStart)" }
            (isStarted, shown, earliestUpdate) = (!fails, nil, .zero)
        case .update(let snapshot, let isRepetition):
            if !isStarted || mustStop { return "update after a failure" }
            if isRepetition, snapshot != shown || !snapshot.isVisible { return "repeats \(snapshot)" }
            if !isRepetition, !snapshot.differs(from: shown) { return "no news" }
            if !isRepetition {
                if begin < earliestUpdate, !isEnding { return "update at \(begin), before \(earliestUpdate)" }
                earliestUpdate = begin + delivery.minimumInterval
            }
            updates += 1
            if fails {
                mustStop = true
            } else if let wrong = isRepetition ? nil : reports.add(snapshot) {
                return wrong
            } else {
                shown = snapshot.withoutReports
            }
        case .stop:
            if !isStarted { return "stop() of a stopped backend" }
            (isStarted, mustStop, shown) = (false, false, nil)
        }
        _ = machine.finished(error: fails ? "failed" : nil, at: now)
        // At least a second, or its part, passes before another attempt, and a minute at most.
        if !isStarted { earliestStart = now + .seconds(1) * retryScale }
        return nil
    }

    /// Without failures, the backend shows the latest state after at most a minute.
    private mutating func settle() -> String? {
        let end = now + .seconds(61)
        if source.chance(1, of: 2) { machine.post(source.next()) }
        while true {
            if let wrong = call(mayFail: false) { return wrong }
            // What a hidden or ending indicator reports may wait for the next snapshot that is noticed.
            let isCurrent =
                switch source.latest.state {
                case .active: shown == source.latest && reports.endCount == source.finishedCount
                case .delayingCompletion: shown == source.latest || !delivery.includesHidden
                case .inactive, .delayingStart: shown == source.latest || shown?.isVisible != true
                }
            if isStarted, !mustStop, isCurrent { return nil }
            guard now < end else {
                return "shows \(shown as Any) and \(reports.endCount) ends instead of \(source.latest)"
            }
            pass(.milliseconds(500))
        }
    }

    /// After the end, the calls end within its limit.
    private mutating func end() -> String? {
        machine.finish(timeLimit: .seconds(1), at: now)
        isEnding = true
        let limit = now + .seconds(5)
        for _ in 0..<100 where !machine.isFinished {
            guard now <= limit else { return "has not ended" }
            if let wrong = call(mayFail: true) { return wrong }
        }
        pass(.seconds(5))
        guard machine.isFinished else { return "has not ended" }
        for _ in 0..<3 where !machine.isGivenUp {
            if machine.nextOperation(at: now) != nil { return "a call after the end" }
        }
        return nil
    }
}
