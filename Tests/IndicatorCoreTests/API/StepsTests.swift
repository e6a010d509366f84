import Foundation
import IndicatorTesting
@testable import IndicatorCore
import Synchronization
import TestSupport
import Testing

/// Totals, steps, rate and time left.
@Suite struct StepsTests {
    /// Steps of other threads were lost between reading and writing.
    @Test func `Steps that are added by assignment are not lost`() async {
        let manager = TestIndicator().manager
        let activity = ManagedActivity("Reading", in: manager)
        let threads = (0..<4).map { _ in
            JoinableThread {
                for _ in 0..<1000 {
                    activity.completed += 1
                    activity.advance()
                }
            }
        }
        for thread in threads { await thread.join() }
        #expect(activity.completed == 8000)
        activity.end()
        activity.completed += 1
        #expect(activity.completed == 0)
    }

    @Test func `What has ended keeps what it counted, also a group's sum; snapshots have what waits`() async throws {
        let indicator = TestIndicator(delays: .noStart)
        let file = ManagedActivity("File", total: 10, unit: .bytes, in: indicator.manager)
        (file.isWaiting, file.detail) = (true, "2 failed")
        #expect(indicator.manager.snapshot.activities.map(\.isWaiting) == [true])
        #expect(indicator.manager.snapshot.activities.map(\.detail) == ["2 failed"])
        let group = ManagedActivity("Group", unit: .bytes, in: indicator.manager)
        let member = ManagedActivity("Member", unit: .bytes, in: group)
        // Their beginnings are published a tenth of a second after the first.
        let areShown = await eventually {
            indicator.clock.advance(by: .milliseconds(100))
            return indicator.surface.snapshots.last?.activities.count == 3
        }
        #expect(areShown)
        member.advance(by: 5)
        file.advance(by: 7)
        let resumed = ManagedActivity("Resumed", unit: .bytes, in: indicator.manager)
        resumed.completed = 100
        resumed.advance(by: 20)
        for activity in [file, member, group, resumed] { activity.end() }
        func finished() -> [FinishedActivity] { indicator.surface.finished }
        let areReported = await eventually {
            indicator.clock.advance(by: .milliseconds(100))
            return finished().count == 4
        }
        #expect(areReported)
        #expect(finished().map(\.completed) == [7, 5, 5, 120] && finished().allSatisfy { $0.unit == .bytes })
        #expect(finished().map(\.doneEarlier) == [0, 0, 0, 100])
    }

