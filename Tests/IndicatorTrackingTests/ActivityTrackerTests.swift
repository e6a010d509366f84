import IndicatorCore
import IndicatorThreads
import IndicatorTracking
import Testing
import TestSupport

@Suite struct ActivityTrackerTests {
    private struct Failure: Error, Equatable {}

    @Test func theValueIsThatOfTheFirstActivityThatHasOne() {
        let tracker = ActivityTracker<String>()
        #expect(tracker.status == ActivityStatus(isLoading: false))
        let first = tracker.begin(nil)
        #expect(tracker.status == ActivityStatus(isLoading: true))
        let second = tracker.begin("second")
        let third = tracker.begin("third")
        #expect(tracker.status == ActivityStatus(isLoading: true, associatedValue: "second"))
        first.update("first")
        #expect(tracker.status.associatedValue == "first")
        first.update(nil)
        third.update("third, still")
        #expect(tracker.status.associatedValue == "second")
        second.end()
        #expect(tracker.status.associatedValue == "third, still")
        third.end()
        #expect(tracker.status == ActivityStatus(isLoading: true))
        first.end()
        #expect(tracker.status == ActivityStatus(isLoading: false))
    }

    @Test func anActivityWithoutAValueHasTheDefaultValue() {
        let tracker = ActivityTracker(defaultValue: "Loading")
        #expect(tracker.status.associatedValue == nil)
        let first = tracker.begin()
        #expect(tracker.status.associatedValue == "Loading")
        let second = tracker.begin("second")
        #expect(tracker.status.associatedValue == "Loading")
        first.end()
        #expect(tracker.status.associatedValue == "second")
        second.end()
        let third = ManagedTrackedActivity(tracker.defaultValue, in: tracker)
        #expect(tracker.status.associatedValue == "Loading")
        third.end()
        let fourth = tracker.begin(nil)
        #expect(tracker.status == ActivityStatus(isLoading: true))
        fourth.end()
    }

    @Test func anActivityEndsWithItsScope() {
        let tracker = ActivityTracker<Int>()
        do {
            let activity = tracker.begin(1)
            activity.update(2)
            #expect(tracker.status.associatedValue == 2)
        }
        #expect(!tracker.status.isLoading)
        var managed: ManagedTrackedActivity? = ManagedTrackedActivity(3, in: tracker)
        #expect(managed?.hasEnded == false)
        #expect(tracker.status.associatedValue == 3)
        managed = nil
        #expect(!tracker.status.isLoading)
    }

    @Test func anEndedActivityChangesNothing() {
        let tracker = ActivityTracker<Int>()
        let activity = ManagedTrackedActivity(1, in: tracker)
        activity.end()
        // Another activity takes the place of the first.
        let other = tracker.begin(2)
        activity.update(3)
        activity.end()
        #expect(activity.hasEnded)
        #expect(tracker.status == ActivityStatus(isLoading: true, associatedValue: 2))
        other.end()
    }

    @Test func anActivityBeginsOnceAndNeverAfterItsEnd() {
        let tracker = ActivityTracker<Int>()
        let recorder = StatusRecorder<Int>()
        tracker.subscribe(recorder)
        let activity = ManagedTrackedActivity(notBegunIn: tracker)
        activity.update(1)
        #expect(!activity.hasEnded)
        activity.begin(2)
        activity.begin(3)
        activity.end()
        activity.begin(4)
        let other = ManagedTrackedActivity(notBegunIn: tracker)
        other.end()
        #expect(other.hasEnded)
        other.begin(5)
        #expect(recorder.statuses.map(\.associatedValue) == [nil, 2, nil])
        #expect(!tracker.status.isLoading)
    }

