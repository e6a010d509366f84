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

        func fire() { take(machine.advance(to: time.now)) }
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
        ("A deadline that is due follows the delays at its beginning", "0 begin, 2000 delay, 2000 fire", "+1000"),
    ])
    func `A late timer decides by what is the case`(sentence: String, script: String, changes: String) throws {
        let driver = Driver(clock)
        for step in script.split(separator: ", ") {
            let words = step.split(separator: " ")
            let time = Duration.milliseconds(try #require(Int(words[0])))
            if words[1] != "due" { clock.advance(to: time) }
            switch words[1] {
            case "begin": driver.begin()
            case "end": driver.end()
            case "delay":
                let longer = try IndicatorDelays(startDelay: .seconds(60))
                driver.take(driver.machine.setDelays(longer, at: time))
            case "due": #expect(driver.deadline == time)
            default: driver.fire()
            }
        }
        let seen = driver.changes.map { "\($0.isVisible ? "+" : "-")\(Int($0.instant / .milliseconds(1)))" }
        #expect(seen.joined(separator: " ") == changes, "\(sentence)")
        #expect(driver.counter.state.isVisible == (driver.changes.last?.isVisible ?? false))
    }

    /// The callers of `isEnabled =` and `startDelay =` checked all objects: 46 ms with 100 000. Only the timer does.
    @Test func `Settings leave the decision about objects to the timer`() throws {
        final class Tracked {}
        let instant = IndicatorDelays.noStart
        let settings: [(Driver, Duration) -> Void] = [
            { driver, now in driver.take(driver.machine.setDelays(instant, at: now)) },
            { driver, now in driver.take(driver.machine.setEnabled(false, at: now)) },
            { driver, now in
                driver.take(driver.machine.setDelays(instant, at: now))
                driver.take(driver.machine.setEnabled(false, at: now))
                driver.take(driver.machine.setEnabled(true, at: now))
                #expect(driver.counter.state == .delayingStart)
            },
        ]
        for isInUse in [false, true] {
            for (index, set) in settings.enumerated() {
                let driver = Driver(VirtualClock())
                var object: Tracked? = Tracked()
                driver.track(try #require(object))
                if !isInUse { object = nil }
                // A late timer.
                let now = Duration.seconds(2)
                set(driver, now)
                #expect(driver.changes.isEmpty)
                let isDue = driver.machine.isLifetimeCheckDue(at: now)
                #expect(isDue)
                for table in driver.machine.list.objects.tables {
                    driver.take(driver.machine.endActivitiesOfEndedObjects(table) { now })
                }
                driver.take(driver.machine.advance(to: now))
                #expect(driver.changes.map(\.isVisible) == (isInUse && index != 1 ? [true] : []))
                withExtendedLifetime(object) {}
            }
        }
    }

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
