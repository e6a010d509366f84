#if DBus
@testable import IndicatorCore
import TestSupport

@testable import DesktopBackends

/// Servers that differ from dunst, each the real program.
@Suite(.needs(.notifications)) struct NotificationServersTests {
    @Test(
        "A server that shows no bar beside the text gets the percentage in the text",
        .needs(.notificationServers),
        arguments: [NotificationServer.Program.xfce, .mate, .lxqt, .notifyOSD],
        NotificationWay.allCases
    )
    func percentage(program: NotificationServer.Program, way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        // Before the server: some end when nothing is shown for a while.
        let monitor = try await NotifyMonitor(bus)
        let server = try await NotificationServer(on: bus, program)
        let closed = try await SignalMonitor(bus, name: "org.freedesktop.Notifications")
        let probe = try await DesktopProbe.notifying(through: way, on: bus)
        try await probe.tell("begin", "Fetching") { monitor.shown.last?.body == "Fetching" }
        try await probe.tell("progress", "0.4") { monitor.shown.last?.body == "Fetching 40%" }
        #expect(monitor.shown.allSatisfy { $0.hints["value"] == nil })
        // Updated in place, and always with an expiry.
        let identifiers = monitor.shown.map(\.identifier)
        let shown = try #require(identifiers.dropFirst().first)
        #expect(identifiers.first == 0 && shown != 0 && Set(identifiers.dropFirst()) == [shown])
        #expect(monitor.shown.allSatisfy { $0.timeout > 0 && $0.timeout <= 60_000 })
        try await probe.tell("end")
        // On a busy machine, the bubble of notify-osd may have ended by itself, after ten seconds.
        func hasExpired() -> Bool { program == .notifyOSD && monitor.closingReasons == [1] }
        #expect(await eventually { monitor.calls.last?.member == "CloseNotification" || hasExpired() })
        #expect(monitor.calls.last?.identifier == shown)
        // notify-osd does not report it.
        if program != .notifyOSD { #expect(await closed.shows("NotificationClosed (uint32 \(shown), ")) }
        #expect(try await probe.status(of: "desktopNotification") == "running")
        withExtendedLifetime(server) {}
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
        let bus = try await PrivateBus()
        let monitor = try await NotifyMonitor(bus)
        let server = try await NotificationServer(on: bus, button.program)
        let probe = try await DesktopProbe.notifying("expiry=3600", through: way, on: bus)
        try await probe.tell("begin", "first")
        try await expectEventually("\(monitor.closingReasons)") {
            for window in try await server.screen.windows() where window.width > 50 && window.height > 50 {
                try await server.screen.click(x: window.x + window.width - button.x, y: window.y + button.y)
            }
            return monitor.closingReasons == [button.reason]
        }
        try await probe.deliver("label", "next")
        try await probe.tell("end")
        // The next time, it is shown again.
        try await probe.tell("begin", "again") { monitor.shown.last?.body == "again" }
        #expect(monitor.shown.map(\.body) == ["first", "again"])
    }

    /// Runs a test with a scripted server, what it receives, and an app whose backend is running. At the end, the app
    /// is shut down, and nothing is left.
    private func onScripted(
        _ parts: String = "",
        through way: NotificationWay = .auto,
        leaving count: Int = 0,
        server: @escaping (String) throws -> ScriptedServer = { try ScriptedServer(address: $0) },
        _ body: (ScriptedServer, NotifyMonitor, DesktopProbe) async throws -> Void
    ) async throws {
        let bus = try await PrivateBus()
        let server = try server(bus.address)
        let monitor = try await NotifyMonitor(bus)
        let probe = try await DesktopProbe.notifying(parts, through: way, on: bus)
        try await body(server, monitor, probe)
        if probe.isRunning { try await probe.shutdown() }
        #expect(await eventually { server.shown.count == count })
        withExtendedLifetime((bus, monitor)) {}
    }

    @Test(arguments: NotificationWay.allCases)
    func `One that the user closes while an update is on its way stays closed`(way: NotificationWay) async throws {
        let make = { (address: String) in try ScriptedServer(address: address, closesUpdated: true) }
        try await onScripted("expiry=3600", through: way, server: make) { server, _, probe in
            try await probe.tell("begin", "first") { server.shown == [1] }
            try await probe.tell("label", "second") { server.notifyCount == 2 && server.shown.isEmpty }
            try await probe.tell("end")
            try await probe.tell("begin", "again") { server.shown == [3] }
            #expect(server.notifyCount == 3)
        }
    }

    @Test func `A server that does not say enough for libnotify gets everything over D-Bus`() async throws {
        try await onScripted(server: { try ScriptedServer(address: $0, version: nil) }) { server, _, probe in
            try await probe.tell("begin", "work") { server.shown == [1] }
            #expect(await probe.logs("without libnotify: its answer to GetServerInformation"))
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `What ends within seconds is one, with a count, until the user closes it`(way: NotificationWay) async throws {
        try await onScripted("delays outcomes", through: way, leaving: 1) { server, monitor, probe in
            func end(_ label: String, times: Int = 1, shows more: String) async throws {
                for _ in 0..<times {
                    try await probe.tell("begin", label)
                    try await probe.tell("end")
                }
                await expectEventually("\(monitor.shown)") {
                    monitor.shown.contains {
                        $0.summary == label && $0.body.hasPrefix("Ended")
                            && $0.body.split(separator: "; ").dropFirst().joined() == more
                    }
                }
            }
            func identifiers() -> [Int] { monitor.shown.filter { $0.body.hasPrefix("Ended") }.map(\.identifier) }
            try await end("first", shows: "")
            // At once: within five seconds, on a busy machine, too.
            try await end("next", times: 3, shows: "3 more have ended")
            #expect(identifiers().first == 0 && Set(identifiers().dropFirst()).count == 1)
            // Servers report it to the connection that has shown it, which is libnotify's.
            if way == .dbus {
                try await server.closeAll(for: 2)
                try await end("another", shows: "")
                #expect(identifiers().last == 0)
            }
        }
    }

    @Test(arguments: [[], [BusValue.uint32(0)]], NotificationWay.allCases)
    func `An outcome that the server refuses, with an error or the identifier 0, is logged once`(
        answer: [BusValue],
        way: NotificationWay
    ) async throws {
        let make = { (address: String) in try ScriptedServer(address: address, wrongAnswer: answer) }
        try await onScripted("delays outcomes", through: way, server: make) { _, monitor, probe in
            try await probe.tell("begin", "work")
            let text = "'desktopNotification' did not report 'work: Ended"
            try await probe.tell("end") { probe.log.contains(text) }
            try await probe.shutdown()
            #expect(probe.log.ranges(of: text).count == 1, "\(probe.log)")
            #expect(monitor.shown.count { $0.body.hasPrefix("Ended") } == 1)
        }
    }

    @Test func `A server that hangs gets an outcome once: an update that throws has not sent it`() async throws {
        let bus = try await PrivateBus()
        let server = try ScriptedServer(address: bus.address, isSilent: true)
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
            let interface = NotificationSession.interface
            _ = try await link.call(
                .call(interface, path: NotificationSession.path, interface: interface, member: "GetCapabilities"),
                timeLimit: .seconds(60)
            )
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
        let bus = try await PrivateBus()
        var server: ScriptedServer? = try ScriptedServer(address: bus.address, wrongAnswer: answer)
        let probe = try await DesktopProbe.notifying(through: way, on: bus)
        try await probe.tell("begin", "work <b>\u{1B}[1m")
        let refusal = "the server did not show the notification"
        #expect(await probe.logs(refusal))
        let count = server?.notifyCount ?? 0
        try await probe.follow("label changed | end")
        try await probe.tell("begin", "work") { server?.notifyCount ?? 0 > count }
        #expect(probe.log.split(separator: "\n").count { $0.contains(refusal) } == 1)
        #expect(!probe.log.contains("available again"))
        server = nil
        #expect(try await probe.backend("desktopNotification", is: "no service owns"))
        let next = try ScriptedServer(address: bus.address)
        #expect(await eventually { next.shown.count == 1 })
        try await probe.tell("end") { next.shown.isEmpty }
    }

    /// One that the server closes of its own accord reappears with the next change; one that the user closes does not.
    @Test(
        "One is shown again, or stays closed, by the reason that the server reports",
        arguments: [
            ("The server has closed it", "tests", 1, false), ("The user has", "tests", 2, true),
            ("The server has, at a request", "tests", 3, false), ("The server has, undefined", "tests", 4, false),
            ("Cinnamon has, 4 s after the last change, and reports the user", "cinnamon", 2, false),
            ("The user has, before that", "cinnamon", 2, true), ("The button of Cinnamon", "cinnamon", 0, true),
            ("The server has closed one with a timeout", "timeout", 1, true),
        ],
        NotificationWay.allCases
    )
    func closes(_ row: (sentence: String, server: String, reason: Int, isDismissal: Bool), way: NotificationWay)
        async throws
    {
        let (name, reason, isDismissal) = (row.server, row.reason, row.isDismissal)
        // On a busy machine, one with the default expiry would be renewed meanwhile, every 35 s.
        let option = name == "timeout" ? "timeout=3600" : "expiry=3600"
        let waits = name == "cinnamon" && !isDismissal
        let make = { (address: String) in try ScriptedServer(address: address, name: name) }
        try await onScripted(option, through: way, server: make) { server, monitor, probe in
            try await probe.tell("begin", "first") { server.shown.count == 1 }
            // At least as long as Cinnamon waits.
            if waits { try await Task.sleep(for: .milliseconds(4100)) }
            try await server.closeAll(for: reason)
            if isDismissal {
                // An update could be sent at once.
                try await Task.sleep(for: .milliseconds(600))
                try await probe.deliver("label", "next")
            } else {
                try await probe.tell("label", "next") { server.shown.count == 1 }
            }
            try await probe.tell("end") { server.shown.isEmpty }
            // The next time, it is shown again.
            try await probe.tell("begin", "again") { server.shown.count == 1 }
            try await monitor.catchUp()
            #expect(monitor.shown.map(\.body) == (isDismissal ? ["first", "again"] : ["first", "next", "again"]))
            #expect(monitor.shown.allSatisfy { $0.identifier == 0 })
        }
    }

    @Test("GNOME shows a banner, which is not changed, then a quiet entry in the list; a question gets a banner, too")
    func gnome() async throws {
        let make = { (address: String) in try ScriptedServer(address: address, name: "gnome-shell") }
        try await onScripted(server: make) { server, monitor, probe in
            #expect(await probe.logs("gnome-shell 1 over D-Bus, without libnotify: only the connection that shows"))
            try await probe.tell("begin", "Fetching") { monitor.shown.count == 1 }
            try await probe.tell("progress", "0.2") { monitor.shown.count == 2 }
            try await probe.follow("progress 0.4 = 3 | attention Passphrase? = 5") { "\(monitor.shown.count)" }
            let (asks, calls) = ("Fetching: Passphrase? 40%", monitor.shown)
            #expect(calls.map(\.body) == ["Fetching", "Fetching 20%", "Fetching 40%", asks, asks])
            #expect(calls.map { $0.hints["urgency"] } == ["y 1", "y 0", "y 0", "y 1", "y 0"])
            // GNOME removes a transient one with its banner.
            #expect(calls.map { $0.hints["transient"] } == ["b 1", "b 0", "b 0", "b 1", "b 0"])
            // None changes its urgency.
            #expect(calls.map { $0.identifier == 0 } == [true, true, false, true, true])
            #expect(await eventually { server.shown.count == 1 })
            await probe.quit()
            #expect(await eventually { server.shown.isEmpty })
            #expect(server.refusedCount == 0)
        }
    }
}
#endif
