import Foundation
import IndicatorCore
import TestSupport
import Testing

@Suite struct SnapshotsTests {
    @Test func theFirstSnapshotIsThePresentOne() async throws {
        let indicator = TestIndicator()
        indicator.manager.start("a", label: "work", progress: 0.5)
        var iterator = indicator.manager.snapshots.makeAsyncIterator()
        let snapshot = try #require(await iterator.next())
        #expect(snapshot.state == .delayingStart)
        #expect(snapshot.activityCount == 1)
        #expect(snapshot.label == "work")
        #expect(snapshot.progress == 0.5)
    }

    @Test func everySubscriberEndsAtTheTruth() async throws {
        let indicator = TestIndicator(delays: try IndicatorDelays(startDelay: .zero, completionDelay: .zero))
        var iterators = (0..<3).map { _ in indicator.manager.snapshots.makeAsyncIterator() }
        for _ in 0..<100 { indicator.manager.begin().end() }
        indicator.manager.start("last")
        for index in iterators.indices {
            let snapshot = try #require(await iterators[index].next())
            #expect(snapshot.state == .active)
        }
    }

    @Test func theSequenceEndsWithTheIndicator() async {
        let indicator = TestIndicator()
        let snapshots = indicator.manager.snapshots
        await indicator.manager.shutdown()
        var count = 0
        for await _ in snapshots { count += 1 }
        #expect(count == 1)
        for await snapshot in indicator.manager.snapshots { #expect(!snapshot.isEnabled) }
    }

    @Test func changesOfTheCountAreToldTenTimesASecondAtMost() async throws {
        let indicator = TestIndicator(delays: try IndicatorDelays(startDelay: .zero))
        let surface = InMemoryBackend(name: "latest", delivery: .latestWins)
        indicator.manager.addBackend(surface)
        indicator.manager.start("first", label: "0")
        #expect(await eventually { surface.snapshots.map(\.activityCount) == [1] })
        let activities = (0..<50).map { _ in ManagedActivity(in: indicator.manager) }
        for label in 1...50 { indicator.manager.update("first", label: "\(label)") }
        #expect(surface.snapshots.count == 1)
        indicator.clock.advance(by: .milliseconds(100))
        #expect(await eventually { surface.snapshots.count == 2 })
        #expect(surface.snapshots.last?.activityCount == 51)
        #expect(surface.snapshots.last?.label == "50")
        // After a while without news the first change is told at once, by whichever thread made it.
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

    @Test func aHiddenIndicatorTellsOnlyThoseWhoAsk() async throws {
        let indicator = TestIndicator()
        let curious = InMemoryBackend(name: "curious", delivery: BackendDelivery(includesHidden: true))
        indicator.manager.addBackend(curious)
        #expect(await eventually { curious.snapshots.count == 1 })
        indicator.clock.advance(by: .seconds(1))
        indicator.manager.start("a")
        #expect(await eventually { curious.snapshots.last?.state == .delayingStart })
        indicator.manager.start("b")
        indicator.clock.advance(by: .milliseconds(100))
        #expect(await eventually { curious.snapshots.last?.activityCount == 2 })
        #expect(indicator.surface.snapshots.isEmpty)
    }

    @Test func theMomentOfAChangeIsThatOfTheRules() async throws {
        let indicator = TestIndicator()
        indicator.manager.start("a")
        indicator.clock.advance(by: .seconds(61))
        let noticed = Date()
        let snapshot = try #require(await indicator.surface.first { $0.isVisible })
        #expect(abs(snapshot.since.timeIntervalSince(noticed) + 60) < 30)
    }
}
