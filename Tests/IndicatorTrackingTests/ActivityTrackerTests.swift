import TestSupport

@testable import IndicatorTracking

@Suite struct ActivityTrackerTests {
    private struct Failure: Error, Equatable {}

    /// Each step, and the status after it. `a begin x` begins the activity a with the value x, `-` is none, `default`
    /// that of the tracker; `a new` makes an activity that has not begun.
    private static let table: Table = """
        The value is that of the first activity that has one
            a begin -: true Empty | b begin 2: true 2 | c begin 3: true 2 | a update 1: true 1 | a update -: true 2
            c update 4: true 2 | b end: true 4 | c end: true Empty | a end: false Empty
        An activity without a value has the default value
            a begin default: true Loading | b begin 2: true Loading | a end: true 2 | b end: false Empty
            c begin Loading: true Loading | c end: false Empty | d begin -: true Empty | d end: false Empty
        An ended activity changes nothing, also if another one has taken its place
            a begin 1: true 1 | a end: false Empty | b begin 2: true 2 | a update 3: true 2 | a end: true 2
        An activity begins once, and never after its end
            a new: false Empty | a update 1: false Empty | a start 2: true 2 | a start 3: true 2 | a end: false Empty
            a start 4: false Empty | b new: false Empty | b end: false Empty | b start 5: false Empty
        An activity ends with its last reference
            a begin 1: true 1 | a update 2: true 2 | a release: false Empty
        """

    @Test(arguments: table)
    func `The status follows the activities`(sentence: String, script: String) {
        let tracker = ActivityTracker(defaultValue: "Loading")
        var activities: [Substring: TrackedActivity<String>] = [:]
        for step in script.replacing("\n", with: " | ").split(separator: " | ") {
            let parts = step.split(separator: ": ")
            let words = parts[0].split(separator: " ")
            let (name, value) = (words[0], words.last == "-" ? nil : words.last.map(String.init))
            switch words[1] {
            case "new": activities[name] = TrackedActivity(notBegunIn: tracker)
            case "begin": activities[name] = value == "default" ? tracker.begin() : tracker.begin(value)
            case "start": activities[name]?.begin(value)
            case "update": activities[name]?.update(value)
            case "end": activities[name]?.end()
            default: activities[name] = nil
            }
            #expect(tracker.status.line == parts[1], "\(sentence): \(step)")
        }
    }

    @MainActor @Test func `A function is tracked for as long as it runs`() async throws {
        let tracker = ActivityTracker(defaultValue: 0)
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
        // It runs on the actor of its caller: this compiles.
        var text = ""
        await tracker.withActivity(3) {
            await Task.yield()
            text = "loaded"
        }
        #expect(text == "loaded")
        // The type of the error is kept: this compiles without a general catch.
        do throws(Failure) {
            try await tracker.withActivity(5) { () async throws(Failure) in throw Failure() }
        } catch {
            #expect(error == Failure())
        }
        #expect(!tracker.status.isLoading)
    }

    @Test func `The caller's equality decides what is a change`() async {
        struct Step { var name: String, detail: Int }
        let compared = Locked<Set<Int>>([])
        let tracker = ActivityTracker<Step>(equalWhen: { old, new in
            compared.withLock { _ = $0.insert(new.detail) }
            return old.name == new.name
        })
        let recorder = await tracker.recorder()
        let activity = tracker.begin(Step(name: "a", detail: 1))
        #expect(await recorder.receives(2))
        activity.update(Step(name: "a", detail: 2))
        #expect(await eventually { compared.withLock { $0.contains(2) } })
        activity.update(Step(name: "b", detail: 3))
        #expect(await recorder.receives(3))
        activity.end()
        #expect(await recorder.receives(4))
        #expect(recorder.statuses.map(\.isLoading) == [false, true, true, false])
        #expect(recorder.statuses.map(\.associatedValue?.detail) == [nil, 1, 3, nil])
    }

    @Test func `An equality and a subscriber may use the tracker`() async {
        let holder = Locked<ActivityTracker<Int>?>(nil)
        let tracker = ActivityTracker<Int> { old, new in
            _ = holder.withLock { $0 }?.status
            return old == new
        }
        holder.withLock { $0 = tracker }
        let nested = Locked<TrackedActivity<Int>?>(nil)
        let recorder = StatusRecorder<Int> { status in
            if status.associatedValue == 1 { nested.withLock { $0 = tracker.begin(2) } }
        }
        tracker.subscribe(recorder)
        let other = StatusRecorder<Int>()
        tracker.subscribe(other)
        #expect(await recorder.receives(1))
        #expect(await other.receives(1))
        let activity = tracker.begin(1)
        // Subscribers do not wait for each other.
        #expect(await eventually { nested.withLock { $0 != nil } })
        #expect(await other.receives(2))
        activity.end()
        #expect(await recorder.receives(3))
        #expect(await other.receives(3))
        nested.withLock { $0.take() }?.end()
        #expect(await recorder.receives(4))
        #expect(await other.receives(4))
        #expect(recorder.statuses.map(\.associatedValue) == [nil, 1, 2, nil])
        #expect(other.statuses.map(\.associatedValue) == [nil, 1, 2, nil])
        holder.withLock { $0 = nil }
    }

    @Test func `A value may use the tracker when it is released`() {
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

    @Test func `The tracker lives as long as what it tracks`() {
        weak var weakTracker: ActivityTracker<Int>?
        func begin() -> TrackedActivity<Int> {
            let tracker = ActivityTracker<Int>()
            weakTracker = tracker
            return tracker.begin(1)
        }
        var activity: TrackedActivity? = begin()
        #expect(activity != nil)
        #expect(weakTracker?.status.associatedValue == 1)
        activity = nil
        #expect(weakTracker == nil)
        func make() -> TrackedAsyncSequence<Elements<Int>> {
            let tracker = ActivityTracker<Int>()
            weakTracker = tracker
            return Elements(elements: [1]).tracked(in: tracker)
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
    @Test(arguments: [10, 10_000])
    func `A subscriber is called once when the first activity ends, and never for those behind it`(count: Int) async {
        let tracker = ActivityTracker<Int>()
        var activities = (0..<count).map { tracker.begin($0) }
        let recorder = await tracker.recorder()
        for round in 0..<100 {
            let newcomer = tracker.begin(round)
            newcomer.update(-round)
            newcomer.end()
            activities[1 + round % (count - 1)].update(-1)
        }
        activities.removeFirst().end()
        #expect(await recorder.receives(2))
        #expect(recorder.statuses.map(\.associatedValue) == [0, -1])
    }
}
