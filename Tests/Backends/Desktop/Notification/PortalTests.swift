#if DBus
import TestSupport

@testable import DesktopBackends

/// A sandbox, in which notifications are sent to the desktop portal.
@Suite(.needs(.notifications)) struct PortalTests {
    private static let sandbox = ["NOTIFY_FORCE_PORTAL": "1"]

    /// A portal on a bus of its own, and an app there.
    private func sandbox(_ part: String = "", delay: Duration = .zero) async throws -> (PortalService, DesktopProbe) {
        let bus = try await PrivateBus()
        let portal = try PortalService(on: bus, delay: delay)
        let probe = try await DesktopProbe.notifying(part, environment: Self.sandbox, on: bus)
        return (portal, probe)
    }

    @Test("Shown, updated and closed through the portal, with the percentage in the text", arguments: [true, false])
    func shownUpdatedClosed(endsAtOnce: Bool) async throws {
        let (portal, probe) = try await sandbox()
        #expect(await probe.logs("sent to the desktop portal"))
        let start = ContinuousClock.now
        try await probe.tell("begin", "Fetching <b>") { portal.calls.last?.text("body") == "Fetching <b>" }
        try await probe.tell("progress", "0.4") { portal.calls.last?.text("body") == "Fetching <b> 40%" }
        #expect(portal.calls.last?.text("title") == "probe" && portal.calls.last?.text("priority") == "low")
        #expect(portal.shown.count == 1)
        if endsAtOnce {
            await probe.quit()
        } else {
            try await probe.tell("end")
        }
        #expect(await eventually { portal.shown.isEmpty })
        #expect(portal.calls.map(\.member) == ["AddNotification", "AddNotification", "RemoveNotification"])
        #expect(Set(portal.calls.map(\.identifier)).count == 1)
        // xdg-desktop-portal-gtk would lose a removal that arrives sooner.
        try #require(portal.calls.count == 3)
        #expect(portal.calls[1].time.duration(to: portal.calls[2].time) >= .milliseconds(500))
        #expect(start.duration(to: portal.calls[1].time) >= .seconds(2))
    }

    @Test func `A slow portal shows the notification for half a second, too, before it is removed`() async throws {
        let (portal, probe) = try await sandbox(delay: .seconds(1))
        try await probe.tell("begin", "work")
        try await probe.deliver("end")
        #expect(await eventually { portal.calls.count == 2 })
        #expect(portal.shown.isEmpty)
        #expect(portal.calls[0].time.duration(to: portal.calls[1].time) >= .milliseconds(500))
        try await probe.shutdown()
        #expect(portal.calls.count == 2)
    }

    @Test func `The next time, a new notification is shown; shutdown() returns when it is closed`() async throws {
        let (portal, probe) = try await sandbox()
        try await probe.follow("begin first = 1 | end") { "\(portal.shown.count)" }
        try await probe.tell("begin", "second") { portal.calls.last?.text("body") == "second" }
        #expect(portal.shown.count == 1)
        try await probe.shutdown()
        #expect(portal.shown.isEmpty)
    }

    @Test func `A portal that appears later is used`() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe("notification", environment: Self.sandbox, bus: bus)
        #expect(try await probe.backend("desktopNotification", is: "unavailable"))
        try await probe.tell("begin", "late")
        let portal = try PortalService(on: bus)
        #expect(try await probe.backend("desktopNotification", is: "running"))
        #expect(await eventually { portal.shown.count == 1 })
        try await probe.shutdown()
        #expect(portal.shown.isEmpty)
    }

    @Test func `Two processes have notifications of their own`() async throws {
        let bus = try await PrivateBus()
        let portal = try PortalService(on: bus)
        let first = try await DesktopProbe("notification", environment: Self.sandbox, bus: bus)
        let second = try await DesktopProbe("notification", environment: Self.sandbox, bus: bus)
        try await first.tell("begin", "first")
        try await second.tell("begin", "second") { portal.shown.count == 2 }
        try await first.shutdown()
        #expect(portal.shown.count == 1)
        try await second.shutdown()
        #expect(portal.shown.isEmpty)
    }

    @Test func `A bus that denies the lists of names, as Snap's policy does, does not matter`() async throws {
        let bus = try await PrivateBus(
            policy: """
                <deny send_interface="org.freedesktop.DBus" send_member="ListNames"/>
                <deny send_interface="org.freedesktop.DBus" send_member="ListActivatableNames"/>
                """
        )
        let portal = try PortalService(on: bus)
        let probe = try await DesktopProbe("notification", environment: Self.sandbox, bus: bus)
        try await probe.tell("begin", "work") { portal.shown.count == 1 }
    }

    @Test func `An outcome stays when the notification is removed`() async throws {
        let (portal, probe) = try await sandbox("outcomes")
        try await probe.tell("begin", "work") { portal.shown.count == 1 }
        try await probe.tell("end") { portal.calls.contains { $0.member == "RemoveNotification" } }
        #expect(portal.calls.count { $0.member == "AddNotification" } == 2)
        try await probe.shutdown()
        #expect(portal.shown.count == 1)
    }

    @Test("With 'through: dbus', or without a portal, the server is used over D-Bus", arguments: [true, false])
    func server(hasPortal: Bool) async throws {
        let bus = try await PrivateBus()
        let portal = hasPortal ? try PortalService(on: bus) : nil
        let server = try await NotificationServer(on: bus)
        let probe = try await DesktopProbe(
            "notification",
            through: hasPortal ? .dbus : .auto,
            environment: Self.sandbox,
            bus: bus
        )
        try await probe.follow("begin work = 1 | shutdown = 0") { "\(try await server.displayedCount)" }
        #expect(portal?.calls.isEmpty ?? true)
    }
}
#endif
