@testable import IndicatorCore
import Synchronization
import TestSupport

/// Totals, steps, rate and time left.
@Suite struct StepsTests {
    @Test func `What has ended keeps what it counted, also a group's sum; snapshots have what waits`() async throws {
        let indicator = TestIndicator(delays: .noStart)
        let file = ManagedActivity("File", total: 10, unit: .bytes, in: indicator.manager)
        (file.isWaiting, file.detail) = (true, "2 failed")
        #expect(indicator.manager.snapshot.activities.map(\.isWaiting) == [true])
        #expect(indicator.manager.snapshot.activities.map(\.detail) == ["2 failed"])
        let group = ManagedActivity("Group", unit: .bytes, in: indicator.manager)
        let member = ManagedActivity("Member", unit: .bytes, in: group)
        // Their beginnings are published a tenth of a second after the first.
        await expectEventually {
            indicator.clock.advance(by: .milliseconds(100))
            return indicator.surface.snapshots.last?.activities.count == 3
        }
        member.advance(by: 5)
        file.advance(by: 7)
        let resumed = ManagedActivity("Resumed", unit: .bytes, in: indicator.manager)
        resumed.completed = 100
        resumed.advance(by: 20)
        for activity in [file, member, group, resumed] { activity.end() }
        func finished() -> [FinishedActivity] { indicator.surface.finished }
        await expectEventually {
            indicator.clock.advance(by: .milliseconds(100))
            return finished().count == 4
        }
        #expect(finished().map(\.completed) == [7, 5, 5, 120] && finished().allSatisfy { $0.unit == .bytes })
        #expect(finished().map(\.doneEarlier) == [0, 0, 0, 100])
    }

    /// An identity had its place by its start, but `since` by its first detail.
    @Test func `Activities are in the order of their first detail, which is when they count as begun`() {
        let clock = VirtualClock()
        let manager = IndicatorManager(clock: clock)
        manager.start("early")
        let handle = manager.begin()
        let object = Object()
        manager.track(object)
        manager.start("labelled", label: "b")
        clock.advance(by: .seconds(1))
        manager.update("early") { $0.label = "a" }
        clock.advance(by: .seconds(1))
        handle.label = "c"
        let activities = manager.snapshot.activities
        #expect(activities.map(\.label) == ["b", "a", "c"])
        #expect(activities.map(\.since) == activities.map(\.since).sorted())
        withExtendedLifetime(object) {}
    }

    @Test func `Steps before the first label are kept`() {
        let manager = TestIndicator().manager
        let activity = manager.begin()
        activity.advance(by: 5)
        activity.label = "later"
        #expect(manager.snapshot.activities.first?.completed == 5)
        let unlabelled = manager.begin()
        for _ in 0..<2 { unlabelled.advance(by: .max) }
        #expect(unlabelled.completed == .max)
    }

    /// The last step is published, although most do not take the lock; and those that are added by assignment were
    /// lost between reading and writing.
    @Test func `Steps of many threads are all published`() async throws {
        let surface = InMemoryBackend()
        let manager = IndicatorManager(delays: .zero, backends: [surface])
        let activity = ManagedActivity("counting", total: 400_000, in: manager)
        let threads = (0..<4).map { _ in
            JoinableThread {
                for step in 0..<100_000 {
                    if step.isMultiple(of: 50) { activity.completed += 1 } else { activity.advance() }
                }
            }
        }
        for thread in threads { await thread.join() }
        #expect(activity.completed == 400_000)
        #expect(await eventually { surface.snapshots.last?.activities.first?.completed == 400_000 })
        activity.end()
        activity.advance()
        activity.completed += 1
        #expect(activity.completed == 0)
        await manager.shutdown()
    }

    @Test func `A managed activity may end while other threads advance it`() async {
        let manager = TestIndicator().manager
        for _ in 0..<200 {
            let activity = ManagedActivity("ending", in: manager)
            await withTaskGroup { group in
                for index in 0..<4 {
                    group.addTask {
                        for step in 0..<50 {
                            if index == 3, step == 25 { activity.end(.failed("\(step)")) }
                            activity.advance()
                            activity.update { $0.total = step }
                        }
                    }
                }
            }
            #expect(activity.hasEnded)
        }
        #expect(manager.activityCount == 0)
        #expect(manager.snapshot.activities.isEmpty)
    }