    /// Each reading of the snapshot moved the window of the estimate.
    @Test func `Reading a snapshot has no effect on the estimate`() async throws {
        func rate(isRead: Bool) async -> Double? {
            let indicator = TestIndicator(delays: .noStart)
            let activity = ManagedActivity("Reading", total: 1000, in: indicator.manager)
            for second in 1...20 {
                activity.advance(by: second)
                indicator.clock.advance(by: .seconds(1))
                _ = await eventually {
                    indicator.surface.snapshots.last?.activities.first?.completed == activity.completed
                }
                if isRead { for _ in 0..<100 { _ = indicator.manager.snapshot } }
            }
            defer { activity.end() }
            return indicator.surface.snapshots.last?.activities.first?.rate
        }
        let (plain, read) = (await rate(isRead: false), await rate(isRead: true))
        #expect(plain != nil && plain == read)
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

    /// The last step is published, although most steps do not take the lock.
    @Test func `Steps of many threads are all published`() async throws {
        let surface = InMemoryBackend()
        let manager = IndicatorManager(delays: .zero, backends: [surface])
        let activity = ManagedActivity("counting", total: 400_000, in: manager)
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<100_000 { activity.advance() } } }
        }
        #expect(activity.completed == 400_000)
        #expect(await eventually { surface.snapshots.last?.activities.first?.completed == 400_000 })
        activity.end()
        activity.advance()
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
        let remaining = manager.snapshot.activities.count
        #expect(remaining == 0)
        await manager.shutdown()
        // Only those that were labelled before their end are in it, at most 64 for each snapshot.
        let finished = surface.finished
        #expect(finished.count > 1)
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

    @Test func `The time left follows from the rate`() {
        let list = ListOnAClock()
        let activity = list.begin(ActivityDetails(label: "Downloading", since: .distantPast)) { $0.total = 1000 }
        for second in 1...4 {
            activity.advance(by: 100)
            list.now = .seconds(second)
            list.publish()
        }
        #expect(list.first?.rate.map { $0.rounded() } == 100)
        #expect(list.first?.remaining.map { Int(($0 / .seconds(1)).rounded()) } == 6)
        #expect(list.estimateEnd == .seconds(9))
        // Reading is not a measurement, and the estimate ends by itself.
        list.now = .seconds(9)
        #expect(list.read().first?.rate == nil)
        #expect(list.read().first?.remaining == nil)
        // Progress that is set has a time left and no rate.
        list.update(activity) { $0.progress = 0.25 }
        list.publish()
        list.now = .seconds(20)
        list.update(activity) { $0.progress = 0.5 }
        list.publish()
        #expect(list.first?.rate == nil)
        #expect(list.first?.remaining.map { Int(($0 / .seconds(1)).rounded()) } == 22)
    }

    @Test func `Steps before the first measurement do not count for the rate`() {
        let list = ListOnAClock()
        let activity = list.begin(ActivityDetails(label: "Resuming", since: .distantPast)) { $0.total = 1000 }
        list.now = .milliseconds(1)
        list.update(activity) { $0.completed = 900 }
        list.publish()
        list.now = .milliseconds(1001)
        activity.advance(by: 10)
        list.publish()
        #expect(list.first?.rate.map { $0.rounded() } == 10)
        #expect(list.first?.remaining.map { Int(($0 / .seconds(1)).rounded()) } == 9)
        // Setting `completed` results in a rate, too.
        list.now = .milliseconds(2001)
        list.update(activity) { $0.completed = 920 }
        list.publish()
        #expect(list.first?.rate.map { $0.rounded() } == 10)
    }

    /// An upload that resumed at a half was to end within two seconds.
    @Test func `A first progress does not count for the time left`() throws {
        let list = ListOnAClock()
        let activity = list.begin(ActivityDetails(label: "Resuming", progress: 0.5, since: .distantPast))
        let later = list.begin(ActivityDetails(label: "Later", since: .distantPast))
        list.publish()
        list.update(later) { $0.progress = 0.5 }
        for second in 1...10 {
            list.now = .seconds(second)
            list.update(activity) { $0.progress = 0.5 + 0.01 * Double(second) }
            list.update(later) { $0.progress = 0.5 + 0.01 * Double(second) }
            list.publish()
            guard second > 2 else { continue }
            for details in list.read() {
                let seconds = try #require(details.remaining) / .seconds(1)
                #expect(abs(seconds - Double(50 - second)) < 1, "\(details.label ?? "") after \(second) s")
            }
        }
    }

    /// The same with the members of a group.
    @Test func `What members resume does not count for the time left of their group`() throws {
        let list = ListOnAClock()
        let group = list.begin(ActivityDetails(label: "Downloading", since: .distantPast)) { $0.total = 2 }
        let members = (1...2).map { number in
            list.begin(ActivityDetails(label: "\(number)", since: .distantPast), in: group) { $0.total = 1000 }
        }
        for (second, member) in members.enumerated() {
            list.now = .milliseconds(second * 500)
            list.update(member) { $0.completed = 500 }
            list.publish()
        }
        for second in 1...10 {
            list.now = .seconds(second)
            for member in members { list.advance(member, by: 10) }
            list.publish()
        }
        #expect(abs(try #require(list.first?.remaining) / .seconds(1) - 40) < 2)
    }

    /// In a stream of small members, one has its first value between any two snapshots.
    @Test func `A group of many small members has a time left`() throws {
        let list = ListOnAClock()
        let group = list.begin(ActivityDetails(label: "Downloading", since: .distantPast)) { $0.total = 100 }
        for tick in 1...40 {
            list.now = .milliseconds(tick * 250)
            let member = list.begin(ActivityDetails(label: "\(tick)", total: 10, since: .distantPast), in: group)
            list.advance(member, by: 5)
            list.publish()
            list.end(member)
        }
        #expect(abs(try #require(list.first?.remaining) / .seconds(1) - 15) < 2)
    }

    /// `since` was the year 0.
    @Test func `What is read from an activity is its own`() throws {
        let manager = TestIndicator().manager
        let start = Date()
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

/// An activity list on a clock that the test advances.
private final class ListOnAClock {
    var list = ActivityList(wallClock: WallClock(at: .zero))
    var now = Duration.zero
    private(set) var first: ActivityDetails?

    var estimateEnd: Duration? { list.estimateEnd }

    func begin(
        _ details: ActivityDetails,
        in group: ActivityRecord? = nil,
        _ change: (inout ActivityDetails) -> Void = { _ in }
    ) -> ActivityRecord {
        var details = details
        change(&details)
        let record = ActivityRecord(details)
        list.insert(record, in: group, at: now)
        return record
    }

    func update(_ record: ActivityRecord, _ change: (inout ActivityDetails) -> Void) {
        let old = list.details(of: record)
        var new = old
        change(&new)
        _ = list.merge(new, since: old, into: record)
    }

    func advance(_ record: ActivityRecord, by amount: Int) {
        record.advance(by: amount)
        _ = list.hasAdvanced(record)
    }

    func end(_ record: ActivityRecord) { _ = list.end(record, .succeeded) { now } }

    func publish() { first = list.activities(at: { now }, isMeasured: true).first }

    func read() -> [ActivityDetails] { list.activities { now } }
}

extension ActivityRecord {
    /// Makes the record of an activity with details.
    convenience init(_ details: ActivityDetails) {
        self.init()
        merge(details, since: ActivityDetails(since: .distantPast))
    }
}
