@testable import IndicatorCore
import Synchronization
import TestSupport

/// Activities that consist of others.
@Suite struct GroupTests {
    private let manager = TestIndicator().manager

    /// Only some of many members were read for each snapshot.
    @Test func `The advance of one of many members is in the next snapshot`() {
        let group = ManagedActivity("Group", unit: .bytes, in: manager)
        let inner = ManagedActivity(unit: .bytes, in: group)
        let members = (0..<3000).map { ManagedActivity(total: 100, unit: .bytes, in: $0 < 1500 ? group : inner) }
        for (count, index) in [0, 2999, 1500, 10, 2000].enumerated() {
            members[index].advance(by: 5)
            #expect(manager.snapshot.activities.first?.completed == 5 * (count + 1))
        }
        for activity in members + [inner, group] { activity.end() }
    }

    /// Its members were sampled ten times a second, for nothing: 99 timers in 10 s.
    @Test func `Members of an ended group need no timer`() async throws {
        let indicator = TestIndicator(delays: .noStart)
        let group = ManagedActivity("Group", unit: .bytes, in: indicator.manager)
        let members = (0..<2000).map { _ in ManagedActivity(total: 100, unit: .bytes, in: group) }
        members[0].advance(by: 1)
        group.end()
        await expectEventually {
            indicator.clock.advance(by: .milliseconds(100))
            return !indicator.surface.finished.isEmpty
        }
        for _ in 0..<20 { indicator.clock.advance(by: .seconds(1)) }
        #expect(await eventually { indicator.clock.deadlines.isEmpty })
        let count = indicator.clock.sleepsStarted
        for _ in 0..<100 { indicator.clock.advance(by: .milliseconds(100)) }
        #expect(indicator.clock.deadlines.isEmpty && indicator.clock.sleepsStarted < count + 10)
        for member in members { member.end() }
        await indicator.manager.shutdown()
    }

    @Test(arguments: [false, true])
    func `A failed member fails the group only if enabled`(isEnabled: Bool) async throws {
        let surface = InMemoryBackend()
        let manager = IndicatorManager(delays: .zero, backends: [surface])
        manager.withActivity("Group") { group in
            group.failsWithMembers = isEnabled
            group.begin("a").end(.succeeded)
            group.begin("b").end(.failed("HTTP 503"))
            group.begin("c").end(.failed("HTTP 404"))
        }
        await manager.shutdown()
        let finished = surface.finished
        #expect(finished.map(\.label) == ["a", "b", "c", "Group"])
        #expect(finished.map(\.isMember) == [true, true, true, false])
        #expect(finished.last?.outcome == (isEnabled ? .failed("2 of 3 failed: b: HTTP 503") : .succeeded))
        // A list has the message of the member.
        #expect(finished.last?.listedMessage == (isEnabled ? "2 of 3 failed" : ""))
    }

    @Test func `An error that passes through nested groups is told once`() async throws {
        let surface = InMemoryBackend()
        let manager = IndicatorManager(delays: .zero, backends: [surface])
        #expect(throws: URLError.self) {
            try manager.withActivity("Outer") { outer in
                try outer.withActivity("Inner") { inner in
                    try inner.withActivity("a") { throw URLError(.timedOut) }
                }
            }
        }
        #expect(throws: URLError.self) {
            try manager.withActivity("Other") { other in
                other.begin("b").end(.failed("HTTP 503"))
                throw URLError(.timedOut)
            }
        }
        await manager.shutdown()
        let finished = surface.finished
        #expect(finished.map(\.label) == ["a", "Inner", "Outer", "b", "Other"])
        #expect(finished.map(\.messageAfterMembers) == [nil, "", "", nil, nil])
        // Where members are not listed, the group tells it.
        #expect(Set(finished.map(\.outcome)).count == 2)
    }

    @Test func `Members begin and end on many threads`() async {
        let manager = manager
        await manager.withActivity("Many", total: 400) { group in
            await withTaskGroup { tasks in
                for index in 0..<400 {
                    tasks.addTask {
                        group.withActivity("\(index)", total: 10) { activity in
                            for _ in 0..<10 { activity.advance() }
                        }
                    }
                }
            }
            #expect(manager.snapshot.progress == 1)
            #expect(manager.snapshot.activities.first?.completed == 400)
            #expect(manager.activityCount == 1)
        }
        #expect(manager.activityCount == 0)
    }

    /// A released manager continues until the members have ended, too.
    @Test func `Members keep the indicator`() async throws {
        let surface = InMemoryBackend()
        var manager: IndicatorManager? = IndicatorManager(delays: .zero, backends: [surface])
        var group = manager.map { ManagedActivity("group", in: $0) }
        let member = group?.begin("member")
        manager = nil
        group = nil
        member?.update { $0.label = "still" }
        #expect(await eventually { surface.snapshots.last?.label == "still" })
        member?.end()
        #expect(await eventually { surface.stopCount == 1 })
    }

    /// Its end used memory that had been freed.
    @Test func `A member may begin when the manager and its group have ended`() async throws {
        let surface = InMemoryBackend()
        var manager: IndicatorManager? = IndicatorManager(backends: [surface])
        weak let engine = manager?.engine
        var group = manager.map { ManagedActivity("group", in: $0) }
        #expect(await eventually { surface.startCount == 1 })
        manager = nil
        group?.end()
        let labelled = group?.begin("late")
        let unlabelled = group?.begin()
        group = nil
        #expect(engine != nil && surface.stopCount == 0)
        labelled?.end()
        unlabelled?.end()
        #expect(await eventually { surface.stopCount == 1 && engine == nil })
    }

    /// The recursion through 600 levels ended a thread's stack.
    @Test func `Groups can be nested deeply`() throws {
        var groups = [ManagedActivity("0", unit: .bytes, in: manager)]
        for level in 1..<600 { groups.append(ManagedActivity("\(level)", unit: .bytes, in: try #require(groups.last))) }
        groups.last?.advance(by: 7)
        #expect(manager.activityCount == 1)
        #expect(manager.snapshot.activities.map(\.depth) == Array(0..<16))
        #expect(manager.snapshot.activities.map(\.completed) == Array(repeating: 7, count: 16))
        for group in groups.prefix(590) { group.end() }
        #expect(manager.snapshot.activities.map(\.label) == (590..<600).map { "\($0)" })
        for group in groups { group.end() }
        #expect(manager.activityCount == 0)
    }

    /// The numbers of activities and of members were read one after the other.
    @Test func `The count is exact while members begin and end`() async {
        let group = ManagedActivity("group", in: manager)
        let isDone = Atomic(false)
        let thread = JoinableThread {
            for _ in 0..<30_000 { group.begin("member").end() }
            isDone.store(true, ordering: .relaxed)
        }
        var counts: Set<Int> = []
        while !isDone.load(ordering: .relaxed) { counts.insert(manager.activityCount) }
        await thread.join()
        #expect(counts.isSubset(of: [1]))
    }
}