    /// The outcome was stored before the end, where a label that was set in between did not find it.
    @Test func `An end is not lost while another thread sets the label`() async throws {
        let surface = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let manager = IndicatorManager(backends: [surface])
        let count = 40_000
        let activities = (0..<count).map { _ in ManagedActivity(in: manager) }
        // Both threads go through the activities. They meet at each, but after the first only for a second: on a busy
        // machine, a thread may wait milliseconds for the other.
        let deadline = ContinuousClock.now + .seconds(1)
        let arrivals = (0..<count).map { _ in AtomicCount() }
        @Sendable func meet(_ index: Int) {
            arrivals[index].value.wrappingAdd(1, ordering: .relaxed)
            while arrivals[index].value.load(ordering: .relaxed) < 2, index == 0 || .now < deadline { sched_yield() }
        }
        activities[0].label = "label"
        let other = JoinableThread {
            for index in 0..<count {
                meet(index)
                activities[index].label = "label"
            }
        }
        for index in 0..<count {
            meet(index)
            // At a different moment each time.
            for _ in 0..<index % 100 { arrivals[index].value.wrappingAdd(1, ordering: .relaxed) }
            activities[index].end(.failed("reason"))
        }
        await other.join()
        // A record that another thread adds at the moment of the end would remain.
        #expect(manager.snapshot.activities.isEmpty)
        await manager.shutdown()
        // Only those that were labelled before their end are in it, at most 64 for each snapshot.
        let finished = surface.finished
        #expect(!finished.isEmpty)
        #expect(finished.allSatisfy { $0.outcome == .failed("reason") })
    }

    @Test func `A standstill ends the estimate`() {
        var estimate = RateEstimate(at: .zero)
        estimate.measure(10, at: .seconds(1))
        estimate.measure(20, at: .seconds(2))
        #expect(estimate.perSecond(at: .milliseconds(6999)) != nil)
        #expect(estimate.perSecond(at: .seconds(7)) == nil)
        // Slow steps are not a standstill, from the second interval on; the wait for the first one is none.
        var slow = RateEstimate(at: .zero)
        for step in 1...4 { slow.measure(Double(step), at: .seconds(60 * step)) }
        #expect(slow.perSecond(at: .seconds(479)).map { ($0 * 60).rounded() } == 1)
        #expect(slow.perSecond(at: .seconds(480)) == nil)
        var late = RateEstimate(at: .zero)
        for tick in 0...20 { late.measure(Double(tick), at: .seconds(60) + .milliseconds(100 * tick)) }
        #expect(late.perSecond(at: .milliseconds(66_999)) != nil)
        #expect(late.perSecond(at: .seconds(67)) == nil)
        // A smaller value restarts the estimate.
        estimate.measure(30, at: .milliseconds(6500))
        estimate.measure(0, at: .seconds(7))
        estimate.measure(5, at: .milliseconds(7500))
        #expect(estimate.perSecond(at: .milliseconds(7500)) == nil)
        estimate.measure(10, at: .seconds(8))
        #expect(estimate.perSecond(at: .seconds(8))?.rounded() == 10)
    }

