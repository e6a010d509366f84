import TestSupport

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
    /// Observes the names of this package.
    private let indicator = TestIndicator()
    private let request = Request()

    init() { indicator.manager.observe(.indicator, in: center) }

    private func post(_ name: String, _ request: Any) {
        notify(Notification.Name(Self.alamofire + name), nil, [Self.alamofireKey: request])
    }

    private func notify(_ name: Notification.Name, _ object: Any?, _ information: [String: Any]? = nil) {
        center.post(name: name, object: object, userInfo: information)
    }

    /// What happens to objects, and the count after it: `~N` is reached by and by, `shown` is that of the indicator.
    ///
    /// - Notifications of an object, of ours or of Alamofire's (`did…`); alone, of `a`;
    /// - `b.track`, `b.untrack`, and `b.released` by its last owner;
    /// - `@N`, N milliseconds pass; `on` and `off`; `every10`, the interval of the checks; `checked`, they are due;
    /// - `labelled`, with the label of `a`; `delayingStart` and `inactive`, the states; `unshown` until its end.
    @Test(arguments: [
        (
            "The names of this package",
            "Progress 0 Resume 1 Resume 1 Suspend 0 Resume 1 Progress 1 Complete 0 Complete 0"
        ),
        ("The last name of Alamofire ends a request", "didResume 1 didResumeTask 1 didCompleteTask 1 didFinish 0"),
        ("That is one", "didResume 1 didResumeTask 1 didCancelTask 1 didCompleteTask 1 didCancel 0"),
        // It stayed in progress for ever.
        (
            "A request is cancelled while it waits for its retry or its adapter",
            "didResume 1 didResumeTask 1 didCancel 0"
        ),
        ("A task is cancelled before it was started", "didFinish 0"),
        ("A completion overtakes its start, and does not leave the indicator on", "didFinish 0 didResume 0"),
        ("Two completions overtake one start", "Complete Complete Resume 0 Resume 1"),
        (
            "A completion that follows soon on an end, or on an ignored start, overtakes nothing",
            "Complete @200 Resume 0 @100 Complete Resume 1 Complete @249 Complete Resume 1"
        ),
        (
            "A completion that follows later does",
            "Resume Complete @200 b.Resume b.Complete c.Resume c.Complete @50 Complete Resume 0"
        ),
        // All were hidden for their whole duration: a stop was remembered that had not overtaken its start.
        ("A task is suspended before it was created", "didSuspend didSuspendTask @100 didResume didResumeTask 1 shown"),
        (
            "A task is suspended twice",
            """
            didResume didResumeTask @50 didSuspend didSuspendTask @10 didSuspendTask @40 didResume didResumeTask 1
            shown
            """
        ),
        ("A task is retried", "didResume didResumeTask @50 didCompleteTask @1 didResumeTask 1 shown"),
        ("So with the names of this package", "Suspend @100 Resume 1 shown"),
        ("Twice", "Resume @50 Suspend @10 Suspend @40 Resume 1 shown"),
        ("And retried", "Resume @50 Complete @1 Resume 1 shown"),
        ("A task deallocated without a notification ends", "Resume 1 a.released 1 @1000 ~0"),
        (
            "A tracked object counts for as long as it lives",
            "a.track a.track 1 a.released @1000 ~0 b.track b.untrack b.untrack 0"
        ),
        ("A shorter interval of the checks applies immediately", "a.track a.released every10 @10 ~0"),
        // It showed the indicator for 0.2 s, with a count of 0. Another object has started the periodic check.
        (
            "A task that is deallocated during the start delay is not shown",
            "b.track b.untrack @500 Resume a.released delayingStart @1000 ~0 inactive unshown"
        ),
        (
            "Nor is a tracked object",
            "b.track b.untrack @500 a.track a.released delayingStart @1000 ~0 inactive unshown"
        ),
        // The caller did.
        ("Enabling does not check the objects", "off Resume a.released on 1 @1000 ~0"),
        // A cell of a list that was scrolled away and back: the task goes on, and was never counted.
        (
            "An ignored beginning counts if its object still lives",
            """
            Complete @100 Resume b.Complete b.Resume b.Complete c.Complete c.Resume c.released 0 checked @1000 ~1
            labelled Complete 0
            """
        ),
    ])
    func `Objects begin and end activities`(sentence: String, script: String) async {
        let manager = indicator.manager
        manager.observe(.alamofire, in: center)
        var objects: [Substring: Request] = [:]
        for word in script.split(whereSeparator: \.isWhitespace) {
            if let count = Int(word) {
                #expect(manager.activityCount == count, "\(sentence): \(word)")
            } else if word.first == "~" {
                #expect(await eventually { "~\(manager.activityCount)" == word }, "\(sentence): \(word)")
            } else if word.first == "@" {
                indicator.clock.advance(by: .milliseconds(Int(word.dropFirst()) ?? 0))
            } else if ["on", "off"].contains(word) {
                manager.isEnabled = word == "on"
            } else if word == "every10" {
                manager.lifetimeCheckInterval = .milliseconds(10)
            } else if word == "labelled" {
                #expect(manager.snapshot.label == "a", "\(sentence)")
            } else if word == "checked" {
                #expect(await eventually { !indicator.clock.deadlines.isEmpty })
            } else if let state = IndicatorState(rawValue: String(word)) {
                #expect(await eventually { manager.state == state }, "\(sentence): \(word)")
            } else if word == "unshown" {
                await manager.shutdown()
                #expect(indicator.surface.snapshots.allSatisfy { !$0.isVisible }, "\(sentence)")
            } else if word == "shown" {
                indicator.clock.advance(by: .seconds(2))
                #expect(await eventually { manager.isVisible }, "\(sentence)")
            } else {
                let parts = word.split(separator: ".")
                let name = parts.count > 1 ? parts[0] : "a"
                let object = objects[name, default: Request()]
                objects[name] = parts.last == "released" ? nil : object
                switch parts.last {
                case "released": break
                case "track": manager.track(object)
                case "untrack": manager.stopTracking(object)
                case let event:
                    let event = String(event ?? "")
                    let notification = (event.hasPrefix("did") ? Self.alamofire : "indicatorTaskDid") + event
                    let information: [String: Any] = [Self.alamofireKey: object, TaskNotifications.labelKey: "\(name)"]
                    notify(Notification.Name(notification), object, information)
                }
            }
        }
    }

    /// It was shown, hidden, shown and hidden, and two activities had finished.
    @Test func `A request that is retried is one activity`() async throws {
        let indicator = TestIndicator(delays: .zero)
        indicator.manager.observe(.alamofire, in: center)
        for name in ["didResume", "didResumeTask", "didCompleteTask", "didResumeTask", "didCompleteTask", "didFinish"] {
            post(name, "GET https://example.org/items")
            indicator.clock.advance(by: .seconds(1))
        }
        await indicator.manager.shutdown()
        #expect(indicator.surface.updates.count { $0.snapshot.isVisible && $0.finished.isEmpty } > 0)
        #expect(indicator.surface.finished.map(\.label) == ["GET https://example.org/items"])
        #expect(indicator.surface.snapshots.map(\.isVisible).filter { !$0 }.count <= 2)
    }

    @Test func `Numbers of any type are progress, what is absent is unchanged, and all ends with the task`() {
        func post(_ information: [String: Any]) { notify(.indicatorTaskDidProgress, request, information) }
        post([TaskNotifications.progressKey: 0.5])
        #expect(indicator.manager.snapshot.progress == nil)
        for information in [[TaskNotifications.labelKey: "GET /"], nil] {
            notify(.indicatorTaskDidResume, request, information)
        }
        func details() -> ActivityDetails? { indicator.manager.snapshot.activities.first }
        post([TaskNotifications.progressKey: Float(0.5)])
        #expect(details()?.label == "GET /" && details()?.progress == 0.5)
        post([TaskNotifications.labelKey: "GET /2"])
        #expect(details()?.label == "GET /2" && details()?.progress == 0.5)
        post([TaskNotifications.progressKey: 1])
        #expect(details()?.progress == 1)
        post([TaskNotifications.completedBytesKey: Int64(7), TaskNotifications.totalBytesKey: UInt32(70)])
        post([TaskNotifications.completedBytesKey: NSNumber(value: 14)])
        #expect(details()?.completed == 14 && details()?.total == 70 && details()?.unit == .bytes)
        post([TaskNotifications.progressKey: Double.nan, TaskNotifications.completedBytesKey: Double.infinity])
        #expect(details()?.progress == 1 && details()?.completed == 14)
        notify(.indicatorTaskDidComplete, request)
        #expect(details() == nil)
    }

    /// `whenDone: failures` reported nothing for observed tasks.
    @Test func `A completion may have an outcome, and a pause has none`() async throws {
        struct Failure: Error, CustomStringConvertible { var description: String { "HTTP 503" } }
        let indicator = TestIndicator(delays: .noStart)
        indicator.manager.observe(.indicator, in: center)
        let other = indicator.manager.begin("other")
        let outcomes: [Any] = [ActivityOutcome.succeeded, Failure(), CancellationError(), "text"]
        for (number, outcome) in outcomes.enumerated() {
            let request = Request()
            for name in ["Resume", "Suspend", "Resume", "Complete"] {
                let information = [TaskNotifications.labelKey: "\(number)", TaskNotifications.outcomeKey: outcome]
                notify(Notification.Name("indicatorTaskDid\(name)"), request, information)
            }
        }
        await indicator.manager.shutdown()
        let finished = indicator.surface.finished
        #expect(finished.map(\.outcome) == [.succeeded, .failed("HTTP 503"), .cancelled, .unspecified])
        other.end()
    }

    /// Of 1 000 objects, 520 stayed alive.
    @Test func `What is remembered keeps nothing alive`() {
        var objects: [() -> Request?] = []
        func post(_ events: [Notification.Name]) {
            let object = Request()
            objects.append { [weak object] in object }
            for name in events { notify(name, object) }
            for name in events { notify(name, Holder(content: object)) }
        }
        for _ in 0..<1000 {
            post([.indicatorTaskDidResume, .indicatorTaskDidComplete, .indicatorTaskDidComplete])
            post([.indicatorTaskDidComplete])
            post([.indicatorTaskDidSuspend, .indicatorTaskDidSuspend])
        }
        #expect(objects.count { $0() != nil } == 0)
        #expect(indicator.manager.activityCount == 0)
    }

    @Test func `Custom names are observed with identities by value`() {
        let (manager, began, ended) = (indicator.manager, Notification.Name("began"), Notification.Name("ended"))
        let names = TaskNotifications(
            starts: [began],
            stops: [ended],
            identity: .custom { $0.userInfo?["number"] },
            label: { ($0.userInfo?["number"]).map { "request \($0)" } }
        )
        manager.observe(names, in: center)
        for information in [["number": 7], ["number": 8], nil] { notify(began, nil, information) }
        #expect(manager.activityCount == 2)
        #expect(manager.snapshot.label == "request 7")
        notify(ended, nil, ["number": 7])
        #expect(manager.activityCount == 1)
        #expect(manager.snapshot.label == "request 8")
    }

    /// The update was never called: a later list replaced the entry of an earlier one.
    @Test func `One name in several lists does what each says`() {
        let (begin, end) = (Notification.Name("begin"), Notification.Name("end"))
        var names = TaskNotifications(starts: [begin, begin], stops: [end], updates: [begin, end])
        names.label = { _ in "label" }
        names.update = { $1.completed += 1 }
        indicator.manager.observe(names, in: center)
        for _ in 0..<2 { notify(begin, request) }
        #expect(indicator.manager.snapshot.activities.map(\.completed) == [2])
        notify(end, request)
        #expect(indicator.manager.activityCount == 0)
    }

    /// Each observation copied the list of all: 2.6 ms with 10 000, with the lock held.
    @Test func `A cancelled observation receives nothing and is forgotten; none keeps the manager alive`() {
        weak var weakManager: IndicatorManager?
        do {
            let manager = IndicatorManager()
            weakManager = manager
            weak var weakObservation: NotificationObservation?
            do {
                let observations = (0..<100).map { _ in manager.observe(.indicator, in: center) }
                weakObservation = observations[50]
                for observation in observations { observation.cancel() }
                notify(.indicatorTaskDidResume, request)
                #expect(manager.activityCount == 0 && observations[50].isCancelled)
            }
            #expect(weakObservation == nil)
            manager.observe(.indicator, in: center)
        }
        #expect(weakManager == nil)
        notify(.indicatorTaskDidResume, request)
    }

    /// It was kept for ever.
    @Test func `An observation after the shutdown is cancelled`() async {
        await indicator.manager.shutdown()
        let observation = indicator.manager.observe(.indicator, in: center)
        #expect(await eventually { observation.isCancelled })
    }

    @Test(
        arguments: [
            ("GET https://example.org/items (200)", "GET https://example.org/items"),
            ("POST https://user:secret@example.org/login?token=abc#top", "POST https://example.org/login"),
            ("No request created yet.", nil), ("curl -v", nil), ("GET", nil), ("GET items", nil), ("", nil),
        ] as [(String, String?)]
    )
    func `Alamofire's requests are labelled by their description`(description: String, label: String?) {
        indicator.manager.observe(.alamofire, in: center)
        post("didResume", description)
        #expect(indicator.manager.activityCount == 1)
        #expect(indicator.manager.snapshot.label == label)
    }

    /// Each held the task, so neither detected that there was no other reference.
    @Test func `Two observing indicators do not keep tasks alive`() async {
        let second = TestIndicator()
        second.manager.observe(.indicator, in: center)
        weak var task: Request?
        do {
            let request = Request()
            task = request
            notify(.indicatorTaskDidResume, request)
        }
        #expect(second.manager.activityCount == 1)
        for clock in [indicator.clock, second.clock] { clock.advance(by: .seconds(1)) }
        await expectEventually {
            for clock in [indicator.clock, second.clock] { clock.advance(by: .seconds(1)) }
            return indicator.manager.activityCount == 0 && second.manager.activityCount == 0
        }
        #expect(task == nil)
    }

    /// Posts notifications in its `deinit`.
    private final class PostingTask {
        let names: [Notification.Name]
        let center: NotificationCenter

        init(_ names: [Notification.Name], _ center: NotificationCenter) {
            (self.names, self.center) = (names, center)
        }

        deinit { for name in names { center.post(name: name, object: self) } }
    }

    /// The runtime ended the process: the object was retained in its `deinit`.
    @Test(arguments: [false, true]) func `An object posts notifications when it is deallocated`(isTracked: Bool) async {
        let names: [Notification.Name] = [.indicatorTaskDidProgress, .indicatorTaskDidResume]
        for _ in 0..<3 {
            let task = PostingTask(names, center)
            if isTracked { indicator.manager.track(task) }
        }
        #expect(isTracked || indicator.manager.activityCount == 0)
        indicator.clock.advance(by: .seconds(1))
        #expect(await eventually { indicator.manager.activityCount == 0 })
    }

    @Test func `Objects are not checked after the shutdown`() async {
        let request = Request()
        weak var task: Request?
        do {
            let request = Request()
            task = request
            notify(.indicatorTaskDidResume, request)
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
