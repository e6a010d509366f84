@testable import IndicatorCore
import TestSupport

/// Late timers (rule 10 of <doc:RulesOfVisibility>), on the state machine itself.
@Suite struct IndicatorStateMachineTests {
    private let clock = VirtualClock()

    /// A state machine with its counter, driven as `IndicatorEngine` does.
    private final class Driver {
        let counter: ActivityCounter
        var machine: IndicatorStateMachine
        let time: TimeSource
        var changes: [VisibilityChange] = []

        init(_ clock: VirtualClock) {
            time = .reading(clock)
            counter = ActivityCounter(phase: .inactive, time: time)
            machine = IndicatorStateMachine(delays: .standard, isEnabled: true, counter: counter)
        }

        var snapshot: IndicatorSnapshot { machine.snapshot { [time] in time.now } }
        var deadline: Duration? { machine.deadline }

        func take(_ actions: IndicatorStateMachine.Actions?) {
            changes += actions?.publications.compactMap(\.change) ?? []
        }

        func begin() {
            if counter.begin() { take(machine.countChanged { [time] in time.now }) }
        }

        func end() {
            if !counter.end() { take(machine.end(nil, .unspecified) { [time] in time.now }) }
        }

        func track(_ object: AnyObject) {
            let key = ActivityKey.object(ActivityObject(object: object, role: .tracked))
            take(machine.start(key, label: nil, progress: nil, in: nil) { .zero })
        }

        func fire() {
            let now = time.now
            if machine.isLifetimeCheckDue(at: now) {
                for table in machine.list.objects.tables { take(machine.endActivitiesOfEndedObjects(table) { now }) }
            }
            take(machine.advance(to: now))
        }
    }

    /// It is published up to a tenth of a second later.
    @Test func `A label that an end has uncovered is there since that end`() throws {
        let driver = Driver(clock)
        driver.machine.setAudience(.always)
        var last: IndicatorUpdate?
        let now = { [time = driver.time] in time.now }
        for (milliseconds, step) in [(0, "a"), (50, "b"), (100, ""), (110, "end"), (200, "")] {
            clock.advance(to: .milliseconds(milliseconds))
            let actions =
                switch step {
                case "": driver.machine.advance(to: now())
                case "end": driver.machine.stop(.text("a"), .succeeded, now)
                default: driver.machine.start(.text(step), label: step, progress: nil, in: nil, now)
                }
            last = actions?.publications.last?.update ?? last
        }
        let update = try #require(last)
        let end = try #require(update.finished.last)
        #expect(update.snapshot.label == "b" && update.snapshot.labelSince == end.date)
    }

