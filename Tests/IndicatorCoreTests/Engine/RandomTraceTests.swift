@testable import IndicatorCore
import TestSupport

/// Random traces, checked against a second formulation of the rules.
@Suite struct RandomTraceTests {
    private static let count = 1000

    /// A manager, to which most edges between busy and idle are not reported. Its timer fires at each deadline, and
    /// sometimes when nothing is due.
    @Test func `Managers follow the rules`() async throws {
        var visibleMoments = 0
        try await forEachSeed(Self.count) { seed in
            let trace = RandomTrace(seed: seed)
            let expected = TickByTickIndicator.changes(of: trace)
            var shouldBeVisible = false
            var changes = expected[...]
            let failure = try trace.perform(on: TimerlessClock()) { tick, manager in
                while let change = changes.first, change.tick <= tick {
                    shouldBeVisible = change.isVisible
                    changes.removeFirst()
                }
                if manager.isVisible { visibleMoments += 1 }
                return manager.isVisible == shouldBeVisible
            }
            return failure.map { "wrong at \($0): \(trace)\nexpected \(expected)" }
        }
        // A generator whose traces never show anything would prove nothing.
        #expect(visibleMoments > Self.count * 2)
    }

    /// Rule 10: however late the timer fires, it does not show the indicator while nothing is in progress, and does not
    /// hide it while work is in progress.
    @Test func `Managers with late timers end in the current state`() async throws {
        var visibleMoments = 0
        try await forEachSeed(Self.count) { seed in
            let trace = RandomTrace(seed: seed)
            var generator = SplitMix(state: ~seed)
            let failure = try trace.perform(on: TimerlessClock(), firesOnTime: false) { _, manager in
                guard Bool.random(using: &generator) else { return true }
                let wasVisible = manager.isVisible
                let isBusy = manager.activityCount > 0
                manager.advance()
                visibleMoments += manager.isVisible ? 1 : 0
                let state = manager.state
                switch (wasVisible, manager.isVisible) {
                case (false, true) where !isBusy: return false
                case (true, false) where isBusy: return false
                default: break
                }
                // Everything that is due has been decided.
                manager.advance()
                return manager.state == state
            }
            return failure.map { "wrong at \($0): \(trace)" }
        }
        #expect(visibleMoments > Self.count)
    }
}

/// A clock that a test sets, and on which no sleep ends.
private final class TimerlessClock: Clock, Sendable {
    private let time = Locked(Duration.zero)

    var now: VirtualClock.Instant { VirtualClock.Instant(offset: time.withLock { $0 }) }
    var minimumResolution: Duration { .nanoseconds(1) }

    func set(to offset: Duration) { time.withLock { $0 = offset } }

    func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {
        // Until it is cancelled.
        for await _ in AsyncStream<Never>.makeStream().stream {}
        throw CancellationError()
    }
}

/// A random trace. All times are in ticks of 10 ms.
struct RandomTrace: CustomStringConvertible {
    enum Step {
        case start(String?)
        case pause(String)
        case stop(String?)
        case setEnabled(Bool)
        case setDelays(start: Int, completion: Int, minimum: Int)
    }

    static let tick = Duration.milliseconds(10)

    var initialDelays: (start: Int, completion: Int, minimum: Int)
    var steps: [(time: Int, step: Step)] = []

    init(seed: UInt64) {
        var generator = SplitMix(state: seed)
        initialDelays = Self.delays(&generator)
        let identities = ["a", "b", "c", "d", nil].prefix(Int.random(in: 1...5, using: &generator))
        var time = 0
        for _ in 0..<Int.random(in: 1...40, using: &generator) {
            // A third of the events happen at the same instant as the one before.
            time += [0, 1, 2, 5, 9, 10, 20, 25, 60].randomElement(using: &generator) ?? 0
            let identity = identities.randomElement(using: &generator) ?? nil
            let step: Step =
                switch Int.random(in: 0..<20, using: &generator) {
                case 0: .setEnabled(false)
                case 1, 2: .setEnabled(true)
                case 3:
                    {
                        let delays = Self.delays(&generator)
                        return .setDelays(start: delays.start, completion: delays.completion, minimum: delays.minimum)
                    }()
                case 4...11: .start(identity)
                case 12...14: identity.map { .pause($0) } ?? .stop(nil)
                default: .stop(identity)
                }
            steps.append((time, step))
        }
    }

    private static func delays(_ generator: inout SplitMix) -> (start: Int, completion: Int, minimum: Int) {
        (
            [0, 1, 5, 10, 20].randomElement(using: &generator) ?? 0,
            [0, 1, 2, 5, 20].randomElement(using: &generator) ?? 0,
            [0, 0, 1, 10, 50].randomElement(using: &generator) ?? 0
        )
    }

    var description: String {
        "delays \(initialDelays), " + steps.map { "\($0.time): \($0.step)" }.joined(separator: ", ")
    }

    private static var notifications: TaskNotifications {
        TaskNotifications(
            starts: [Notification.Name("start")],
            pauses: [Notification.Name("pause")],
            stops: [Notification.Name("stop")],
            identity: .userInfo("id")
        )
    }

