#if DBus
import Foundation
import IndicatorCore
import IndicatorThreads
import Logging
import TestSupport
import Testing

@testable import DesktopBackends

/// Notification servers that are missing, appear, are replaced, or hang.
@Suite(.needs(.notifications)) struct DesktopNotificationRecoveryTests {
    private static let name = "desktopNotification"

    @Test func `Without a session bus the status reports it, and the backend is stopped by a shutdown`() async throws {
        let probe = try await DesktopProbe("notification", bus: nil)
        #expect(try await probe.backend(Self.name, is: "unavailable: there is no session bus"))
        try await probe.tell("begin", "work")
        try await probe.shutdown()
        #expect(try await probe.status(of: Self.name) == "stopped")
    }

    @Test(arguments: NotificationWay.allCases)
    func `A server that appears later is used immediately; the backend starts none`(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        let services = bus.folder.appending("services")
        try FileManager.default.createDirectory(atPath: services, withIntermediateDirectories: true)
        try bus.folder.write(
            "[D-BUS Service]\nName=org.freedesktop.Notifications\nExec=/usr/bin/touch \(bus.folder.path)/activated\n",
            to: "services/server.service"
        )
        _ = try await bus.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "ReloadConfig")
        let activatable = try await bus.busctl(
            "call",
            "org.freedesktop.DBus",
            "/",
            "org.freedesktop.DBus",
            "ListActivatableNames"
        )
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
        try await probe.shutdown()
        #expect(try await eventually { try await second.displayedCount == 0 })
    }

    @Test(arguments: NotificationWay.allCases)
    func `When the server is replaced while the notification is shown, the new one shows it`(way: NotificationWay)
        async throws
    {
        let bus = try await PrivateBus()
        let first = try await NotificationServer(on: bus)
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        try await probe.tell("begin", "work")
        #expect(try await eventually { try await first.displayedCount == 1 })
        await first.kill()
        #expect(try await probe.backend(Self.name, is: "no service owns"))
        let second = try await NotificationServer(on: bus)
        #expect(try await eventually { try await second.displayedCount == 1 })
        #expect(try await probe.backend(Self.name, is: "running"))
        try await probe.tell("label", "changed")
        try await probe.tell("end")
        #expect(try await eventually { try await second.displayedCount == 0 })
        #expect(try await second.historyCount == 1)
        try await probe.shutdown()
    }

    @Test(arguments: NotificationWay.allCases)
    func `When the name passes to another server, the other apps' notifications there stay`(way: NotificationWay)
        async throws
    {
        let bus = try await PrivateBus()
        var first: ScriptedServer? = try ScriptedServer(address: bus.address)
        // It waits in the queue for the name.
        let second = try ScriptedServer(address: bus.address, identifier: 100, others: [1])
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        try await probe.tell("begin", "work")
        #expect(await eventually { first?.shown == [1] })
        first = nil
        #expect(await eventually { second.shown.contains(100) })
        #expect(second.shown == [1, 100])
        try await probe.tell("end")
        #expect(await eventually { second.shown == [1] })
        try await probe.shutdown()
    }

    @Test(
        "A server that hangs delays nothing, the status reports it, and it is used again when it resumes",
        arguments: NotificationWay.allCases
    )
    func serverHangs(way: NotificationWay) async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        try await probe.tell("begin", "before")
        #expect(try await eventually { try await server.displayedCount == 1 })
        server.pause()
        try await probe.tell("label", "hanging")
        #expect(try await probe.backend(Self.name, is: "unavailable: the notification server does not answer"))
        // The app and the other backends continue.
        for round in 1...20 {
            let delivered = try await probe.tell("delivered")
            try await probe.tell("label", "round \(round)")
            #expect(try await eventually { try await probe.tell("delivered") != delivered })
        }
        #expect(try await probe.status(of: Self.name).hasPrefix("unavailable"))
        let delivered = try await probe.tell("delivered")
        try await probe.tell("label", "the others go on")
        #expect(try await eventually { try await probe.tell("delivered") != delivered })
        server.resume()
        #expect(try await probe.backend(Self.name, is: "running"))
        #expect(await eventually { monitor.shown.last?.body == "the others go on" })
        // The earlier notification was closed.
        #expect(try await eventually { try await server.displayedCount == 1 })
        try await probe.tell("end")
        #expect(try await eventually { try await server.displayedCount == 0 })
        #expect(try await server.history.first?.body == "the others go on")
        try await probe.shutdown()
    }

    @Test(
        "A server that ends before it has answered is missing; it is not reported that it has refused",
        arguments: NotificationWay.allCases
    )
    func serverEndsBeforeTheAnswer(way: NotificationWay) async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        try await probe.tell("begin", "work")
        #expect(try await eventually { try await server.displayedCount == 1 })
        server.pause()
        try await probe.tell("label", "hanging")
        #expect(await eventually { monitor.shown.last?.body == "hanging" })
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
        var hanging: BusPeer? = try BusPeer(
            name: NotificationSession.interface,
            path: NotificationSession.path,
            address: bus.address,
            answer: { _ in [] }
        )
        let backend = BusBackend(name: "probe", on: .address(bus.address)) {
            NotificationSession(
                applicationName: "probe",
                settings: DesktopNotificationSettings(through: .dbus),
                logger: Logger(label: "tests"),
                context: $0
            )
        }
        let indicator = IndicatorManager(backends: [backend])
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
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        #expect(try await probe.backend(Self.name, is: "running"))
        server.pause()
        try await probe.tell("begin", "late")
        #expect(try await probe.backend(Self.name, is: "unavailable: the notification server does not answer"))
        server.resume()
        #expect(await eventually { monitor.shown.count { $0.identifier == 0 } == 2 })
        #expect(try await eventually { try await server.historyCount == 1 })
        #expect(try await server.displayedCount == 1)
        try await probe.tell("end")
        #expect(try await eventually { try await server.displayedCount == 0 })
        try await probe.shutdown()
    }

    @Test(
        "Shutdown returns within its limit while the server hangs; the notification is closed when the server resumes",
        arguments: NotificationWay.allCases
    )
    func shutdownWhileServerHangs(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        try await probe.tell("begin", "before")
        #expect(try await eventually { try await server.displayedCount == 1 })
        server.pause()
        try await probe.shutdown()
        server.resume()
        #expect(try await eventually { try await server.displayedCount == 0 })

        let second = try await DesktopProbe("notification", through: way, bus: bus)
        try await second.tell("begin", "before")
        #expect(try await eventually { try await server.displayedCount == 1 })
        server.pause()
        // An update is under way when the shutdown begins.
        try await second.tell("label", "hanging")
        try await second.shutdown()
        server.resume()
        #expect(try await eventually { try await server.displayedCount == 0 })
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
}
#endif
