#if DBus
import TestSupport

@testable import DesktopBackends

/// Notification servers that are missing, appear, are replaced, or hang.
@Suite(.needs(.notifications)) struct DesktopNotificationRecoveryTests {
    @Test(arguments: NotificationWay.allCases)
    func `A server that appears later is used immediately; the backend starts none`(way: NotificationWay) async throws {
        let (missing, name) = ("no service owns org.freedesktop.Notifications on this bus", "org.freedesktop.DBus")
        let bus = try await PrivateBus()
        let activated = bus.folder.appending("activated")
        try bus.folder.write(
            "[D-BUS Service]\nName=org.freedesktop.Notifications\nExec=/usr/bin/touch \(activated)\n",
            to: "services/server.service"
        )
        _ = try await bus.busctl("call", name, "/", name, "ReloadConfig")
        let activatable = try await bus.busctl("call", name, "/", name, "ListActivatableNames")
        #expect(activatable.output.contains("org.freedesktop.Notifications"))
        let server = { bus in try await NotificationServer(on: bus, isRunning: false) }
        try await onDesktop(through: way, status: missing, on: bus, server: server) { desk in
            try await desk.follow(
                "? install or start one, e.g. dunst | begin work | server start | label first = first"
            )
            // Nor when a server ends while it shows the notification.
            try await desk.follow("server kill ? no service owns | server start | label second = second")
            #expect(!FileManager.default.fileExists(atPath: activated))
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `When the name passes on, other apps' notifications there stay`(way: NotificationWay) async throws {
        try await onDesktop(through: way, server: { try ScriptedServer(on: $0) }) { desk in
            // It waits in the queue for the name.
            let second = try ScriptedServer(on: desk.bus, .busy)
            try await desk.follow("begin work = work")
            #expect(desk.server.shown == [1])
            desk.server.stop()
            #expect(await eventually { second.shown == [1, 100] })
            try await desk.probe.tell("end") { second.shown == [1] }
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `A server that ends before its answer is missing, and has refused nothing`(way: NotificationWay) async throws {
        try await onDesktop(through: way) { desk in
            try await desk.follow("begin work = work | server pause | label hanging ~ +work, hanging")
            // The end of the server and the error of the call arrive together.
            kill(desk.probe.processID, SIGSTOP)
            await desk.server.kill()
            #expect(try await eventually { try await !desk.bus.hasOwner(NotificationSession.interface) })
            kill(desk.probe.processID, SIGCONT)
            try await desk.follow("? no service owns")
            #expect(!desk.probe.log.contains("did not show"), "\(desk.probe.log)")
        }
    }

    @Test func `A server that hangs from the beginning, and is started again, is used at once`() async throws {
        let server = { (bus: PrivateBus) in try ScriptedServer(on: bus, .hanging) }
        try await onDesktop(status: "unavailable: the notification server does not answer", server: server) { desk in
            desk.server.stop()
            let next = try ScriptedServer(on: desk.bus)
            try await desk.follow("? running")
            withExtendedLifetime(next) {}
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
        #expect(try await eventually { try await probe.tell("available").hasPrefix("dunst ") })
        server.pause()
        #expect(try await probe.tell("available").hasPrefix("the notification server does not answer"))
        server.resume()
        #expect(try await eventually { try await probe.tell("available").hasPrefix("dunst ") })
        #expect(try await server.displayedCount == 0)
    }

    @Test(arguments: NotificationWay.allCases)
    func `Processes that end after shutdown() on a busy machine leave none`(way: NotificationWay) async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let load = try (0..<2).map { _ in try Daemon("/bin/sh", ["-c", "while :; do :; done"]) }
        let (rounds, count) = Tier.nightly.isRequired ? (20, 10) : (2, 2)
        for round in 0..<rounds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    group.addTask {
                        let probe = try await DesktopProbe("notification", through: way, bus: bus)
                        try await probe.tell("begin", "\(round) \(number)")
                        // The others end while the notification is being sent.
                        if number.isMultiple(of: 2) {
                            #expect(await eventually { monitor.output.contains("\"\(round) \(number)\"") })
                        }
                        if number.isMultiple(of: 3) { try await probe.tell("end") }
                        await probe.quit()
                    }
                }
                try await group.waitForAll()
            }
            // One whose answer came too late expires, in less than a minute.
            try await expectEventually(within: .seconds(180)) { try await server.displayedCount == 0 }
        }
        for process in load { await process.end() }
        // Each notification that the monitor has seen was closed, by its app unless the server has answered that too
        // late (see the article): of 200 apps at night, one was.
        try await monitor.catchUp()
        let shown = monitor.shown.count { $0.identifier == 0 }
        #expect(shown >= rounds * count / 2)
        let closed = Set(monitor.calls.filter { $0.member == "CloseNotification" }.map(\.identifier)).count
        #expect(closed <= shown && closed >= shown - max(1, shown / 50))
        #expect(try await server.historyCount == shown)
    }

    @Test(arguments: NotificationWay.allCases)
    func `The notification of a killed app expires; while the app runs, it stays`(way: NotificationWay) async throws {
        // Long enough for an app on a busy machine to renew it in time.
        try await onDesktop("expiry=22", through: way) { desk in
            try await desk.follow("begin work = work")
            // It is renewed twice without any change.
            #expect(await eventually(within: .seconds(180)) { desk.shown.count >= 3 }, "\(desk.shown)")
            #expect(try await desk.server.displayedCount == 1)
            #expect(try await desk.server.historyCount == 0)
            #expect(desk.shown.allSatisfy { $0.timeout == 22_000 && $0.body == "work" })
            await desk.probe.kill()
            #expect(try await eventually { try await desk.server.displayedCount == 0 })
            #expect(try await desk.server.historyCount == 1)
        }
    }
}
#endif