    /// What happens at which millisecond, and when the indicator is shown and hidden.
    ///
    /// - `begin`, `end`; `track` an object, `released` by its last owner; `on`, `off`;
    /// - `1000/200/0`, the start delay, the completion delay and the minimum visible time; the standard ones are these;
    /// - `fire`, the timer does; `due`, the deadline is then; `unchecked`, no object was.
    @Test(arguments: [
        ("A late start timer does not show what has ended", "0 begin, 1010 end, 1020 fire", ""),
        ("A late start timer shows what began before it fired", "0 begin, 0 end, 1010 begin, 1010 fire", "+1000"),
        (
            "A late completion timer keeps what has begun again",
            "0 begin, 2000 fire, 2000 end, 2300 begin, 2300 fire", "+1000"
        ),
        (
            "A late completion timer counts from the last end",
            "0 begin, 2000 fire, 2000 end, 2300 begin, 2300 end, 2400 fire, 2500 due, 2500 fire", "+1000 -2500"
        ),
        ("A late completion timer hides at the deadline", "0 begin, 1000 fire, 2000 end, 2300 fire", "+1000 -2200"),
        (
            "The minimum visible time begins at the deadline",
            "0 1000/0/500, 0 begin, 1300 fire, 1310 end, 1500 fire", "+1000 -1500"
        ),
        ("An early timer ends no delay", "0 begin, 100 end, 200 fire, 300 begin, 400 fire, 1000 fire", "+1000"),
        // Changes of the delays.
        ("A deadline that is due follows the delays at its beginning", "0 begin, 2000 60000/200/0, 2000 fire", "+1000"),
        ("A start delay that runs goes on", "0 begin, 500 100/200/0, 600 fire, 1000 fire", "+1000"),
        (
            "A completion delay that runs goes on",
            "0 begin, 1000 fire, 2000 end, 2050 1000/10/0, 2100 fire, 2200 fire", "+1000 -2200"
        ),
        (
            "A minimum visible time that runs goes on", "0 0/0/500, 0 begin, 100 0/0/0, 200 end, 300 fire, 500 fire",
            "+0 -500"
        ),
        (
            "What was not reported yet had the delays of that time",
            "0 begin, 1000 fire, 2000 end, 2100 begin, 2150 end, 2160 1000/5000/0, 2350 fire", "+1000 -2350"
        ),
        // Enabling and disabling.
        (
            "Disabling ends the start delay, and enabling begins another one",
            "0 begin, 500 off, 1000 fire, 1500 on, 2000 fire, 2500 fire", "+2500"
        ),
        (
            "Disabling ends the completion delay",
            "0 begin, 1000 fire, 2000 end, 2100 off, 2200 fire, 2300 on, 2300 fire", "+1000 -2100"
        ),
        ("Enabling while busy shows at once", "0 0/200/0, 0 off, 0 begin, 10 on", "+10"),
        ("Enabling without work shows nothing", "0 0/0/0, 0 off, 10 on", ""),
        ("Enabling what is enabled changes nothing", "0 begin, 1010 end, 1010 on, 1020 fire", ""),
        ("Enabling does not show what has ended", "0 0/0/0, 0 begin, 10 off, 20 end, 30 on", "+0 -10"),
        // The callers of `isEnabled =` and `startDelay =` checked all objects: 46 ms with 100 000. Only the timer does.
        ("A change of the delays checks no object", "0 track, 2000 0/200/0, 2000 unchecked, 2000 fire", "+1000"),
        (
            "A change of the delays checks no ended object",
            "0 track, 0 released, 2000 0/200/0, 2000 unchecked, 2000 fire", ""
        ),
        ("Disabling checks no object", "0 track, 2000 off, 2000 unchecked, 2000 fire", ""),
        ("Enabling checks no object", "0 track, 2000 0/200/0, 2000 off, 2000 on, 2000 unchecked, 2000 fire", "+2000"),
        (
            "Enabling checks no ended object",
            "0 track, 0 released, 2000 0/200/0, 2000 off, 2000 on, 2000 unchecked, 2000 fire", ""
        ),
    ])
    func `Changes follow the rules, also with late timers`(sentence: String, script: String, changes: String) throws {
        let driver = Driver(clock)
        var object: Tracked?
        for step in script.split(separator: ", ") {
            let words = step.split(separator: " ")
            let time = Duration.milliseconds(try #require(Int(words[0])))
            if words[1] != "due" { clock.advance(to: time) }
            switch words[1] {
            case "begin": driver.begin()
            case "end": driver.end()
            case "track":
                let new = Tracked()
                driver.track(new)
                object = new
            case "released": object = nil
            case "on", "off": driver.take(driver.machine.setEnabled(words[1] == "on", at: time))
            case "fire": driver.fire()
            case "due": #expect(driver.deadline == time, "\(sentence)")
            case "unchecked":
                let isDue = driver.machine.isLifetimeCheckDue(at: time)
                #expect(isDue && driver.changes.isEmpty, "\(sentence)")
            default:
                let times = words[1].split(separator: "/").map { Duration.milliseconds(Int($0) ?? -1) }
                try #require(times.count == 3, "\(step)")
                let delays = try IndicatorDelays(
                    startDelay: times[0],
                    completionDelay: times[1],
                    minimumVisibleTime: times[2]
                )
                driver.take(driver.machine.setDelays(delays, at: time))
            }
        }
        let seen = driver.changes.map { "\($0.isVisible ? "+" : "-")\(Int($0.instant / .milliseconds(1)))" }
        #expect(seen.joined(separator: " ") == changes, "\(sentence)")
        #expect(driver.counter.state.isVisible == (driver.changes.last?.isVisible ?? false))
        withExtendedLifetime(object) {}
    }

    private final class Tracked {}

    /// Every begin and end took the lock, and made snapshots for nobody.
    @Test func `After shutting down nothing is observed`() async {
        let manager = IndicatorManager(backends: [InMemoryBackend(delivery: BackendDelivery(includesHidden: true))])
        let subscription = manager.snapshots
        #expect(manager.engine.counter.reportsChanges)
        await manager.shutdown()
        #expect(!manager.engine.counter.reportsChanges)
        withExtendedLifetime(subscription) {}
    }

    /// An estimate that ended while a snapshot is held back is not a deadline: the timer would fire immediately, again
    /// and again.
    @Test func `No timer is set for an estimate that has ended`() throws {
        let driver = Driver(clock)
        let now = { [time = driver.time] in time.now }
        driver.machine.setAudience(.always)
        let activity = ActivityRecord(label: "Downloading", total: 1000)
        _ = driver.machine.begin(activity, in: nil, lasted: .zero, now)
        for _ in 1...4 {
            clock.advance(by: .seconds(1))
            activity.advance(by: 100)
            _ = driver.machine.hasAdvanced(activity, now)
        }
        // 50 ms before the estimate ends, something is published; then something else is held back for 100 ms.
        clock.advance(by: .milliseconds(4950))
        _ = driver.machine.hasAdvanced(activity, now)
        clock.advance(by: .milliseconds(10))
        _ = driver.machine.hasAdvanced(activity, now)
        #expect(driver.snapshot.activities.first?.rate != nil)
        for _ in 0..<20 {
            // Reading must not bring the estimate back.
            _ = driver.machine.snapshot(now)
            if let wake = driver.machine.advance(to: now())?.wake { #expect(wake > now()) }
            clock.advance(by: .milliseconds(10))
        }
        #expect(driver.snapshot.activities.first?.rate == nil)
    }
}
