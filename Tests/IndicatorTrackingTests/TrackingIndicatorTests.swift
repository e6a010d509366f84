import Foundation
import IndicatorCore
import IndicatorTesting
import TestSupport
import Testing

@testable import IndicatorTracking

@Suite struct TrackingIndicatorTests {
    private let indicator = TestIndicator()
    private var manager: IndicatorManager { indicator.manager }
    private let tracker = ActivityTracker<String>(defaultValue: "Loading")

    /// Waits until the indicator lists these labels, `nil` for an activity without one.
    private func shows(_ labels: String?...) async -> Bool {
        await eventually {
            let snapshot = manager.snapshot
            return snapshot.activities.map(\.label) == labels.filter { $0 != nil }
                && snapshot.activityCount == labels.count
        }
    }

    @Test func `An indicator shows the first step`() async {
        tracker.attach(to: manager)
        let first = tracker.begin()
        let second = tracker.begin("Parsing")
        #expect(await shows("Loading"))
        #expect(await indicator.advance(by: .seconds(1), until: .active))
        first.end()
        #expect(await shows("Parsing"))
        second.update("Parsing 2 of 9")
        #expect(await shows("Parsing 2 of 9"))
        second.update(nil)
        #expect(await shows(nil))
        second.end()
        #expect(await shows())
        #expect(await indicator.advance(by: .milliseconds(200), until: .inactive))
        await tracker.withActivity("Once more") { #expect(await shows("Once more")) }
        #expect(await shows())
    }

    @Test func `A value without a readable description is not a label`() {
        struct Step: Sendable { var name = "Parsing" }
        enum Phase: Sendable { case parsing, reading(page: Int) }
        struct Page: Sendable, CustomStringConvertible { var description: String { "page 2" } }
        func label<Value: Sendable>(_ value: Value) -> String? { ActivityTracker<Value>.label(of: value) }
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

    @Test func `Label and progress come from closures`() async {
        let tracker = ActivityTracker<Double>()
        tracker.attach(to: manager, label: { $0 < 0 ? nil : "Loading" }, progress: { $0 < 1 ? $0 : nil })
        let activity = tracker.begin(0.25)
        func showsProgress(_ progress: Double?) async -> Bool {
            await eventually { manager.snapshot.label == "Loading" && manager.snapshot.progress == progress }
        }
        #expect(await showsProgress(0.25))
        activity.update(0.5)
        #expect(await showsProgress(0.5))
        activity.update(1)
        #expect(await showsProgress(nil))
        activity.update(-1)
        #expect(await shows(nil))
        activity.update(0.75)
        #expect(await showsProgress(0.75))
        activity.update(nil)
        #expect(await shows(nil))
        activity.end()
        #expect(await shows())
    }

    /// 489 threads in 485 rounds: each change was two jobs.
    @Test func `Pairs that follow each other start no threads`() async {
        let threads = Locked<Set<String>>([])
        tracker.attach(to: manager) { label in
            let thread = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            threads.withLock { _ = $0.insert(thread ?? "") }
            return label
        }
        for _ in 0..<100 {
            let step = tracker.begin("step")
            #expect(await eventually { manager.activityCount == 1 })
            step.end()
            #expect(await eventually { manager.activityCount == 0 })
        }
        // Those that other tests use at the same time.
        #expect(threads.withLock { $0.count } <= 17)
    }

    @Test func `An attachment begins with the current status`() async {
        let activity = tracker.begin("Parsing")
        tracker.attach(to: manager)
        #expect(await shows("Parsing"))
        activity.end()
        #expect(await shows())
    }

    @Test func `After the end of an attachment, the indicator does not follow the tracker`() async {
        let attachment = tracker.attach(to: manager)
        let activity = tracker.begin("Parsing")
        #expect(await shows("Parsing"))
        attachment.detach()
        #expect(await shows())
        activity.update("More")
        attachment.detach()
        #expect(await isUnobserved(tracker))
        #expect(manager.activityCount == 0)
        activity.end()
    }

    @Test func `An attachment that ends while a label is made shows nothing`() async throws {
        let indicator = TestIndicator(delays: .zero)
        let attachment = Locked<ActivityTrackerAttachment?>(nil)
        let new = tracker.attach(to: indicator.manager) { value in
            attachment.withLock { $0 }?.detach()
            return value
        }
        attachment.withLock { $0 = new }
        let activity = tracker.begin("Parsing")
        #expect(await isUnobserved(tracker))
        await indicator.manager.shutdown()
        #expect(indicator.surface.snapshots == [])
        activity.end()
    }

    /// Waits until the tracker has no attachment.
    private func isUnobserved<Value>(_ tracker: ActivityTracker<Value>) async -> Bool {
        await eventually { tracker.subscriptionCount == 0 }
    }

    /// Whether the indicator shows nothing of another activity, beside a number of others.
    private func isDetached(count: Int) async -> Bool {
        await tracker.withActivity("nothing") {
            await isUnobserved(tracker) && manager.snapshot.activities.count == count
        }
    }

    @Test func `A tracker can be a member of a group, until that ends`() async {
        let late: ActivityTrackerAttachment? = await manager.withActivity("Syncing", total: 2) { group in
            let attachment = tracker.attach(to: group)
            await tracker.withActivity("mail") {
                #expect(await eventually { manager.snapshot.activities.map(\.label) == ["Syncing", "mail"] })
                #expect(manager.snapshot.activities.map(\.depth) == [0, 1])
                #expect(manager.activityCount == 1)
            }
            #expect(await eventually { manager.snapshot.activities.first?.completed == 1 })
            attachment.detach()
            #expect(await isDetached(count: 1))
            return tracker.attach(to: group)
        }
        #expect(await isDetached(count: 0))
        late?.detach()
    }

    @Test func `A tracker's activity may outlive its group`() async {
        let group = ManagedActivity("Syncing", in: manager)
        tracker.attach(to: group)
        let activity = tracker.begin("mail")
        #expect(await eventually { manager.snapshot.activities.count == 2 })
        group.end()
        activity.update("calendar")
        #expect(await shows("calendar"))
        #expect(manager.snapshot.activities.map(\.depth) == [0])
        activity.end()
        #expect(await shows())
        tracker.attach(to: group)
        #expect(await isDetached(count: 0))
    }

    @Test func `A group with a tracker ends when it is released`() {
        do {
            let group = ManagedActivity("Syncing", in: manager)
            tracker.attach(to: group)
        }
        #expect(manager.activityCount == 0)
    }

    @Test func `What ends the attachment while a status is shown leaves nothing on`() async {
        let attachment = Locked<ActivityTrackerAttachment?>(nil)
        let new = tracker.attach(
            to: manager,
            label: { label in
                if label == "second" { attachment.withLock { $0 }?.detach() }
                return label
            }
        )
        attachment.withLock { $0 = new }
        let activity = tracker.begin("first")
        #expect(await shows("first"))
        activity.update("second")
        #expect(await shows())
        activity.update("third")
        #expect(await isUnobserved(tracker))
        #expect(manager.activityCount == 0)
        activity.end()
        attachment.withLock { $0 = nil }
    }

    @Test func `What ends the attachment while other threads change the status leaves nothing on`() async {
        for _ in 0..<100 {
            let indicator = TestIndicator()
            let tracker = ActivityTracker<Int>()
            let attachment = tracker.attach(to: indicator.manager)
            let first = tracker.begin(0)
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
            #expect(await eventually { indicator.manager.activityCount == 0 })
            first.end()
        }
    }

    @Test func `Several trackers and indicators are independent`() async {
        let indicators = [TestIndicator(), TestIndicator()]
        let trackers = [ActivityTracker<Int>(), ActivityTracker<Int>()]
        for tracker in trackers {
            for indicator in indicators { tracker.attach(to: indicator.manager) }
        }
        func show(_ labels: [String]) async -> Bool {
            await eventually { indicators.allSatisfy { $0.manager.snapshot.activities.map(\.label) == labels } }
        }
        let first = trackers[0].begin(1)
        #expect(await show(["1"]))
        let second = trackers[1].begin(2)
        #expect(await show(["1", "2"]))
        first.end()
        #expect(await show(["2"]))
        second.end()
        #expect(await show([]))
    }

    @Test func `A tracker keeps no indicator alive, and its activity in progress does not keep it attached`() async {
        let tracker = ActivityTracker<Int>()
        weak var weakManager: IndicatorManager?
        let activity = tracker.begin(1)
        do {
            let manager = IndicatorManager(clock: VirtualClock())
            weakManager = manager
            tracker.attach(to: manager)
            #expect(await eventually { manager.activityCount == 1 })
        }
        #expect(weakManager == nil)
        #expect(tracker.subscriptionCount == 1)
        // The update finds the indicator closed.
        activity.update(2)
        #expect(await isUnobserved(tracker))
        activity.end()
    }

    @Test func `An indicator keeps no tracker alive`() async {
        weak var weakTracker: ActivityTracker<Int>?
        do {
            let tracker = ActivityTracker<Int>()
            weakTracker = tracker
            tracker.attach(to: manager)
            tracker.begin(1).end()
        }
        #expect(weakTracker == nil)
        #expect(await shows())
    }
}