    /// Both were divided by the wait: the time left was hours at first, and wrong for half a minute.
    @Test(arguments: [3, 60]) func `A wait for the first byte or during a standstill does not count for the rate`(
        wait: Int
    ) throws {
        var estimate = RateEstimate(at: .zero)
        var (done, now) = (0.0, Duration.zero)
        for _ in 1...3 {
            // Also a wait of less than the shortest standstill, before the first byte.
            now += .seconds(done == 0 ? wait : max(wait, 10))
            for tick in 0...30 {
                done += 100
                now += .milliseconds(100)
                estimate.measure(done, at: now)
                let rate = estimate.perSecond(at: now)
                if tick < 10 { #expect(rate == nil) } else { #expect(abs(try #require(rate) - 1000) < 1) }
            }
        }
    }

    /// Each step is a time in s, or several, what changes at each of them, and, after `=`, the rate and the time left
    /// of the first activity in the snapshot that is published, and when an estimate ends: `-` is none, `*` any.
    ///
    /// - `a begins`, with a total, perhaps of bytes, a progress and the group; `-a` has no label;
    /// - `a +N`, `a done N`, `a progress N`, and `a ends`; `read`: nothing is published, the list is only read.
    private static let table: Table = """
        // Reading is not a measurement, and the estimate ends by itself. A progress that is set has no rate.
        The time left follows from the rate
            0 a begins 1000, b begins | 1 a +100 = - - - | 2...4 a +100, b +1 = 100 6 9 | 5 b +1 = 100 6 9
            8.999 read = 100 6 | 9 read = - - | 9 a progress 0.25 | 20 a progress 0.5 = - 22 64
        // Setting what is done results in a rate, too.
        Steps before the first measurement do not count for the rate
            0 a begins 1000 | 0.5 a done 900 | 1.5 a +10 = 10 9 | 2.5 a done 920 = 10 8
        // An upload that resumed at a half was to end within two seconds.
        A first progress does not count for the time left
            0 a begins - 0.5 | 1...3 a progress +0.01 = * ~47 | 4...10 a progress +0.01 = * ~40
        Nor does one after the beginning
            0 a begins | 1 a progress 0.51 | 2...3 a progress +0.01 = * ~47 | 4...10 a progress +0.01 = * ~40
        What members resume does not count for the time left of their group
            0 g begins 2 | 0 a begins 1000 - g, b begins 1000 - g, a done 500 | 0.5 b done 500
            1...10 a +10, b +10 = * ~40
        // Of these, one has its first value between any two snapshots.
        A group of many small members has a time left
            0 g begins 100 | 0.25...10 m ends, m begins 10 - g, m +5 = * ~15
        // A time left that is shorter than that of a member is wrong. What was done earlier does not count.
        A group has the rate of all and the time of the slowest
            0 g begins B | 0 a begins 10000B - g, -s begins - - g, b begins 1000B - -s | 1...9 a +100, b +5
            10 a +100, b +5, c begins 2000000B - g, c done 1999000 | 11...20 a +100, b +5, c +20 = ~120 180
        """

    @Test(arguments: table)
    func `Rates and times left are estimated`(sentence: String, script: String) throws {
        var list = ActivityList(wallClock: WallClock(at: .zero))
        var records: [Substring: ActivityRecord] = [:]
        func change(_ words: [Substring], at now: Duration) {
            guard let record = records[words[0]], words[1] != "begins" else {
                guard words[1] == "begins" else { return }
                let progress = words.count > 3 ? Double(words[3]) : nil
                let total = words.dropFirst(2).first.flatMap { Int($0.prefix(while: \.isNumber)) }
                let unit = words.dropFirst(2).first?.last == "B" ? ActivityUnit.bytes : .count
                let label = words[0].hasPrefix("-") ? nil : String(words[0])
                let new = ActivityRecord(label: label, progress: progress, total: total, unit: unit)
                _ = list.insert(new, in: words.count > 4 ? records[words[4]] : nil, at: now)
                records[words[0]] = new
                return
            }
            let old = list.details(of: record)
            var new = old
            let number = words.last.flatMap { Double($0) } ?? 0
            switch words[1] {
            case "done": new.completed = Int(number)
            case "progress": new.progress = words[2].first == "+" ? (old.progress ?? 0) + number : number
            case "ends": _ = list.end(record, .succeeded) { now }
            default:
                record.advance(by: Int(number))
                _ = list.hasAdvanced(record)
            }
            if new != old { _ = list.merge(new, since: old, into: record) }
        }
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=")
            let parts = sides[0].split(separator: " ", maxSplits: 1)
            let times = parts[0].split(separator: "...").compactMap { Double($0) }
            let isRead = parts[1].hasPrefix("read")
            var first: ActivityDetails?
            let interval = times[0] > 0 ? min(times[0], 1) : 1
            for time in stride(from: times[0], through: times.last ?? 0, by: interval) {
                let now = Duration.seconds(time)
                if !isRead {
                    for words in parts[1].split(separator: ",") { change(words.split(separator: " "), at: now) }
                }
                first = (isRead ? list.activities { now } : list.activities(at: { now }, isMeasured: true)).first
            }
            guard sides.count > 1 else { continue }
            let values = [first?.rate] + [first?.remaining, list.estimateEnd].map { $0.map { $0 / .seconds(1) } }
            for (value, expected) in zip(values, sides[1].split(separator: " ")) where expected != "*" {
                let near = expected.first == "~" ? Double(expected.dropFirst()) : nil
                let isEqual =
                    near.map { abs((value ?? -9) - $0) <= max(2, $0 / 20) }
                    ?? ((value.map { "\(Int($0.rounded()))" } ?? "-") == expected)
                #expect(isEqual, "\(sentence): \(step): \(values)")
            }
        }
    }

    /// `since` was the year 0.
    @Test func `What is read from an activity is its own`() throws {
        let start = Date()
        let manager = TestIndicator().manager
        let activity = manager.begin("Copying", total: 4)
        #expect(activity.since >= start.addingTimeInterval(-1))
        #expect(activity.since == manager.snapshot.activities.first?.since)
        activity.end()
        let group = ManagedActivity("Group", total: 4, in: manager)
        group.begin("a").end()
        let member = group.begin("b", progress: 0.5)
        // The group's own steps, so that adding to them is right.
        #expect(group.completed == 0)
        group.completed += 1
        #expect(group.completed == 1)
        #expect(manager.snapshot.activities.first?.completed == 2)
        member.end()
    }

    @Test func `A standstill is published`() async throws {
        let indicator = TestIndicator(delays: .zero)
        let activity = ManagedActivity("stalling", total: 100, in: indicator.manager)
        #expect(await indicator.advance(by: .seconds(1), until: .active))
        activity.advance(by: 10)
        #expect(await eventually { indicator.surface.snapshots.last?.activities.first?.completed == 10 })
        indicator.clock.advance(by: .seconds(2))
        activity.advance(by: 10)
        #expect(await eventually { indicator.surface.snapshots.last?.activities.first?.rate?.rounded() == 5 })
        indicator.clock.advance(by: .seconds(8))
        #expect(await eventually { indicator.surface.snapshots.last?.activities.first?.rate == nil })
        #expect(indicator.surface.snapshots.last?.activities.first?.completed == 20)
        await indicator.manager.shutdown()
    }
}

private final class Object {}

private final class AtomicCount: Sendable {
    let value = Atomic(0)
}