    @Test func aFunctionIsTrackedForAsLongAsItRuns() async throws {
        let tracker = ActivityTracker(defaultValue: 0)
        let recorder = StatusRecorder<Int>()
        tracker.subscribe(recorder)
        let body = try await tracker.withActivity(1) { () async throws -> String in
            await Task.yield()
            return "\(tracker.status.associatedValue ?? -1)"
        }
        #expect(body == "1")
        #expect(tracker.withActivity(2) { tracker.status.associatedValue } == 2)
        #expect(tracker.withActivity(tracker.defaultValue) { tracker.status.associatedValue } == 0)
        #expect(
            await tracker.withActivity(tracker.defaultValue) { () async -> Int? in tracker.status.associatedValue } == 0
        )
        let updated = await tracker.withActivity(3) { activity async -> Int? in
            activity.update(4)
            return tracker.status.associatedValue
        }
        #expect(updated == 4)
        // The type of the error is kept: this compiles without a general catch.
        do throws(Failure) {
            try await tracker.withActivity(5) { () async throws(Failure) in throw Failure() }
        } catch {
            #expect(error == Failure())
        }
        #expect(recorder.statuses.map(\.associatedValue) == [nil, 1, nil, 2, nil, 0, nil, 0, nil, 3, 4, nil, 5, nil])
    }

    @MainActor private final class Screen {
        var text = ""
    }

    @MainActor @Test func aTrackedFunctionRunsOnTheActorOfItsCaller() async {
        let tracker = ActivityTracker<Int>()
        let screen = Screen()
        await tracker.withActivity(1) {
            screen.text = "loading"
            await Task.yield()
        }
        #expect(screen.text == "loading")
    }

    @Test func theCallersEqualityDecidesWhatIsAChange() {
        struct Step { var name: String, detail: Int }
        let tracker = ActivityTracker<Step>(equalWhen: { $0.name == $1.name })
        let recorder = StatusRecorder<Step>()
        tracker.subscribe(recorder)
        let activity = tracker.begin(Step(name: "a", detail: 1))
        activity.update(Step(name: "a", detail: 2))
        activity.update(Step(name: "b", detail: 3))
        activity.end()
        #expect(recorder.statuses.map(\.isLoading) == [false, true, true, false])
        #expect(recorder.statuses.map(\.associatedValue?.detail) == [nil, 1, 3, nil])
    }

    @Test func onlyChangesAreReported() {
        let tracker = ActivityTracker<String>()
        let recorder = StatusRecorder<String>()
        tracker.subscribe(recorder)
        let first = tracker.begin("a")
        let second = tracker.begin("a")
        let third = tracker.begin("b")
        third.update("c")
        first.update("a")
        first.end()
        second.update("d")
        second.end()
        third.end()
        #expect(recorder.statuses.map(\.line) == ["false Empty", "true a", "true d", "true c", "false Empty"])
    }

    /// Neither an equality nor a receiver is called with the lock held, and their changes are reported after the
    /// current one.
    @Test func equalitiesAndReceiversMayCallBack() {
        let holder = Locked<ActivityTracker<Int>?>(nil)
        let tracker = ActivityTracker<Int> { old, new in
            _ = holder.withLock { $0 }?.status
            return old == new
        }
        holder.withLock { $0 = tracker }
        let nested = Locked<ManagedTrackedActivity<Int>?>(nil)
        let recorder = StatusRecorder<Int> { status in
            if status.associatedValue == 1 {
                nested.withLock { $0 = ManagedTrackedActivity(2, in: tracker) }
            }
        }
        tracker.subscribe(recorder)
        let other = StatusRecorder<Int>()
        tracker.subscribe(other)
        tracker.begin(1).end()
        nested.withLock { $0.take() }?.end()
        #expect(recorder.statuses.map(\.associatedValue) == [nil, 1, 2, nil])
        #expect(other.statuses.map(\.associatedValue) == [nil, 1, 2, nil])
        holder.withLock { $0 = nil }
    }

    @Test func aValueMayUseTheTrackerWhenItIsReleased() {
        final class Value: Sendable {
            let tracker: ActivityTracker<Value>

            init(_ tracker: ActivityTracker<Value>) { self.tracker = tracker }

            deinit { tracker.begin(nil).end() }
        }
        let tracker = ActivityTracker<Value>(equalWhen: ===)
        let activity = tracker.begin(Value(tracker))
        activity.update(Value(tracker))
        activity.end()
        #expect(!tracker.status.isLoading)
    }

    @Test func theTrackerLivesAsLongAsWhatItTracks() {
        weak var weakTracker: ActivityTracker<Int>?
        func begin() -> ManagedTrackedActivity<Int> {
            let tracker = ActivityTracker<Int>()
            weakTracker = tracker
            return ManagedTrackedActivity(1, in: tracker)
        }
        var activity: ManagedTrackedActivity? = begin()
        #expect(activity != nil)
        #expect(weakTracker?.status.associatedValue == 1)
        activity = nil
        #expect(weakTracker == nil)
        func make() -> TrackedAsyncSequence<Elements<Int>> {
            let tracker = ActivityTracker<Int>()
            weakTracker = tracker
            return Elements(elements: [1]).trackActivity(in: tracker)
        }
        var sequence: TrackedAsyncSequence<Elements<Int>>? = make()
        #expect(weakTracker != nil)
        var iterator = sequence?.makeAsyncIterator()
        sequence = nil
        #expect(iterator != nil)
        #expect(weakTracker?.status.isLoading == true)
        iterator = nil
        #expect(weakTracker == nil)
    }
}

/// The cost of many activities in progress for those that begin and end, counted. (The benchmark measures times.)
@Suite struct TrackingCostTests {
    /// A subscriber is called once when the first activity ends, and never for those behind it, however many there are.
    @Test(arguments: [10, 10_000])
    func aSubscriberIsCalledOnlyForVisibleChanges(count: Int) {
        let tracker = ActivityTracker<Int>()
        var activities = (0..<count).map { ManagedTrackedActivity($0, in: tracker) }
        let recorder = StatusRecorder<Int>()
        tracker.subscribe(recorder)
        #expect(recorder.statuses.count == 1)
        for round in 0..<100 {
            let newcomer = ManagedTrackedActivity(round, in: tracker)
            newcomer.update(-round)
            newcomer.end()
            activities[1 + round % (count - 1)].update(-1)
        }
        #expect(recorder.statuses.count == 1)
        activities.removeFirst().end()
        #expect(recorder.statuses.count == 2)
    }
}
