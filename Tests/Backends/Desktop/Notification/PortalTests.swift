#if DBus
import TestSupport

@testable import DesktopBackends

/// A sandbox, in which notifications are sent to the desktop portal.
@Suite(.needs(.notifications)) struct PortalTests {
    private static let sandbox = ["NOTIFY_FORCE_PORTAL": "1"]

    /// Runs a test with a portal on a bus of its own, and an app there.
    private func onPortal(
        _ parts: String = "",
        delay: Duration = .zero,
        leaving count: Int = 0,
        on bus: PrivateBus? = nil,
        at location: SourceLocation = #_sourceLocation,
        _ body: (Desk<PortalService>) async throws -> Void
    ) async throws {
        let server = { (bus: PrivateBus) in try PortalService(on: bus, delay: delay) }
        let sandbox = Self.sandbox
        try await onDesktop(parts, environment: sandbox, leaving: count, on: bus, server: server, at: location, body)
    }

    @Test("Shown, updated and closed through the portal, with the percentage in the text", arguments: [true, false])
    func shownUpdatedClosed(endsAtOnce: Bool) async throws {
        try await onPortal { desk in
            let start = ContinuousClock.now
            try await desk.follow("begin <b> = <b> | progress 0.4 = <b> 40% | & sent to the desktop portal")
            #expect(desk.server.shown.map(\.texts) == [["title": "probe", "body": "<b> 40%", "priority": "low"]])
            if endsAtOnce { await desk.probe.quit() } else { try await desk.probe.tell("end") }
            #expect(await eventually { desk.server.shown.isEmpty })
            let calls = desk.server.calls
            #expect(calls.map(\.member) == ["AddNotification", "AddNotification", "RemoveNotification"])
            // xdg-desktop-portal-gtk would lose a removal that arrives sooner.
            try #require(calls.count == 3)
            #expect(calls[1].time.duration(to: calls[2].time) >= .milliseconds(500))
            #expect(start.duration(to: calls[1].time) >= .seconds(2))
        }
    }

    @Test func `A slow portal shows the notification for half a second, too, before it is removed`() async throws {
        try await onPortal(delay: .seconds(1)) { desk in
            try await desk.follow("begin work | deliver end")
            #expect(await eventually { desk.server.calls.count == 2 })
            let calls = desk.server.calls
            #expect(calls[0].time.duration(to: calls[1].time) >= .milliseconds(500))
            try await desk.follow("shutdown = nothing")
            #expect(desk.server.calls.count == 2)
        }
    }

    @Test func `The next time, a new notification is shown; shutdown() returns when it is closed`() async throws {
        try await onPortal { desk in
            try await desk.follow("begin first = first | end | begin second = second | shutdown")
            #expect(await eventually { desk.server.shown.isEmpty })
        }
    }

    @Test func `A portal that appears later is used`() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe("notification", environment: Self.sandbox, bus: bus)
        #expect(try await probe.backend("desktopNotification", is: "unavailable"))
        try await probe.tell("begin", "late")
        let portal = try PortalService(on: bus)
        #expect(await eventually { portal.texts == ["late"] })
        #expect(try await probe.backend("desktopNotification", is: "running"))
        try await probe.shutdown()
        #expect(await eventually { portal.shown.isEmpty })
    }

    @Test func `Two processes have notifications of their own`() async throws {
        try await onPortal { desk in
            let second = try await DesktopProbe.notifying(environment: Self.sandbox, on: desk.bus)
            try await desk.follow("begin first = first")
            try await second.tell("begin", "second")
            try await desk.follow("= first, second | shutdown = second")
            try await second.shutdown()
        }
    }

    @Test func `A bus that denies the lists of names, as Snap's policy does, does not matter`() async throws {
        let policy = ["ListNames", "ListActivatableNames"]
            .map { "<deny send_interface=\"org.freedesktop.DBus\" send_member=\"\($0)\"/>" }.joined()
        try await onPortal(on: PrivateBus(policy: policy)) { try await $0.follow("begin work = work") }
    }

    @Test func `An outcome stays when the notification is removed`() async throws {
        try await onPortal("outcomes", leaving: 1) { desk in
            try await desk.follow("begin work = work | end")
            #expect(await eventually { desk.server.calls.contains { $0.member == "RemoveNotification" } })
            #expect(desk.server.calls.count { $0.member == "AddNotification" } == 2)
        }
    }

    @Test("With 'through: dbus', or without a portal, the server is used over D-Bus", arguments: [true, false])
    func server(hasPortal: Bool) async throws {
        let bus = try await PrivateBus()
        let portal = hasPortal ? try PortalService(on: bus) : nil
        let way = hasPortal ? NotificationWay.dbus : .auto
        try await onDesktop(through: way, environment: Self.sandbox, on: bus) { desk in
            try await desk.follow("begin work = work | shutdown = nothing")
            #expect(portal?.calls.isEmpty ?? true)
        }
    }
}
#endif
