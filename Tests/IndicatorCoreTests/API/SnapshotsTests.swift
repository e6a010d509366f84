import TestSupport

@testable import IndicatorCore

@Suite struct SnapshotsTests {
    /// Each publication made a task for each subscriber: 0.4 s of CPU for the caller with a thousand of them.
    @Test func `A thousand subscribers get the latest snapshot, and each finished activity and showing once`() async {
        let indicator = TestIndicator(delays: .zero)
        let sequences = (0..<1000).map { _ in indicator.manager.updates }
        let first = indicator.manager.snapshot.period
        let consumers = sequences.map { sequence in
            Task {
                var (labels, period): ([String], Int) = ([], first)
                for await update in sequence {
                    labels += update.finished.map(\.label)
                    let skipped = update.transitions.count + update.omittedTransitions
                    #expect(skipped == max(update.snapshot.period - period - 1, 0))
                    period = update.snapshot.period
                }
                return labels
            }
        }
        for round in 0..<50 {
            indicator.manager.begin("\(round)").end()
            await Task.yield()
        }
        await indicator.manager.shutdown()
        let all = (0..<50).map { "\($0)" }
        for consumer in consumers { #expect(await consumer.value == all) }
    }

    @Test func `A state is delivered once, also if activities end that were never in it`() async {
        let indicator = TestIndicator(delays: .noStart)
        let manager = indicator.manager
        let states = Task { [snapshots = manager.snapshots] in await snapshots.reduce(into: []) { $0.append($1) } }
        let ended = Locked(0)
        let ends = Task { [updates = manager.updates] in
            for await update in updates { ended.withLock { $0 += update.finished.count } }
        }
        manager.start("a", label: "a")
        for round in 1...10 {
            indicator.clock.advance(by: .seconds(1))
            manager.update("a") { $0.detail = "\(round)" }
            // Published with the next change, a tenth of a second after the loop has taken that one.
            manager.begin("b").end()
            await expectEventually {
                indicator.clock.advance(by: .milliseconds(100))
                return ended.withLock(\.self) == round
            }
        }
        await manager.shutdown()
        await ends.value
        let all = await states.value
        #expect(zip(all, all.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test func `A label that is added or removed, and the end of an activity with one, are published`() async {
        let indicator = TestIndicator(delays: .noStart)
        let (first, other) = (ManagedActivity("a", in: indicator.manager), ManagedActivity(nil, in: indicator.manager))
        let labels = Locked<[String?]>([])
        let loop = Task { [snapshots = indicator.manager.snapshots] in
            for await snapshot in snapshots { labels.withLock { $0 = snapshot.activities.map(\.label) } }
        }
        let changes: [(change: () -> Void, labels: [String?])] = [
            ({ other.label = "b" }, ["a", "b"]), ({ other.label = nil }, ["a"]), ({ first.end() }, []),
        ]
        for (index, (change, expected)) in changes.enumerated() {
            change()
            await expectEventually("\(index)") {
                indicator.clock.advance(by: .milliseconds(100))
                return labels.withLock(\.self) == expected
            }
        }
        loop.cancel()
    }

    /// One finished; the others waited for ever.
    @Test func `All loops over one sequence end with the indicator`() async {
        let indicator = TestIndicator()
        let snapshots = indicator.manager.snapshots
        let loops = (0..<4).map { _ in Task { for await _ in snapshots {} } }
        for _ in 0..<10 { await Task.yield() }
        await indicator.manager.shutdown()
        for loop in loops { await loop.value }
        var count = 0
        for await snapshot in indicator.manager.snapshots {
            #expect(!snapshot.isEnabled)
            count += 1
        }
        #expect(count == 1)
    }

    @Test func `Changes of the count are published ten times a second at most`() async throws {
        let indicator = TestIndicator(delays: .noStart)
        let surface = InMemoryBackend(name: "latest", delivery: BackendDelivery())
        indicator.manager.addBackend(surface)
        indicator.manager.start("first", label: "0")
        #expect(await eventually { surface.snapshots.map(\.activityCount) == [1] })
        let activities = (0..<50).map { _ in ManagedActivity(in: indicator.manager) }
        for label in 1...50 { indicator.manager.update("first") { $0.label = "\(label)" } }
        #expect(surface.snapshots.count == 1)
        indicator.clock.advance(by: .milliseconds(100))
        #expect(await eventually { surface.snapshots.count == 2 })
        #expect(surface.snapshots.last?.activityCount == 51)
        #expect(surface.snapshots.last?.label == "50")
        // After a time without changes the first one is published immediately, by the thread that made it.
        indicator.clock.advance(by: .seconds(1))
        activities[0].end()
        #expect(await eventually { surface.snapshots.last?.activityCount == 50 })
        activities[1].end()
        indicator.manager.stop("first")
        #expect(surface.snapshots.count == 3)
        indicator.manager.isEnabled = false
        #expect(await eventually { surface.snapshots.count == 4 && surface.isVisible == false })
        #expect(activities.count == 50)
    }

    @Test func `A change has the time of the rules`() async throws {
        let indicator = TestIndicator()
        indicator.manager.start("a")
        let before = Date()
        indicator.clock.advance(by: .seconds(61))
        let snapshot = try #require(await indicator.surface.first { $0.isVisible })
        // A minute before it was published, within the corrections of a wall clock.
        let published = snapshot.since.addingTimeInterval(60)
        #expect(published > before.addingTimeInterval(-1) && published < Date().addingTimeInterval(1))
    }

    /// A new receiver got a newer snapshot than the others, and the change back to theirs was never sent.
    @Test func `A new receiver between two publications ends in the current state`() async throws {
        let indicator = TestIndicator(delays: .noStart)
        let manager = indicator.manager
        manager.start("a", label: "before")
        #expect(await eventually { indicator.surface.snapshots.last?.label == "before" })
        manager.update("a") { $0.label = "between" }
        let newcomer = InMemoryBackend(name: "newcomer", delivery: BackendDelivery())
        manager.addBackend(newcomer)
        var iterator = manager.snapshots.makeAsyncIterator()
        #expect(await iterator.next()?.label == "between")
        #expect(await eventually { newcomer.snapshots.last?.label == "between" })
        manager.update("a") { $0.label = "before" }
        indicator.clock.advance(by: .milliseconds(100))
        #expect(await eventually { newcomer.snapshots.last?.label == "before" })
        #expect(await iterator.next()?.label == "before")
    }

    /// A gap between two downloads, and nearly every end, showed an empty text.
    @Test func `A backend keeps its label during the completion delay`() async throws {
        let indicator = TestIndicator(delays: .noStart)
        let latest = InMemoryBackend(name: "latest", delivery: BackendDelivery())
        let curious = InMemoryBackend(name: "curious", delivery: BackendDelivery(includesHidden: true))
        indicator.manager.addBackend(latest)
        indicator.manager.addBackend(curious)
        indicator.manager.start("a", label: "a.iso")
        #expect(await eventually { latest.snapshots.count == 1 })
        indicator.clock.advance(by: .seconds(1))
        indicator.manager.stop("a")
        #expect(await eventually { curious.snapshots.last?.state == .delayingCompletion })
        indicator.clock.advance(by: .milliseconds(120))
        indicator.manager.start("b", label: "b.iso")
        #expect(await eventually { latest.snapshots.last?.label == "b.iso" })
        indicator.clock.advance(by: .seconds(1))
        indicator.manager.stop("b")
        indicator.clock.advance(by: .milliseconds(200))
        for surface in [latest, curious, indicator.surface] {
            #expect(await eventually { surface.snapshots.last?.isVisible == false })
            #expect(surface.snapshots.last?.label == nil)
        }
        #expect(latest.snapshots.map(\.label) == ["a.iso", "b.iso", nil])
        for surface in [curious, indicator.surface] {
            let visible = surface.snapshots.filter(\.isVisible)
            #expect(visible.allSatisfy { $0.label != nil }, "\(visible)")
            #expect(visible.contains { $0.activityCount == 0 } == (surface === curious))
        }
        await indicator.manager.shutdown()
    }

    /// Only what was shown in the same period is kept, and only while nothing is in progress.
    @Test func `The label of an earlier period is not shown again`() async throws {
        let indicator = TestIndicator(delays: .noStart)
        indicator.manager.start("a", label: "a.iso")
        indicator.manager.stop("a")
        let idle = indicator.manager.snapshot
        #expect(idle.state == .delayingCompletion && idle.activityCount == 0)
        #expect(idle.label == "a.iso" && idle.activities.isEmpty)
        indicator.manager.start("b")
        #expect(indicator.manager.snapshot.label == nil)
        indicator.manager.stop("b")
        #expect(await indicator.advance(by: .seconds(1), until: .inactive))
        #expect(indicator.manager.snapshot.label == nil)
        indicator.manager.start("c")
        indicator.manager.stop("c")
        #expect(indicator.manager.state == .delayingCompletion && indicator.manager.snapshot.label == nil)
        await indicator.manager.shutdown()
    }

    /// A panel showed an app that had ended as disabled.
    @Test(arguments: [true, false])
    func `The last snapshot does not report that the indicator was disabled`(isEnabled: Bool) async throws {
        let clock = VirtualClock()
        let delays = IndicatorDelays.noStart
        let backend = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let manager = IndicatorManager(delays: delays, isEnabled: isEnabled, backends: [backend], clock: clock)
        manager.start("a", label: "A")
        #expect(await eventually { backend.snapshots.last?.label == "A" && backend.isVisible == isEnabled })
        await manager.shutdown()
        #expect(backend.snapshots.last?.isVisible == false)
        #expect(backend.snapshots.allSatisfy { $0.isEnabled == isEnabled })
        #expect(!manager.isEnabled)
    }

    @Test func `An activity ends with its function or scope, and with its outcome`() async throws {
        struct Failure: Error, CustomStringConvertible { var description: String { "no space left" } }
        let indicator = TestIndicator(delays: .zero)
        let manager = indicator.manager
        let count = manager.withActivity("sync") {
            indicator.clock.advance(by: .seconds(3))
            return manager.activityCount
        }
        #expect(count == 1)
        #expect(throws: Failure.self) { try manager.withActivity("throws") { throw Failure() } }
        await #expect(throws: CancellationError.self) {
            try await manager.withActivity("cancelled") {
                await Task.yield()
                throw CancellationError()
            }
        }
        let label = await manager.withActivity("async") { activity in
            await Task.yield()
            activity.label = "renamed"
            return manager.snapshot.label
        }
        #expect(label == "renamed")
        do { _ = manager.begin("dropped") }
        manager.begin("ended").end(.cancelled)
        #expect(manager.activityCount == 0)
        await manager.shutdown()
        let finished = indicator.surface.finished
        #expect(finished.map(\.duration) == [.seconds(3)] + Array(repeating: .zero, count: 5))
        #expect(finished.map(\.label) == ["sync", "throws", "cancelled", "renamed", "dropped", "ended"])
        #expect(
            finished.map(\.outcome)
                == [.succeeded, .failed("no space left"), .cancelled, .succeeded, .unspecified, .cancelled]
        )
    }

    /// A backend that was added during the completion delay stayed blank.
    @Test func `A backend added in the completion delay shows the indicator`() async throws {
        let indicator = TestIndicator(delays: try IndicatorDelays(startDelay: .zero, completionDelay: .seconds(60)))
        indicator.manager.begin("work").end()
        #expect(indicator.manager.state == .delayingCompletion)
        let newcomer = InMemoryBackend(name: "newcomer", delivery: BackendDelivery())
        indicator.manager.addBackend(newcomer)
        #expect(await eventually { newcomer.isVisible })
        #expect(newcomer.updates.first?.finished.isEmpty == true)
        indicator.clock.advance(by: .seconds(60))
        #expect(await eventually { newcomer.snapshots.count == 2 && !newcomer.isVisible })
    }

    /// Finished activities that were held back for a tenth of a second were lost.
    @Test(arguments: [true, false]) func `Finished activities are reported before the end`(isRemoved: Bool) async throws
    {
        let backend = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let manager = IndicatorManager(backends: [backend], clock: VirtualClock())
        manager.begin("A").end(.failed("no"))
        if isRemoved { await manager.removeBackend(named: backend.name) } else { await manager.shutdown() }
        #expect(backend.finished.map(\.label) == ["A"])
        #expect(backend.snapshots.last?.state == .inactive)
        await manager.shutdown()
    }

    @Test func `The latest 64 finished activities are kept, failures before others, and those dropped are counted`() {
        func finished(_ numbers: Range<Int>, _ outcome: ActivityOutcome = .succeeded, omitted: Int = 0)
            -> FinishedActivities
        {
            let activities = numbers.map { FinishedActivity(label: "\($0)", outcome: outcome, duration: .zero) }
            return FinishedActivities(latest: activities, omittedCount: omitted)
        }
        var kept = finished(0..<60)
        kept.append(finished(60..<100, omitted: 5))
        // Without activities, nothing has ended.
        kept.append(finished(0..<0, omitted: 7))
        #expect(kept.latest.map(\.label) == (36..<100).map { "\($0)" })
        #expect(kept.omittedCount == 41)
        #expect(kept.takeAll().latest.count == 64)
        #expect(kept.isEmpty && kept.omittedCount == 0)
        kept.append(finished(0..<10, .failed("")))
        kept.append(finished(10..<100))
        #expect(kept.latest.map(\.label) == (0..<10).map { "\($0)" } + (46..<100).map { "\($0)" })
        kept.append(finished(100..<170, .failed("")))
        #expect(kept.takeAll().latest.map(\.label) == (106..<170).map { "\($0)" })
    }
}
