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

    @Test("An inbox delivers what a list of all snapshots would")
    func inbox() async {
        var deliveries = 0
        for index in 0..<Self.count {
            if index.isMultiple(of: 100) { await Task.yield() }
            let seed = Self.seed &+ index
            var source = SnapshotSource(seed: seed)
            let delivery = source.delivery()
            var inbox = SnapshotInbox(delivery: delivery)
            var model = ListInbox(delivery: delivery)
            var delivered: IndicatorSnapshot?
            for step in 0..<60 {
                if source.chance(3, of: 5) {
                    let snapshot = source.next()
                    let (dropped, expected) = (inbox.post(snapshot), model.post(snapshot))
                    guard dropped == expected else {
                        Issue.record("seed \(seed), step \(step): dropped \(dropped), expected \(expected)")
                        return
                    }
                } else {
                    let expected = model.take(delivered: delivered)
                    guard inbox.hasChanges(since: delivered) == (expected != nil) else {
                        Issue.record("seed \(seed), step \(step): wrong about changes, expected \(expected as Any)")
                        return
                    }
                    let taken = inbox.take(delivered: delivered)
                    guard taken == expected else {
                        Issue.record("seed \(seed), step \(step): \(taken as Any), expected \(expected as Any)")
                        return
                    }
                    guard let taken else { continue }
                    deliveries += 1
                    if source.chance(1, of: 6) {
                        // The update failed.
                        inbox.keepFinished(of: taken)
                        model.keepFinished(of: taken)
                    } else {
                        delivered = taken.withoutFinished
                    }
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
            mode: chance(1, of: 2) ? .latestWins : .everyTransition(capacity: number(0...4)),
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
        latest.state = states[number(0...(states.count - 1))]
        latest.activityCount = number(0...2)
        var snapshot = latest
        for _ in 0..<(chance(1, of: 3) ? number(1...3) : chance(1, of: 20) ? 70 : 0) {
            let end = FinishedActivity(
                label: "\(finishedCount)",
                outcome: .succeeded,
                duration: .zero,
                date: .distantPast,
                id: finishedCount,
                isMember: false
            )
            snapshot.finishedActivities.latest.append(end)
            finishedCount += 1
        }
        snapshot.finishedActivities.limit()
        return snapshot
    }
}

/// The inbox as a list of all snapshots that were not taken: it decides what to skip when one is taken.
private struct ListInbox {
    let delivery: BackendDelivery
    /// All that wait, with whether each one changed the visibility.
    var waiting: [(snapshot: IndicatorSnapshot, isTransition: Bool)] = []
    var wasVisible = false
    /// The ends of those that were removed.
    var removed = FinishedActivities()

    private func isNoticed(_ snapshot: IndicatorSnapshot, _ isTransition: Bool) -> Bool {
        isTransition || delivery.includesHidden || snapshot.state == .active
            || delivery.mode == .latestWins && !snapshot.isVisible
    }

    /// The positions of those that would be delivered if no more came.
    private var kept: [Int] {
        let noticed = waiting.indices.filter { isNoticed(waiting[$0].snapshot, waiting[$0].isTransition) }
        guard delivery.mode != .latestWins else { return noticed.suffix(1) }
        return noticed.indices.filter { position in
            let isLast = position == noticed.count - 1
            return waiting[noticed[position]].isTransition || isLast || waiting[noticed[position + 1]].isTransition
        }
        .map { noticed[$0] }
    }

    private mutating func remove(through index: Int) {
        for (snapshot, _) in waiting[...index] { removed.append(snapshot.finishedActivities) }
        waiting.removeSubrange(...index)
    }

    mutating func post(_ snapshot: IndicatorSnapshot) -> Int {
        waiting.append((snapshot, snapshot.isVisible != wasVisible))
        wasVisible = snapshot.isVisible
        guard case .everyTransition(let capacity) = delivery.mode, kept.count > max(capacity, 1) else { return 0 }
        remove(through: kept[0])
        return 1
    }

    mutating func keepFinished(of snapshot: IndicatorSnapshot) {
        var all = snapshot.finishedActivities
        all.append(removed)
        removed = all
    }

    mutating func take(delivered: IndicatorSnapshot?) -> IndicatorSnapshot? {
        while let index = kept.first {
            var (snapshot, isTransition) = waiting[index]
            remove(through: index)
            snapshot.finishedActivities = removed
            let isShown = snapshot.isVisible || delivered?.isVisible == true || delivery.includesHidden
            let isNew = delivered.map { !removed.isEmpty || $0 != snapshot.withoutFinished } ?? true
            if delivery.mode != .latestWins && isTransition || isNew && isShown {
                removed = FinishedActivities()
                return snapshot
            }
        }
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
    private var endsReported = 0
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
            case 0...3: _ = machine.post(source.next())
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
            let deadline = machine.deadline()
            return deadline.map { $0 <= now } ?? false ? "nothing to do at its own deadline" : nil
        }
        let begin = now
        guard machine.nextOperation(at: now) == nil else { return "two calls at once" }
        let fails = mayFail && source.chance(1, of: 4)
        if source.chance(1, of: 4) {
            pass(.milliseconds(source.number(0...8000)))
            if source.chance(1, of: 2) { _ = machine.post(source.next()) }
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
            if !isRepetition, !snapshot.differs(from: shown), delivery.mode == .latestWins { return "no news" }
            if !isRepetition {
                if begin < earliestUpdate, !isEnding { return "update at \(begin), before \(earliestUpdate)" }
                earliestUpdate = begin + delivery.minimumInterval
            }
            updates += 1
            let ends = snapshot.finishedActivities
            if let first = ends.latest.first, Int(first.id) != endsReported + ends.omittedCount {
                return "reports \(ends) after \(endsReported)"
            }
            if fails {
                mustStop = true
            } else {
                endsReported += ends.latest.count + ends.omittedCount
                shown = snapshot.withoutFinished
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
        if source.chance(1, of: 2) { _ = machine.post(source.next()) }
        while true {
            if let wrong = call(mayFail: false) { return wrong }
            // What a hidden or ending indicator reports may wait for the next snapshot that is noticed.
            let isCurrent =
                switch source.latest.state {
                case .active: shown == source.latest && endsReported == source.finishedCount
                case .delayingCompletion: shown == source.latest || !delivery.includesHidden
                case .inactive, .delayingStart: shown == source.latest || shown?.isVisible != true
                }
            if isStarted, !mustStop, isCurrent { return nil }
            guard now < end else { return "shows \(shown as Any) and \(endsReported) ends instead of \(source.latest)" }
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
        if delivery.mode == .latestWins, machine.updatesDropped != 0 { return "drops with latestWins" }
        for _ in 0..<3 where !machine.isGivenUp {
            if machine.nextOperation(at: now) != nil { return "a call after the end" }
        }
        return nil
    }
}
