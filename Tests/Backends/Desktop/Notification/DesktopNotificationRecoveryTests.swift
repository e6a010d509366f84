#if DBus
import TestSupport

@testable import DesktopBackends

/// Notification servers that are missing, appear, are replaced, or hang.
@Suite(.needs(.notifications)) struct DesktopNotificationRecoveryTests {
    private static let name = "desktopNotification"

    @Test func `Without a session bus the status reports it, and the backend is stopped by a shutdown`() async throws {
        let probe = try await DesktopProbe("notification", bus: nil)
        #expect(try await probe.backend(Self.name, is: "unavailable: there is no session bus"))
        try await probe.follow("begin work | shutdown")
        #expect(try await probe.status(of: Self.name) == "stopped")
    }

    @Test(arguments: NotificationWay.allCases)
    func `A server that appears later is used immediately; the backend starts none`(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        try bus.folder.write(
            "[D-BUS Service]\nName=org.freedesktop.Notifications\nExec=/usr/bin/touch \(bus.folder.path)/activated\n",
            to: "services/server.service"
        )
        _ = try await bus.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "ReloadConfig")
        let service = "org.freedesktop.DBus"
        let activatable = try await bus.busctl("call", service, "/", service, "ListActivatableNames")
        #expect(activatable.output.contains("org.freedesktop.Notifications"))
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        #expect(try await probe.backend(Self.name, is: "no service owns org.freedesktop.Notifications on this bus"))
        #expect(try await probe.status(of: Self.name).contains("install or start one, e.g. dunst"))
        try await probe.tell("begin", "work")
        #expect(try await probe.backend("other", is: "running"))
        let server = try await NotificationServer(on: bus)
        #expect(try await eventually { try await server.displayedCount == 1 })
        #expect(try await probe.backend(Self.name, is: "running"))
        // Nor when a server ends while it shows the notification.
        await server.kill()
        #expect(try await probe.backend(Self.name, is: "no service owns"))
        let second = try await NotificationServer(on: bus)
        #expect(try await eventually { try await second.displayedCount == 1 })
        #expect(!FileManager.default.fileExists(atPath: bus.folder.appending("activated")))
        try await probe.shutdown { try await second.displayedCount == 0 }
    }

    @Test(arguments: NotificationWay.allCases)
    func `When the name passes on, other apps' notifications there stay`(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        var first: ScriptedServer? = try ScriptedServer(address: bus.address)
        // It waits in the queue for the name.
        let second = try ScriptedServer(address: bus.address, identifier: 100, others: [1])
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        try await probe.tell("begin", "work") { first?.shown == [1] }
        first = nil
        #expect(await eventually { second.shown.contains(100) })
        #expect(second.shown == [1, 100])
        try await probe.tell("end") { second.shown == [1] }
    }

    @Test("A server that hangs delays nothing, is reported, and is used again", arguments: NotificationWay.allCases)
    func serverHangs(way: NotificationWay) async throws {
        try await onDesktop(through: way) { server, monitor, probe in
            try await probe.tell("begin", "before") { try await server.displayedCount == 1 }
            server.pause()
            try await probe.tell("label", "hanging")
            #expect(try await probe.backend(Self.name, is: "unavailable: the notification server does not answer"))
            // The app and the other backends continue.
            for round in 1...20 {
                try await probe.deliver("label", "round \(round)")
            }
            #expect(try await probe.status(of: Self.name).hasPrefix("unavailable"))
            try await probe.deliver("label", "the others go on")
            server.resume()
            #expect(try await probe.backend(Self.name, is: "running"))
            #expect(await eventually { monitor.shown.last?.body == "the others go on" })
            // The earlier notification was closed.
            #expect(try await eventually { try await server.displayedCount == 1 })
            try await probe.tell("end") { try await server.displayedCount == 0 }
            #expect(try await server.history("body").first == "the others go on")
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `A server that ends before its answer is missing, and has refused nothing`(way: NotificationWay) async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        try await probe.tell("begin", "work") { try await server.displayedCount == 1 }
        server.pause()
        try await probe.tell("label", "hanging") { monitor.shown.last?.body == "hanging" }
        // The end of the server and the error of the call arrive together.
        kill(probe.processID, SIGSTOP)
        await server.kill()
        #expect(try await eventually { try await !bus.hasOwner(NotificationSession.interface) })
        kill(probe.processID, SIGCONT)
        #expect(try await probe.backend(Self.name, is: "no service owns"))
        #expect(!probe.log.contains("did not show"), "\(probe.log)")
    }

    @Test func `A server that hangs from the beginning, and is started again, is used at once`() async throws {
        let bus = try await PrivateBus()
        var hanging: BusPeer? = try .hangingServer(on: bus)
        let indicator = IndicatorManager(backends: [BusBackend.probe(on: bus, BusBackend.notification)])
        let reason = "\(NotificationSession.notResponding)"
        #expect(await eventually { indicator.backendStatuses[0].state == .unavailable(reason: reason) })
        withExtendedLifetime(hanging) {}
        hanging = nil
        let server = try ScriptedServer(address: bus.address)
        #expect(await eventually { indicator.backendStatuses[0].state == .running })
        await indicator.shutdown()
        withExtendedLifetime(server) {}
    }

    @Test(arguments: NotificationWay.allCases)
    func `A notification that a resuming server shows late is closed; one remains`(way: NotificationWay) async throws {
        try await onDesktop(through: way) { server, monitor, probe in
            server.pause()
            try await probe.tell("begin", "late")
            #expect(try await probe.backend(Self.name, is: "unavailable: the notification server does not answer"))
            server.resume()
            #expect(await eventually { monitor.shown.count { $0.identifier == 0 } == 2 })
            #expect(try await eventually { try await server.historyCount == 1 })
            #expect(try await server.displayedCount == 1)
            try await probe.tell("end") { try await server.displayedCount == 0 }
        }
    }

    @Test func `The availability reports what is missing`() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe(bus: bus)
        #expect(
            try await probe.tell("available")
                == "no service owns org.freedesktop.Notifications on this bus; install or start one, e.g. dunst"
        )
        let server = try await NotificationServer(on: bus)
        #expect(try await probe.tell("available").hasPrefix("dunst "))
        server.pause()
        #expect(try await probe.tell("available").hasPrefix("the notification server does not answer"))
        server.resume()
        #expect(try await eventually { try await probe.tell("available").hasPrefix("dunst ") })
        #expect(try await server.displayedCount == 0)
        let nowhere = try await DesktopProbe(bus: nil)
        #expect(try await nowhere.tell("available").hasPrefix("there is no session bus"))
    }

    // MARK: What remains on the screen after the app has ended

    @Test(arguments: NotificationWay.allCases)
    func `An app that ends after shutdown() leaves none on a busy machine`(way: NotificationWay) async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let load = try (0..<2).map { _ in try Daemon("/bin/sh", ["-c", "while :; do :; done"]) }
        // At night, 200 processes do so.
        let runs = 4
        for run in 0..<runs {
            let probe = try await DesktopProbe("notification", through: way, bus: bus)
            try await probe.tell("begin", "run \(run)")
            // Every second run ends while the notification is being sent.
            if run.isMultiple(of: 2) {
                #expect(await eventually { monitor.shown.contains { $0.body == "run \(run)" } })
            }
            await probe.quit()
            #expect(try await eventually { try await server.displayedCount == 0 })
        }
        for process in load { await process.end() }
        // Each notification that the monitor has seen was closed.
        try await monitor.catchUp()
        let shown = monitor.shown.count { $0.identifier == 0 }
        #expect(shown >= runs / 2)
        #expect(Set(monitor.calls.filter { $0.member == "CloseNotification" }.map(\.identifier)).count == shown)
        #expect(try await server.historyCount == shown)
    }

    @Test(arguments: NotificationWay.allCases)
    func `The notification of a killed app expires; while the app runs, it stays`(way: NotificationWay) async throws {
        // Long enough for an app on a busy machine to renew it in time.
        try await onDesktop("expiry=22", through: way) { server, monitor, probe in
            try await probe.tell("begin", "work") { try await server.displayedCount == 1 }
            // It is renewed twice without any change.
            #expect(await eventually(within: .seconds(180)) { monitor.shown.count >= 3 }, "\(monitor.shown)")
            #expect(try await server.displayedCount == 1)
            #expect(try await server.historyCount == 0)
            for call in monitor.shown {
                #expect(call.timeout == 22_000)
                #expect(call.body == "work")
            }
            await probe.kill()
            #expect(try await eventually { try await server.displayedCount == 0 })
            #expect(try await server.historyCount == 1)
        }
    }
}
#endif
