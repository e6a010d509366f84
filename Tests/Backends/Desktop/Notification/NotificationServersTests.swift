#if DBus
@testable import IndicatorCore
import TestSupport

@testable import DesktopBackends

/// Servers that differ from dunst: real programs, and scripted ones.
@Suite(.needs(.notifications)) struct NotificationServersTests {
    @Test(
        "A server that shows no bar beside the text gets the percentage in the text",
        .needs(.notificationServers),
        arguments: [NotificationServer.Program.xfce, .mate, .lxqt, .notifyOSD],
        NotificationWay.allCases
    )
    func percentage(program: NotificationServer.Program, way: NotificationWay) async throws {
        try await onDesktop(through: way, server: { try await NotificationServer(on: $0, program) }) { desk in
            let closed = try await SignalMonitor(desk.bus, name: "org.freedesktop.Notifications")
            try await desk.probe.tell("begin", "Fetching") { desk.shown.last?.body == "Fetching" }
            try await desk.probe.tell("progress", "0.4") { desk.shown.last?.body == "Fetching 40%" }
            // Updated in place, and always with an expiry.
            let shown = try #require(desk.shown.last?.identifier)
            #expect(shown != 0 && desk.shown.map(\.identifier).dropFirst().allSatisfy { $0 == shown })
            #expect(desk.shown.first?.identifier == 0)
            #expect(desk.shown.allSatisfy { $0.hints["value"] == nil && (1...60_000).contains($0.timeout) })
            try await desk.probe.tell("end")
            // On a busy machine, the bubble of notify-osd may have ended by itself, after ten seconds.
            func hasExpired() -> Bool { program == .notifyOSD && desk.monitor.closingReasons == [1] }
            #expect(await eventually { desk.monitor.calls.last?.member == "CloseNotification" || hasExpired() })
            #expect(desk.monitor.calls.last?.identifier == shown)
            // notify-osd does not report it.
            if program != .notifyOSD { #expect(await closed.shows("NotificationClosed (uint32 \(shown), ")) }
            try await desk.follow("? running")
        }
    }

    @Test(
        "One that the user closes with its button stays closed, whatever reason the server reports",
        .needs(.notificationServers),
        arguments: [
            // From the right upper corner.
            (program: NotificationServer.Program.mate, x: 32, y: 27, reason: 1),
            (program: .lxqt, x: 24, y: 29, reason: 2),
            // It has no button.
            (program: .xfce, x: 40, y: 30, reason: 2),
        ],
        NotificationWay.allCases
    )
    func button(
        _ button: (program: NotificationServer.Program, x: Int, y: Int, reason: Int),
        way: NotificationWay
    ) async throws {
        let server = { bus in try await NotificationServer(on: bus, button.program) }
        try await onDesktop("expiry=3600", through: way, server: server) { desk in
            let screen = desk.server.screen
            try await desk.probe.tell("begin", "first")
            try await expectEventually("\(desk.monitor.closingReasons)") {
                for window in try await screen.windows() where window.width > 50 && window.height > 50 {
                    try await screen.click(x: window.x + window.width - button.x, y: window.y + button.y)
                }
                return desk.monitor.closingReasons.first == button.reason
            }
            try await desk.probe.deliver("label", "next")
            try await desk.probe.tell("end")
            // The next time, it is shown again.
            try await desk.probe.tell("begin", "again") { desk.shown.last?.body == "again" }
            #expect(desk.shown.map(\.body) == ["first", "again"])
        }
    }

    /// What follows when one was closed: it is shown again with the next change, or only the next time.
    private static let shown = "label next = next | end = nothing | begin again ~ +first, +next, +again"
    // After 0.6 s, an update could be sent at once.
    private static let kept = "wait 0.6 | deliver label next | end = nothing | begin again ~ +first, +again"

    @Test(
        arguments: [
            ("Closed by the server, it is shown again", .standard, "server close 1 = nothing | \(shown)"),
            ("Closed by the user, it is not", .standard, "server close 2 = nothing | \(kept)"),
            ("Closed by the server, at a request", .standard, "server close 3 = nothing | \(shown)"),
            ("Closed by the server, undefined", .standard, "server close 4 = nothing | \(shown)"),
            // Cinnamon closes one 4 s after the last change, and reports the user.
            ("Closed by Cinnamon", .named("cinnamon"), "wait 4.1 | server close 2 = nothing | \(shown)"),
            ("Closed by the user before that", .named("cinnamon"), "server close 2 = nothing | \(kept)"),
            ("Closed by the button of Cinnamon", .named("cinnamon"), "server close 0 = nothing | \(kept)"),
            (
                "Closed by the user while an update is on its way", .closingUpdated,
                "label second = nothing | end | begin again ~ +first, second, +again"
            ),
        ] as [(String, ScriptedServer.Manner, String)],
        NotificationWay.allCases
    )
    func `One that was closed is shown again, except after the user closed it`(
        _ row: (sentence: String, manner: ScriptedServer.Manner, script: String),
        way: NotificationWay
    ) async throws {
        // On a busy machine, one with the default expiry would be renewed meanwhile, every 35 s.
        try await onDesktop("expiry=3600", through: way, server: { try ScriptedServer(on: $0, row.manner) }) { desk in
            try await desk.follow("begin first = first | \(row.script)")
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `With a timeout, one that the server closes is not shown again`(way: NotificationWay) async throws {
        try await onDesktop("timeout=3600", through: way, server: { try ScriptedServer(on: $0) }) { desk in
            try await desk.follow("begin first = first | server close 1 = nothing | \(Self.kept)")
        }
    }

    @Test func `A server that does not say enough for libnotify gets everything over D-Bus`() async throws {
        try await onDesktop(server: { try ScriptedServer(on: $0, .terse) }) { desk in
            try await desk.follow("begin work = work | & without libnotify: its answer to GetServerInformation")
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `What ends within seconds is one, with a count, until the user closes it`(way: NotificationWay) async throws {
        let server = { bus in try ScriptedServer(on: bus) }
        try await onDesktop("delays outcomes", through: way, leaving: 1, server: server) { desk in
            func outcomes() -> [NotifyMonitor.Call] { desk.shown.filter { $0.body.hasPrefix("Ended") } }
            func end(_ label: String, shows more: String) async throws {
                try await desk.probe.follow("begin \(label) | end")
                await expectEventually("\(desk.shown)") {
                    outcomes().contains {
                        $0.summary == label && $0.body.split(separator: "; ").dropFirst().joined() == more
                    }
                }
            }
            // At once: within five seconds, on a busy machine, too.
            try await desk.probe.follow("begin first | end | begin next | end | begin next | end")
            try await end("next", shows: "3 more have ended")
            #expect(outcomes()[0].identifier == 0 && Set(outcomes().dropFirst().map(\.identifier)).count <= 1)
            // Servers report it to the connection that has shown it, which is libnotify's.
            if way == .dbus {
                try await desk.follow("server close 2")
                try await end("another", shows: "")
                #expect(outcomes().last?.identifier == 0)
            }
        }
    }

    @Test(arguments: [[], [BusValue.uint32(0)]], NotificationWay.allCases)
    func `An outcome that the server refuses, with an error or the identifier 0, is logged once`(
        answer: [BusValue],
        way: NotificationWay
    ) async throws {
        let server = { bus in try ScriptedServer(on: bus, .answering(answer)) }
        try await onDesktop("delays outcomes", through: way, server: server) { desk in
            let text = "'desktopNotification' did not report 'work: Ended"
            try await desk.follow("begin work | end & \(text)")
            try await desk.shutdown()
            #expect(desk.probe.log.ranges(of: text).count == 1, "\(desk.probe.log)")
            #expect(desk.shown.count { $0.body.hasPrefix("Ended") } == 1)
        }
    }

    @Test func `A server that hangs gets an outcome once: an update that throws has not sent it`() async throws {
        let bus = try await PrivateBus()
        let server = try ScriptedServer(on: bus, .silent)
        let snapshot = IndicatorSnapshot(state: .active, activityCount: 1, label: "work", progress: nil)
        let session = NotificationSession(
            applicationName: "app",
            settings: DesktopNotificationSettings(whenDone: .always, after: .zero, through: .dbus),
            logger: Logger(label: "test"),
            context: .init(name: "app", address: bus.address, control: IndicatorControl(nil))
        )
        let thread = ServiceThread(name: "test", idleTime: .zero)
        let link = BusConnection(to: bus.address, thread: thread, session: session)
        try await withTaskExecutorPreference(thread) {
            _ = try await link.begin()
            var isLate = false
            while !isLate {
                do { _ = try session.show(IndicatorUpdate(snapshot), on: link) } catch { isLate = true }
                try await link.turn(until: .now + .milliseconds(50))
            }
            let ended = FinishedActivity(label: "work", outcome: .succeeded, duration: .seconds(1))
            let update = IndicatorUpdate(snapshot, finished: [ended])
            #expect(throws: NotificationSession.notResponding) { try session.show(update, on: link) }
            // Sent after what the update may have sent.
            _ = try await link.call(session.call("GetCapabilities"), timeLimit: .seconds(60))
            #expect(server.notifyCount == 1)
            await link.end()
        }
    }

    @Test(
        "A server that answers Notify with an error, 0 or another type is reported once, and asked again the next time",
        arguments: [[], [BusValue.uint32(0)], [.string("1")], [.int64(1)], [.strings(["1"])]],
        NotificationWay.allCases
    )
    func wrongAnswers(answer: [BusValue], way: NotificationWay) async throws {
        let refusal = "the server did not show the notification"
        let server = { bus in try ScriptedServer(on: bus, .answering(answer)) }
        try await onDesktop(through: way, server: server) { desk in
            try await desk.follow("begin work <b>\u{1B}[1m & \(refusal)")
            let (count, before) = (desk.server.notifyCount, desk.probe.log.count)
            try await desk.probe.follow("label changed | end")
            try await desk.probe.tell("begin", "work") { desk.server.notifyCount > count }
            #expect(desk.probe.log.split(separator: "\n").count { $0.contains(refusal) } == 1)
            #expect(!desk.probe.log.dropFirst(before).contains("available again"))
            try await desk.follow("server stop ? no service owns")
            let next = try ScriptedServer(on: desk.bus)
            #expect(await eventually { next.shown.count == 1 })
            try await desk.probe.tell("end") { next.shown.isEmpty }
        }
    }

    @Test("GNOME shows a banner, which is not changed, then a quiet entry in the list; a question gets a banner, too")
    func gnome() async throws {
        try await onDesktop(server: { try ScriptedServer(on: $0, .named("gnome-shell")) }) { desk in
            // GNOME removes a transient one with its banner. None changes its urgency.
            try await desk.follow(
                """
                & gnome-shell 1 over D-Bus, without libnotify: only the connection that shows
                begin Fetching = Fetching | progress 0.2 = Fetching 20% | progress 0.4 = Fetching 40% | attention Key?
                ~ +Fetching!, +Fetching 20%*, Fetching 40%*, +Fetching: Key? 40%!, +Fetching: Key? 40%*
                """
            )
            try await desk.probe.shutdown { desk.server.shown.isEmpty }
            #expect(desk.server.refusedCount == 0)
        }
    }
}
#endif
