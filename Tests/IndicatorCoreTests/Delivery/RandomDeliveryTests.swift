import TestSupport

@testable import IndicatorCore

/// Random traces of the runner's machine with its inbox, checked against a plain formulation of what they promise.
@Suite struct RandomDeliveryTests {
    private static let count = 300

    @Test("A backend that fails at any time is called in order, gets every end once, and ends in the current state")
    func runner() async {
        var (updates, failures) = (0, 0)
        await forEachSeed(Self.count) { seed in
            var trace = RunnerTrace(seed: seed)
            let wrong = trace.run()
            updates += trace.updates
            failures += trace.failures
            return wrong
        }
        // A generator whose backends never get or fail anything would prove nothing.
        #expect(updates > Self.count * 5 && failures > Self.count)
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

    mutating func next() -> IndicatorUpdate {
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
        var finished = FinishedActivities()
        for _ in 0..<(chance(1, of: 3) ? number(1...3) : chance(1, of: 20) ? 70 : 0) {
            var end = FinishedActivity(
                label: "\(finishedCount)",
                outcome: .succeeded,
                duration: .zero,
                date: .distantPast
            )
            end.id = finishedCount
            finished.append(FinishedActivities(latest: [end]))
            finishedCount += 1
        }
        return IndicatorUpdate(latest, finished.takeAll())
    }
}

/// What a receiver has been told.
private struct Reports {
    /// The last period, and how many activities have ended.
    private(set) var period = 0
    private(set) var endCount = 0

    /// Returns what is missing or wrong in a snapshot.
    mutating func add(_ update: IndicatorUpdate) -> String? {
        var omitted = update.omittedTransitions
        if update.transitions.count > IndicatorUpdate.transitionLimit { return "too many transitions" }
        for snapshot in update.steps.map(\.snapshot) where snapshot.period != period {
            guard snapshot.period == period + 1 + omitted else {
                return "\(snapshot.period) after \(period), \(omitted)"
            }
            (period, omitted) = (snapshot.period, 0)
        }
        if omitted > 0 { return "omits \(omitted) that it lists" }
        if let first = update.finished.first, Int(first.id) != endCount + update.omittedFinished {
            return "ends with \(first.id) after \(endCount)"
        }
        endCount += update.finished.count + update.omittedFinished
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
    /// What the backend does: `nil` while its function does not run.
    private var isStarted: Bool?
    private var showing: IndicatorUpdate?
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
            case 0...3: for _ in 0..<(source.chance(1, of: 40) ? 150 : 1) { machine.post(source.next()) }
            case 4...8: wrong = turn(mayFail: true)
            default: pass(.milliseconds(source.number(0...3000)))
            }
            if let wrong { return "step \(step): \(wrong)" }
        }
        return settle() ?? end()
    }

    private mutating func pass(_ time: Duration) {
        now += time
        machine.advance(to: now)
    }

    /// Lets the machine do what is due, and the backend what follows, which may fail.
    private mutating func turn(mayFail: Bool) -> String? {
        guard let action = machine.next(at: now) else {
            if isStarted == true, showing == nil, mayFail, source.chance(1, of: 20) { fail() }
            // What waits for the interval is not forgotten.
            return machine.deadline.map { $0 <= now } ?? false ? "nothing to do at its own deadline" : nil
        }
        let begin = now
        guard machine.next(at: now) == nil else { return "two actions at once" }
        let fails = mayFail && source.chance(1, of: 4)
        if source.chance(1, of: 4) {
            pass(.milliseconds(source.number(0...8000)))
            if !isEnding, source.chance(1, of: 2) { machine.post(source.next()) }
        }
        switch action {
        case .show:
            if isStarted != nil { return "the function is called twice" }
            if begin < earliestStart, !isEnding { return "called at \(begin), before \(earliestStart)" }
            (isStarted, shown, earliestUpdate) = (false, nil, .zero)
        case .deliver(let update):
            if isStarted != true { return "an update before it asks" }
            if update.isRepetition, update.snapshot != shown || !update.snapshot.isVisible {
                return "repeats \(update)"
            }
            if !update.isRepetition {
                if !update.isNews(since: shown) { return "no news" }
                let hides = shown?.isVisible == true && !update.snapshot.isVisible
                if begin < earliestUpdate, !isEnding, !hides { return "update at \(begin), before \(earliestUpdate)" }
                earliestUpdate = begin + delivery.minimumInterval
            }
            updates += 1
            showing = update
        case .end:
            if isStarted != true { return "an end before it asks" }
            machine.returned(error: fails ? "failed" : nil, at: now)
            isStarted = nil
            return nil
        }
        if fails { return fail() }
        if let showing {
            if let wrong = showing.isRepetition ? nil : reports.add(showing) { return wrong }
            shown = showing.snapshot
        }
        (isStarted, showing) = (true, nil)
        machine.ask(at: now)
        return nil
    }

    /// At least a second, or its part, passes before another attempt, and a minute at most.
    @discardableResult
    private mutating func fail() -> String? {
        failures += 1
        machine.returned(error: "failed", at: now)
        (isStarted, showing, shown) = (nil, nil, nil)
        earliestStart = now + .seconds(1) * retryScale
        return nil
    }

    /// Without failures, the backend shows the latest state after at most a minute.
    private mutating func settle() -> String? {
        let end = now + .seconds(61)
        if source.chance(1, of: 2) { machine.post(source.next()) }
        while true {
            if let wrong = turn(mayFail: false) { return wrong }
            // What a hidden or ending indicator reports may wait for the next snapshot that is noticed.
            let isCurrent =
                switch source.latest.state {
                case .active: shown == source.latest && reports.endCount == source.finishedCount
                case .delayingCompletion: shown == source.latest || !delivery.includesHidden
                case .inactive, .delayingStart: shown == source.latest || shown?.isVisible != true
                }
            if isStarted == true, isCurrent { return nil }
            guard now < end else {
                return "shows \(shown as Any) and \(reports.endCount) ends instead of \(source.latest)"
            }
            pass(.milliseconds(500))
        }
    }

    /// After the end, everything is delivered or counted, and nothing follows.
    private mutating func end() -> String? {
        machine.finish()
        isEnding = true
        for _ in 0..<100 where !machine.isFinished {
            if let wrong = turn(mayFail: true) { return wrong }
        }
        guard machine.isStopped else { return "has not ended" }
        for _ in 0..<3 where machine.next(at: now) != nil { return "an action after the end" }
        let missing = Int(source.finishedCount) - reports.endCount
        return machine.status.lost >= missing ? nil : "lost \(missing), but counted \(machine.status.lost)"
    }
}