    /// Performs the trace on a manager, with notifications of tasks and with tokens for anonymous work, and calls a
    /// function after the last step of each instant and some time later.
    ///
    /// - Returns: the tick at which the function returned `false`, or `nil`.
    fileprivate func perform(
        on clock: TimerlessClock,
        firesOnTime: Bool = true,
        check: (Int, IndicatorManager) -> Bool
    ) throws -> Int? {
        let manager = IndicatorManager(delays: try Self.delays(initialDelays), clock: clock)
        let center = NotificationCenter()
        manager.observe(Self.notifications, in: center)
        func post(_ name: String, _ id: String) {
            center.post(name: Notification.Name(name), object: nil, userInfo: ["id": id])
        }
        var tokens: [ManagedActivity] = []
        var now = 0
        func go(to tick: Int) {
            while now < tick {
                now += 1
                clock.set(to: Self.tick * now)
                if firesOnTime { manager.advance() }
            }
        }
        for (index, (time, step)) in steps.enumerated() {
            go(to: time)
            switch step {
            case .start(let id?): post("start", id)
            case .pause(let id): post("pause", id)
            case .start(nil): tokens.append(ManagedActivity(in: manager))
            case .stop(let id?): post("stop", id)
            case .stop(nil): if !tokens.isEmpty { tokens.removeFirst().end() }
            case .setEnabled(let isEnabled): manager.isEnabled = isEnabled
            case .setDelays(let start, let completion, let minimum):
                manager.delays = try Self.delays((start, completion, minimum))
            }
            let next = index + 1 < steps.count ? steps[index + 1].time : time + 200
            for tick in Set([time, (time + next) / 2]).sorted() where tick < next {
                go(to: tick)
                if !check(tick, manager) { return tick }
            }
        }
        // A late timer may begin one more delay when it fires.
        for _ in 0..<2 {
            go(to: now + 200)
            manager.advance()
        }
        // Everything is decided: the indicator is visible exactly if work is in progress.
        return manager.isVisible == (manager.isEnabled && manager.activityCount > 0) ? nil : now
    }

    private static func delays(_ ticks: (start: Int, completion: Int, minimum: Int)) throws -> IndicatorDelays {
        try IndicatorDelays(
            startDelay: tick * ticks.start,
            completionDelay: tick * ticks.completion,
            minimumVisibleTime: tick * ticks.minimum
        )
    }
}

/// The rules in another form, slow and without a state machine: time advances tick by tick, work is a list of names,
/// and the state is three optional times.
struct TickByTickIndicator {
    struct Change: Equatable {
        var tick: Int
        var isVisible: Bool
    }

    private var now = 0
    private var isEnabled = true
    private var delays: (start: Int, completion: Int, minimum: Int)
    private var work: [String] = []
    private var nameless = 0
    /// What has happened to each name, except pauses.
    private var history: [(name: String, event: Event, tick: Int)] = []

    private enum Event {
        case hasEnded
        case wasIgnored
        case hasCompletedEarly
    }

    /// When it is decided whether to show.
    private var decision: Int?
    /// Until when the indicator must stay visible; set while it is shown.
    private var mayHideFrom: Int?
    /// When the indicator is hidden.
    private var removal: Int?

    private var changes: [Change] = []

    static func changes(of trace: RandomTrace) -> [Change] {
        var indicator = Self(delays: trace.initialDelays)
        let lastTick = (trace.steps.last?.time ?? 0) + 200
        var remaining = trace.steps[...]
        for tick in 0...lastTick {
            indicator.now = tick
            indicator.performDueDecisions()
            while let next = remaining.first, next.time == tick {
                indicator.perform(next.step)
                remaining.removeFirst()
            }
        }
        return indicator.changes
    }

    private init(delays: (start: Int, completion: Int, minimum: Int)) { self.delays = delays }

    private var isBusy: Bool { !work.isEmpty || nameless > 0 }

    private mutating func performDueDecisions() {
        if decision == now {
            decision = nil
            if isBusy { show() }
        }
        if removal == now { hide() }
    }

    private mutating func perform(_ step: RandomTrace.Step) {
        let wasBusy = isBusy
        switch step {
        case .setDelays(let start, let completion, let minimum):
            delays = (start, completion, minimum)
        case .setEnabled(let value):
            guard value != isEnabled else { return }
            isEnabled = value
            if value {
                if isBusy { begin() }
            } else {
                decision = nil
                if mayHideFrom != nil { hide() }
            }
            return
        case .start(nil): nameless += 1
        case .stop(nil): if nameless > 0 { nameless -= 1 }
        case .start(let name?):
            if work.contains(name) { break }
            if latestEvent(of: name) == .hasCompletedEarly {
                history.append((name, .wasIgnored, now))
            } else {
                work.append(name)
            }
        case .pause(let name): work.removeAll { $0 == name }
        case .stop(let name?):
            if work.contains(name) {
                work.removeAll { $0 == name }
                history.append((name, .hasEnded, now))
            } else if latestEvent(of: name) ?? .hasCompletedEarly == .hasCompletedEarly {
                history.append((name, .hasCompletedEarly, now))
            }
        }
        guard isEnabled, wasBusy != isBusy else { return }
        if isBusy { begin() } else { end() }
    }

    /// The latest event of a name in the last 250 ms.
    private func latestEvent(of name: String) -> Event? {
        history.last { $0.name == name && now - $0.tick < 25 }?.event
    }

    private mutating func begin() {
        if mayHideFrom != nil {
            removal = nil
        } else if decision == nil {
            if delays.start == 0 { show() } else { decision = now + delays.start }
        }
    }

    private mutating func end() {
        guard let mayHideFrom else { return }
        let planned = max(now + delays.completion, mayHideFrom)
        if planned > now { removal = planned } else { hide() }
    }

    private mutating func show() {
        mayHideFrom = now + delays.minimum
        changes.append(Change(tick: now, isVisible: true))
    }

    private mutating func hide() {
        mayHideFrom = nil
        removal = nil
        changes.append(Change(tick: now, isVisible: false))
    }
}

extension IndicatorManager {
    /// Performs the work that is due: the virtual clock does not wake the timer of these managers.
    fileprivate func advance() { engine.advance(to: engine.time.now) }
}
