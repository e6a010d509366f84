import TestSupport

@testable import IndicatorTracking

@Suite struct TrackingIndicatorTests {
    private let indicator = TestIndicator()
    private var manager: IndicatorManager { indicator.manager }
    private let tracker = ActivityTracker<String>(defaultValue: "Loading")

    /// What the indicator lists: labels, `-` for an activity without one, each with a `+` for each group above it.
    private var listed: [String] {
        let snapshot = manager.snapshot
        let rest = snapshot.activityCount - snapshot.activities.count { $0.depth == 0 }
        return snapshot.activities.map { String(repeating: "+", count: $0.depth) + ($0.label ?? "") }
            + Array(repeating: "-", count: rest)
    }

    private func shows(_ labels: String...) async -> Bool { await eventually { listed == labels } }

    /// Steps of the tracker begin, change and end; `g` is a group, `attach` attaches the tracker to the indicator, or
    /// to the group, and `unobserved` waits until it has no attachment. After `=` is what the indicator lists.
    private static let table: Table = """
        The first step is shown
            attach | a begin Loading | b begin Parsing = Loading | a end = Parsing | b update 2/9 = 2/9 | b update - = -
            b end = | c begin More = More | c end =
        An attachment begins with the current status
            a begin Parsing | attach = Parsing | a end =
        After its end, the indicator does not follow the tracker
            attach | a begin Parsing = Parsing | detach = | a update More | detach | unobserved = | a end =
        A tracker can be a member of a group
            g begin Syncing | attach g | a begin mail = Syncing +mail | a end = Syncing | a begin more = Syncing +more
            detach = Syncing | a end | attach g | g end | b begin nothing | unobserved = | detach = | b end =
        Its activity may outlive the group
            g begin Syncing | attach g | a begin mail = Syncing +mail | g end = mail | a update calendar = calendar
            a end = | attach g | b begin nothing | unobserved = | b end =
        """

    @Test(arguments: table)
    func `An indicator follows a tracker`(sentence: String, script: String) async throws {
        var (group, steps): (ManagedActivity?, [Substring: TrackedActivity<String>]) = (nil, [:])
        var attachment: ActivityTrackerAttachment?
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=", omittingEmptySubsequences: false)
            let words = sides[0].split(separator: " ")
            let value = words.last == "-" ? nil : words.last.map(String.init)
            switch (words[0], words.dropFirst().first) {
            case ("attach", nil): attachment = tracker.attach(to: manager)
            case ("attach", _): attachment = tracker.attach(to: try #require(group))
            case ("detach", _): attachment?.detach()
            case ("unobserved", _): #expect(await isUnobserved(tracker), "\(sentence): \(step)")
            case ("g", "begin"): group = ManagedActivity(value, in: manager)
            case ("g", _): group?.end()
            case (let name, "begin"): steps[name] = tracker.begin(value)
            case (let name, "update"): steps[name]?.update(value)
            case (let name, _): steps[name]?.end()
            }
            guard sides.count > 1 else { continue }
            let labels = sides[1].split(separator: " ").map(String.init)
            #expect(await eventually { listed == labels }, "\(sentence): \(step): \(listed)")
        }
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
        let activity = tracker.begin(nil)
        for (value, label, progress) in [
            (0.25, "Loading", 0.25), (0.5, "Loading", 0.5), (1, "Loading", nil), (-1, nil, nil),
            (0.75, "Loading", 0.75), (nil, nil, nil),
        ] as [(Double?, String?, Double?)] {
            activity.update(value)
            let isShown = await eventually {
                manager.snapshot.label == label && manager.snapshot.progress == progress && manager.activityCount == 1
            }
            #expect(isShown, "\(String(describing: value))")
        }
        activity.end()
        #expect(await shows())
    }

    @Test(arguments: [("first", []), ("second", [true, false])])
    func `An attachment that ends while a label is made leaves nothing on`(last: String, shown: [Bool]) async {
        let indicator = TestIndicator(delays: .zero)
        let attachment = Locked<ActivityTrackerAttachment?>(nil)
        let new = tracker.attach(to: indicator.manager) { label in
            if label == last { attachment.withLock { $0 }?.detach() }
            return label
        }
        attachment.withLock { $0 = new }
        let activity = tracker.begin("first")
        if last != "first" {
            #expect(await eventually { indicator.surface.snapshots.last?.label == "first" })
            activity.update("second")
        }
        #expect(await isUnobserved(tracker))
        #expect(await eventually { indicator.manager.activityCount == 0 })
        activity.update("third")
        await indicator.manager.shutdown()
        #expect(indicator.surface.snapshots.map(\.isVisible) == shown)
        activity.end()
        attachment.withLock { $0 = nil }
    }

    /// Waits until the tracker has no attachment.
    private func isUnobserved<Value>(_ tracker: ActivityTracker<Value>) async -> Bool {
        await eventually { tracker.subscriptionCount == 0 }
    }

    @Test func `A group with a tracker ends when it is released`() {
        do {
            let group = ManagedActivity("Syncing", in: manager)
            tracker.attach(to: group)
        }
        #expect(manager.activityCount == 0)
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
