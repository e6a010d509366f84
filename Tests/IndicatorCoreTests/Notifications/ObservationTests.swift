import Foundation
import IndicatorCore
import IndicatorTesting
import TestSupport
import Testing

@Suite struct ObservationTests {
    private final class Request: Sendable {}

    /// An identity by value that contains an object.
    private struct Holder: Hashable {
        var content: Request

        static func == (left: Self, right: Self) -> Bool { left.content === right.content }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(content)) }
    }

    private static let alamofire = "org.alamofire.notification.name.request."
    private static let alamofireKey = "org.alamofire.notification.key.request"

    private let center = NotificationCenter()
    private let indicator = TestIndicator()

    private func post(_ name: String, _ request: Any) {
        center.post(
            name: Notification.Name(Self.alamofire + name),
            object: nil,
            userInfo: [Self.alamofireKey: request]
        )
    }

    @Test func theNamesOfThisPackageAreObserved() {
        indicator.manager.observe(.indicator, in: center)
        let request = Request()
        let label = [TaskNotifications.labelKey: "GET /"]
        center.post(name: .indicatorTaskDidResume, object: request, userInfo: label)
        center.post(name: .indicatorTaskDidResume, object: request)
        #expect(indicator.manager.activityCount == 1)
        #expect(indicator.manager.snapshot.label == "GET /")
        center.post(name: .indicatorTaskDidSuspend, object: request)
        #expect(indicator.manager.activityCount == 0)
        center.post(name: .indicatorTaskDidResume, object: request)
        #expect(indicator.manager.activityCount == 1)
        center.post(name: .indicatorTaskDidComplete, object: request)
        center.post(name: .indicatorTaskDidComplete, object: request)
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func progressIsShownAndEndsWithTheTask() {
        indicator.manager.observe(.indicator, in: center)
        let request = Request()
        func progress(_ fraction: Double) {
            center.post(
                name: .indicatorTaskDidProgress,
                object: request,
                userInfo: [TaskNotifications.progressKey: fraction]
            )
        }
        progress(0.5)
        #expect(indicator.manager.activityCount == 0)
        #expect(indicator.manager.snapshot.progress == nil)
        let label = [TaskNotifications.labelKey: "GET /"]
        center.post(name: .indicatorTaskDidResume, object: request, userInfo: label)
        progress(0.25)
        #expect(indicator.manager.snapshot.progress == 0.25)
        progress(0.75)
        #expect(indicator.manager.snapshot.progress == 0.75)
        center.post(name: .indicatorTaskDidComplete, object: request)
        #expect(indicator.manager.activityCount == 0)
        #expect(indicator.manager.snapshot.progress == nil)
    }

    @Test func theNamesOfAlamofireAreObserved() {
        indicator.manager.observe(.alamofire, in: center)
        let request = Request()
        post("didResumeTask", request)
        #expect(indicator.manager.activityCount == 1)
        // Cancelling posts both.
        post("didCancelTask", request)
        #expect(indicator.manager.activityCount == 1)
        post("didCompleteTask", request)
        #expect(indicator.manager.activityCount == 0)
    }

    /// What Alamofire's session posts when it is released, while the app keeps the request.
    @Test func aRequestWhoseSessionIsReleasedEnds() {
        indicator.manager.observe(.alamofire, in: center)
        let request = Request()
        for name in ["didResume", "didResumeTask"] { post(name, request) }
        #expect(indicator.manager.activityCount == 1)
        post("didFinish", request)
        #expect(indicator.manager.activityCount == 0)
        withExtendedLifetime(request) {}
    }

    /// The notifications of Alamofire's requests, and of ones that use this package's names, with times in ms. All were
    /// hidden for their whole duration, because a stop was remembered that had not overtaken its start.
    @Test(
        "A task that continues is shown",
        arguments: [
            // Suspended before its task was created.
            [(0, "didSuspend"), (0, "didSuspendTask"), (100, "didResume"), (100, "didResumeTask")],
            [
                (0, "didResume"), (0, "didResumeTask"), (50, "didSuspend"), (50, "didSuspendTask"),
                (60, "didSuspendTask"), (100, "didResume"), (100, "didResumeTask"),
            ],
            // A response that could not be decoded, and is requested again.
            [(0, "didResumeTask"), (50, "didCompleteTask"), (50, "didFinish"), (51, "didResumeTask")],
            [(0, "didResumeTask"), (50, "didCompleteTask"), (299, "didFinish"), (300, "didResumeTask")],
            // The completion of the first attempt overtook its beginning.
            [(0, "didCompleteTask"), (1, "didResumeTask"), (2, "didFinish"), (100, "didResumeTask")],
        ] as [[(Int, String)]]
    )
    func continues(events: [(time: Int, name: String)]) async throws {
        indicator.manager.observe(.alamofire, in: center)
        let other = TestIndicator()
        other.manager.observe(.indicator, in: center)
        let names: [String: Notification.Name] = [
            "didResumeTask": .indicatorTaskDidResume, "didSuspendTask": .indicatorTaskDidSuspend,
            "didCompleteTask": .indicatorTaskDidComplete, "didFinish": .indicatorTaskDidComplete,
        ]
        let request = Request()
        var now = 0
        for (time, name) in events {
            for clock in [indicator.clock, other.clock] { clock.advance(by: .milliseconds(time - now)) }
            now = time
            post(name, request)
            if let name = names[name] { center.post(name: name, object: request) }
        }
        for indicator in [indicator, other] {
            try #require(indicator.manager.activityCount == 1)
            indicator.clock.advance(by: .seconds(2))
            #expect(await eventually { indicator.manager.isVisible })
        }
        withExtendedLifetime(request) {}
    }

    /// Of 1 000 objects, 520 stayed alive.
    @Test func whatIsRememberedKeepsNothingAlive() {
        indicator.manager.observe(.indicator, in: center)
        var objects: [() -> Request?] = []
        func post(_ events: [Notification.Name]) {
            let object = Request()
            objects.append { [weak object] in object }
            for name in events { center.post(name: name, object: object) }
            for name in events { center.post(name: name, object: Holder(content: object)) }
        }
        for _ in 0..<1000 {
            post([.indicatorTaskDidResume, .indicatorTaskDidComplete, .indicatorTaskDidComplete])
            post([.indicatorTaskDidComplete])
            post([.indicatorTaskDidSuspend, .indicatorTaskDidSuspend])
        }
        #expect(objects.count { $0() != nil } == 0)
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func aTaskThatIsCancelledBeforeItWasStartedChangesNothing() {
        indicator.manager.observe(.alamofire, in: center)
        post("didCompleteTask", Request())
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func aCompletionThatOvertakesItsStartDoesNotLeaveTheIndicatorOn() {
        indicator.manager.observe(.alamofire, in: center)
        let request = Request()
        post("didCompleteTask", request)
        post("didResumeTask", request)
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func customNamesAreObservedWithIdentitiesByValue() {
        let manager = indicator.manager
        manager.observe(
            TaskNotifications(
                name: "ours",
                starts: [Notification.Name("began")],
                stops: [Notification.Name("ended")],
                identity: .custom { $0.userInfo?["number"] },
                label: { ($0.userInfo?["number"]).map { "request \($0)" } }
            ),
            in: center
        )
        center.post(name: Notification.Name("began"), object: nil, userInfo: ["number": 7])
        center.post(name: Notification.Name("began"), object: nil, userInfo: ["number": 8])
        center.post(name: Notification.Name("began"), object: nil)
        #expect(manager.activityCount == 2)
        #expect(manager.snapshot.label == "request 7")
        center.post(name: Notification.Name("ended"), object: nil, userInfo: ["number": 7])
        #expect(manager.activityCount == 1)
        #expect(manager.snapshot.label == "request 8")
    }

    @Test func aTaskDeallocatedWithoutANotificationEnds() async {
        indicator.manager.observe(.indicator, in: center)
        do {
            let request = Request()
            center.post(name: .indicatorTaskDidResume, object: request)
            #expect(indicator.manager.activityCount == 1)
        }
        #expect(indicator.manager.activityCount == 1)
        indicator.clock.advance(by: .seconds(1))
        #expect(await eventually { indicator.manager.activityCount == 0 })
        indicator.clock.advance(by: .seconds(60))
        #expect(await eventually { indicator.clock.deadlines.isEmpty })
    }

    @Test func anObjectAtTheAddressOfADeallocatedOneIsDistinct() async {
        indicator.manager.observe(.indicator, in: center)
        // Objects of one size reuse the same address.
        for _ in 0..<100 {
            let request = Request()
            center.post(name: .indicatorTaskDidResume, object: request, userInfo: [TaskNotifications.labelKey: "x"])
        }
        let last = Request()
        center.post(name: .indicatorTaskDidResume, object: last)
        center.post(name: .indicatorTaskDidComplete, object: last)
        for _ in 0..<100 { center.post(name: .indicatorTaskDidComplete, object: Request()) }
        let fresh = Request()
        center.post(name: .indicatorTaskDidResume, object: fresh)
        indicator.clock.advance(by: .seconds(1))
        #expect(await eventually { indicator.manager.activityCount == 1 })
        #expect(indicator.manager.snapshot.label == nil)
        withExtendedLifetime(fresh) {}
    }

    @Test func aTrackedObjectCountsForAsLongAsItLives() async {
        var object: Request? = Request()
        if let object {
            indicator.manager.track(object, label: "Export")
            indicator.manager.track(object, label: "again")
        }
        #expect(indicator.manager.activityCount == 1)
        #expect(indicator.manager.snapshot.label == "Export")
        object = nil
        indicator.clock.advance(by: .seconds(1))
        #expect(await eventually { indicator.manager.activityCount == 0 })
        #expect(indicator.manager.snapshot.label == nil)
        let other = Request()
        indicator.manager.track(other)
        indicator.manager.stopTracking(other)
        indicator.manager.stopTracking(other)
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func aShorterCheckIntervalAppliesImmediately() async {
        do {
            let object = Request()
            indicator.manager.track(object)
        }
        indicator.manager.lifetimeCheckInterval = .milliseconds(10)
        indicator.clock.advance(by: .milliseconds(10))
        #expect(await eventually { indicator.manager.activityCount == 0 })
    }

    @Test func aCancelledObservationReceivesNothing() {
        let observation = indicator.manager.observe(.indicator, in: center)
        observation.cancel()
        let request = Request()
        center.post(name: .indicatorTaskDidResume, object: request)
        #expect(indicator.manager.activityCount == 0)
        #expect(observation.isCancelled)
    }

    /// Each observation copied the list of all: 2.6 ms with 10 000, with the lock held.
    @Test func aCancelledObservationIsForgotten() {
        weak var weakObservation: NotificationObservation?
        do {
            let others = (0..<100).map { _ in indicator.manager.observe(.indicator, in: center) }
            weakObservation = others[50]
            others[50].cancel()
        }
        #expect(weakObservation == nil)
    }

    @Test func anObservationDoesNotKeepTheManagerAlive() {
        weak var weakManager: IndicatorManager?
        do {
            let manager = IndicatorManager()
            manager.observe(.indicator, in: center)
            weakManager = manager
        }
        #expect(weakManager == nil)
        center.post(name: .indicatorTaskDidResume, object: Request())
    }

    /// The caller checked all objects.
    @Test func enablingDoesNotCheckTheObjects() async {
        indicator.manager.isEnabled = false
        indicator.manager.observe(.indicator, in: center)
        do { center.post(name: .indicatorTaskDidResume, object: Request()) }
        indicator.manager.isEnabled = true
        #expect(indicator.manager.activityCount == 1)
        indicator.clock.advance(by: .seconds(1))
        #expect(await eventually { indicator.manager.activityCount == 0 })
        #expect(await eventually { indicator.manager.state == .inactive })
    }

    /// An object deallocated during the start delay showed the indicator for 0.2 s with a count of 0.
    @Test(arguments: [false, true])
    func aDeallocatedObjectNeverShowsTheIndicator(isTracked: Bool) async {
        indicator.manager.observe(.indicator, in: center)
        // Starts the periodic check for another object.
        let other = Request()
        indicator.manager.track(other)
        indicator.manager.stopTracking(other)
        indicator.clock.advance(by: .milliseconds(500))
        do {
            let request = Request()
            if isTracked {
                indicator.manager.track(request)
            } else {
                center.post(name: .indicatorTaskDidResume, object: request)
            }
        }
        #expect(indicator.manager.state == .delayingStart)
        indicator.clock.advance(by: .seconds(1))
        #expect(await eventually { indicator.manager.activityCount == 0 })
        #expect(await eventually { indicator.manager.state == .inactive })
        await indicator.manager.shutdown()
        #expect(indicator.surface.snapshots.isEmpty)
    }

    /// The check between two intervals was missing here.
    @Test func aDeallocatedObjectDoesNotShowAnIndicatorThatIsEnabled() async throws {
        let indicator = TestIndicator(delays: try IndicatorDelays(startDelay: .zero), isEnabled: false)
        do {
            let object = Request()
            indicator.manager.track(object)
        }
        indicator.manager.isEnabled = true
        #expect(await eventually { indicator.manager.activityCount == 0 })
        #expect(await eventually { indicator.manager.state == .inactive })
        await indicator.manager.shutdown()
        #expect(indicator.surface.snapshots.isEmpty)
    }

    /// It was kept for ever, and all indicators then observed tasks in the slower way.
    @Test func anObservationAfterTheShutdownIsCancelled() async {
        await indicator.manager.shutdown()
        let observation = indicator.manager.observe(.indicator, in: center)
        #expect(observation.isCancelled)
    }

    private struct Described: Hashable, CustomStringConvertible {
        var description: String
    }

    @Test(
        "Alamofire's requests are labelled by their description",
        arguments: [
            ("GET https://example.org/items (200)", "GET https://example.org/items"),
            ("POST https://user:secret@example.org/login?token=abc#top", "POST https://example.org/login"),
            ("No request created yet.", nil), ("curl -v", nil), ("GET", nil), ("GET items", nil), ("", nil),
        ] as [(String, String?)]
    )
    func labels(description: String, label: String?) {
        indicator.manager.observe(.alamofire, in: center)
        let request = Described(description: description)
        post("didResumeTask", request)
        #expect(indicator.manager.activityCount == 1)
        #expect(indicator.manager.snapshot.label == label)
        post("didCompleteTask", request)
    }

    /// Each held the task, so neither detected that there was no other reference.
    @Test func twoObservingIndicatorsDoNotKeepTasksAlive() async {
        let second = TestIndicator()
        indicator.manager.observe(.indicator, in: center)
        second.manager.observe(.indicator, in: center)
        weak var task: Request?
        do {
            let request = Request()
            task = request
            center.post(name: .indicatorTaskDidResume, object: request)
        }
        #expect(second.manager.activityCount == 1)
        for clock in [indicator.clock, second.clock] { clock.advance(by: .seconds(1)) }
        #expect(
            await eventually {
                for clock in [indicator.clock, second.clock] { clock.advance(by: .seconds(1)) }
                return indicator.manager.activityCount == 0 && second.manager.activityCount == 0
            }
        )
        #expect(task == nil)
    }

    /// Posts notifications in its `deinit`.
    private final class PostingTask {
        let names: [Notification.Name]
        let center: NotificationCenter

        init(_ names: [Notification.Name], _ center: NotificationCenter) {
            (self.names, self.center) = (names, center)
        }

        deinit {
            for name in names { center.post(name: name, object: self) }
        }
    }

    /// The runtime ended the process: the object was retained in its `deinit`.
    @Test(arguments: [false, true]) func anObjectPostsNotificationsWhenItIsDeallocated(isTracked: Bool) async {
        indicator.manager.observe(.indicator, in: center)
        let names: [Notification.Name] = [.indicatorTaskDidProgress, .indicatorTaskDidResume]
        for _ in 0..<3 {
            let task = PostingTask(names, center)
            if isTracked { indicator.manager.track(task) }
        }
        #expect(isTracked || indicator.manager.activityCount == 0)
        indicator.clock.advance(by: .seconds(1))
        #expect(await eventually { indicator.manager.activityCount == 0 })
    }

    @Test func objectsAreNotCheckedAfterTheShutdown() async {
        indicator.manager.observe(.indicator, in: center)
        let request = Request()
        weak var task: Request?
        do {
            let request = Request()
            task = request
            center.post(name: .indicatorTaskDidResume, object: request)
        }
        indicator.manager.track(request, label: "tracked")
        await indicator.manager.shutdown()
        #expect(await eventually { indicator.manager.activityCount == 0 && task == nil })
        indicator.manager.track(request)
        #expect(indicator.manager.activityCount == 0)
        indicator.clock.advance(by: .seconds(1))
        #expect(await eventually { indicator.clock.deadlines.isEmpty })
    }
}
