import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import IndicatorTracking
import TestSupport
import Testing

@Suite struct TrackingIndicatorTests {
    @Test func anIndicatorShowsTheFirstStep() async {
        let indicator = TestIndicator()
        let tracker = ActivityTracker<String>(defaultValue: "Loading")
        tracker.attach(to: indicator.manager)
        #expect(indicator.manager.activityCount == 0)
        let first = tracker.begin()
        let second = tracker.begin("Parsing")
        #expect(indicator.manager.activityCount == 1)
        #expect(indicator.manager.snapshot.label == "Loading")
        #expect(await indicator.advance(by: .seconds(1), until: .active))
        first.end()
        #expect(indicator.manager.snapshot.label == "Parsing")
        second.update("Parsing 2 of 9")
        #expect(indicator.manager.snapshot.label == "Parsing 2 of 9")
        second.update(nil)
        #expect(indicator.manager.snapshot.label == nil)
        #expect(indicator.manager.activityCount == 1)
        second.end()
        #expect(indicator.manager.activityCount == 0)
        #expect(await indicator.advance(by: .milliseconds(200), until: .inactive))
        // And again.
        tracker.withActivity("Once more") {
            #expect(indicator.manager.snapshot.label == "Once more")
        }
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func aValueWithoutAReadableDescriptionIsNotALabel() {
        struct Step: Sendable { var name = "Parsing" }
        enum Phase: Sendable { case parsing, reading(page: Int) }
        struct Page: Sendable, CustomStringConvertible { var description: String { "page 2" } }
        func label<Value: Sendable>(_ value: Value) -> String? {
            let indicator = TestIndicator()
            let tracker = ActivityTracker<Value>(equalWhen: { _, _ in false })
            tracker.attach(to: indicator.manager)
            let step = tracker.begin(value)
            let label = indicator.manager.snapshot.label
            step.end()
            return label
        }
        #expect(label(Step()) == nil)
        #expect(label((1, 2)) == nil)
        #expect(label([Step()]) == nil)
        #expect(label(["step": Step()]) == nil)
        #expect(label(Phase.reading(page: 1)) == nil)
        #expect(label(Phase.parsing) == "parsing")
        #expect(label(Page()) == "page 2")
        #expect(label(7) == "7")
        #expect(label("Parsing") == "Parsing")
    }

    @Test func theLabelComesFromAClosure() {
        let indicator = TestIndicator()
        let tracker = ActivityTracker<Int>()
        tracker.attach(to: indicator.manager, label: { $0 == 0 ? nil : "page \($0)" })
        let activity = tracker.begin(0)
        #expect(indicator.manager.snapshot.label == nil)
        #expect(indicator.manager.activityCount == 1)
        activity.update(7)
        #expect(indicator.manager.snapshot.label == "page 7")
        activity.end()
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func theProgressComesFromAClosure() {
        let indicator = TestIndicator()
        let tracker = ActivityTracker<Double>()
        tracker.attach(to: indicator.manager, label: { _ in "Loading" }, progress: { $0 < 1 ? $0 : nil })
        let activity = tracker.begin(0.25)
        #expect(indicator.manager.snapshot.progress == 0.25)
        activity.update(0.5)
        #expect(indicator.manager.snapshot.progress == 0.5)
        activity.update(1)
        #expect(indicator.manager.snapshot.progress == nil)
        activity.update(0.75)
        activity.update(nil)
        #expect(indicator.manager.snapshot.progress == nil)
        #expect(indicator.manager.activityCount == 1)
        activity.end()
    }

    @Test func anAttachmentBeginsWithTheCurrentStatus() {
        let indicator = TestIndicator()
        let tracker = ActivityTracker<Int>()
        let activity = tracker.begin(1)
        tracker.attach(to: indicator.manager)
        #expect(indicator.manager.snapshot.label == "1")
        activity.end()
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func aDetachedIndicatorIsNotUpdated() {
        let indicator = TestIndicator()
        let tracker = ActivityTracker<Int>()
        let attachment = tracker.attach(to: indicator.manager)
        let activity = tracker.begin(1)
        #expect(indicator.manager.activityCount == 1)
        attachment.detach()
        #expect(indicator.manager.activityCount == 0)
        activity.update(2)
        attachment.detach()
        #expect(indicator.manager.activityCount == 0)
        activity.end()
    }

    @Test func aTrackerCanBeAMemberOfAGroup() {
        let indicator = TestIndicator()
        let manager = indicator.manager
        let tracker = ActivityTracker<String>()
        let late: ActivityTrackerAttachment? = manager.withGroup("Syncing", total: 2) { group in
            let attachment = tracker.attach(to: group)
            #expect(manager.snapshot.activities.map(\.label) == ["Syncing"])
            tracker.withActivity("mail") {
                #expect(manager.snapshot.activities.map(\.label) == ["Syncing", "mail"])
                #expect(manager.snapshot.activities.map(\.depth) == [0, 1])
                #expect(manager.activityCount == 1)
            }
            #expect(manager.snapshot.activities.first?.completed == 1)
            attachment.detach()
            tracker.withActivity("nothing") { #expect(manager.snapshot.activities.count == 1) }
            return tracker.attach(to: group)
        }
        // The attachment has ended with its group.
        tracker.withActivity("nothing") { #expect(manager.activityCount == 0) }
        late?.detach()
    }

    @Test func aTrackersActivityMayOutliveItsGroup() {
        let indicator = TestIndicator()
        let manager = indicator.manager
        let tracker = ActivityTracker<String>()
        let group = ManagedActivity("Syncing", in: manager)
        tracker.attach(to: group)
        let activity = tracker.begin("mail")
        group.end()
        activity.update("calendar")
        #expect(manager.snapshot.activities.map(\.label) == ["calendar"])
        #expect(manager.snapshot.activities.map(\.depth) == [0])
        #expect(manager.activityCount == 1)
        activity.end()
        #expect(manager.activityCount == 0)
        tracker.withActivity("nothing") { #expect(manager.activityCount == 0) }
        tracker.attach(to: group)
        tracker.withActivity("nothing") { #expect(manager.activityCount == 0) }
    }

    /// An attachment does not keep its group in progress.
    @Test func aGroupWithATrackerEndsWhenItIsReleased() {
        let indicator = TestIndicator()
        let tracker = ActivityTracker<String>()
        do {
            let group = ManagedActivity("Syncing", in: indicator.manager)
            tracker.attach(to: group)
        }
        #expect(indicator.manager.activityCount == 0)
    }

    /// A status whose display has begun is shown, and the activity ends after it.
    @Test func detachingWhileAStatusIsShownLeavesNothingOn() {
        let indicator = TestIndicator()
        let tracker = ActivityTracker<Int>()
        let attachment = Locked<ActivityTrackerAttachment?>(nil)
        let labelled = Locked<[Int]>([])
        func attach() {
            let new = tracker.attach(
                to: indicator.manager,
                label: { number in
                    labelled.withLock { $0.append(number) }
                    if number == 2 { attachment.withLock { $0 }?.detach() }
                    return "\(number)"
                }
            )
            attachment.withLock { $0 = new }
        }
        attach()
        let activity = ManagedTrackedActivity(1, in: tracker)
        #expect(indicator.manager.activityCount == 1)
        activity.update(2)
        #expect(indicator.manager.activityCount == 0)
        activity.update(3)
        activity.end()
        attach()
        let second = ManagedTrackedActivity(2, in: tracker)
        #expect(indicator.manager.activityCount == 0)
        second.update(4)
        #expect(indicator.manager.activityCount == 0)
        #expect(labelled.withLock { $0 } == [1, 2, 2])
        attachment.withLock { $0 = nil }
    }

    @Test func detachingOnOneThreadWhileOthersChangeTheStatusLeavesNothingOn() async {
        for _ in 0..<100 {
            let indicator = TestIndicator()
            let tracker = ActivityTracker<Int>()
            let attachment = tracker.attach(to: indicator.manager)
            let first = ManagedTrackedActivity(0, in: tracker)
            let threads = (0..<3).map { thread in
                JoinableThread {
                    if thread == 0 { return attachment.detach() }
                    for number in 0..<20 {
                        first.update(thread * 100 + number)
                        tracker.begin(number).end()
                    }
                }
            }
            for thread in threads { await thread.join() }
            // A task delivers what would keep one thread busy.
            #expect(await eventually { indicator.manager.activityCount == 0 })
            first.end()
        }
    }

    @Test func severalTrackersAndIndicatorsAreIndependent() {
        let indicators = [TestIndicator(), TestIndicator()]
        let trackers = [ActivityTracker<Int>(), ActivityTracker<Int>()]
        for tracker in trackers {
            for indicator in indicators { tracker.attach(to: indicator.manager) }
        }
        let first = trackers[0].begin(1)
        let second = trackers[1].begin(2)
        #expect(indicators.map(\.manager.activityCount) == [2, 2])
        #expect(indicators.map(\.manager.snapshot.label) == ["1", "1"])
        first.end()
        #expect(indicators.map(\.manager.activityCount) == [1, 1])
        #expect(indicators.map(\.manager.snapshot.label) == ["2", "2"])
        second.end()
        #expect(indicators.map(\.manager.activityCount) == [0, 0])
    }

    @Test func theTrackerDoesNotKeepTheIndicatorAlive() {
        let tracker = ActivityTracker<Int>()
        weak var weakManager: IndicatorManager?
        let activity = ManagedTrackedActivity(1, in: tracker)
        do {
            let manager = IndicatorManager(clock: VirtualClock())
            weakManager = manager
            tracker.attach(to: manager)
            #expect(manager.activityCount == 1)
        }
        #expect(weakManager == nil)
        activity.update(2)
        activity.end()
    }

    /// An activity in progress keeps neither the deallocated indicator working nor the attachment subscribed.
    @Test func anIndicatorThatIsDeallocatedIsUnsubscribed() {
        let comparisons = Locked(0)
        let tracker = ActivityTracker<Int> { old, new in
            comparisons.withLock { $0 += 1 }
            return old == new
        }
        let activity = ManagedTrackedActivity(1, in: tracker)
        do {
            let manager = IndicatorManager(clock: VirtualClock())
            tracker.attach(to: manager)
            #expect(manager.activityCount == 1)
        }
        activity.update(2)
        activity.update(3)
        // Values are compared for subscribers only: the first update found the indicator closed.
        #expect(comparisons.withLock { $0 } == 1)
        activity.end()
    }

    @Test func theIndicatorDoesNotKeepTheTrackerAlive() {
        let indicator = TestIndicator()
        weak var weakTracker: ActivityTracker<Int>?
        do {
            let tracker = ActivityTracker<Int>()
            weakTracker = tracker
            tracker.attach(to: indicator.manager)
            tracker.begin(1).end()
        }
        #expect(weakTracker == nil)
        #expect(indicator.manager.activityCount == 0)
    }
}
