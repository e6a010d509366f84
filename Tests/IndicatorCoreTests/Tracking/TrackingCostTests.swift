import IndicatorCore
import TestSupport
import Testing

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
