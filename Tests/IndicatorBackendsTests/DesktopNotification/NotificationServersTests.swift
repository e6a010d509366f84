#if DesktopNotification
import TestSupport
import Testing

/// Servers that differ from dunst, each the real program.
@Suite struct NotificationServersTests {
    @Test(
        "A server that shows no bar beside the text gets the percentage in the text",
        arguments: [
            NotificationServer.Program.xfce, .mate, .lxqt, .notifyOSD,
        ],
        NotificationWay.both
    )
    func percentage(program: NotificationServer.Program, way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        // Before the server: some end when nothing is shown for a while.
        let monitor = try await NotifyMonitor(bus)
        let server = try await NotificationServer(on: bus, program)
        let closed = try await SignalMonitor(bus, name: "org.freedesktop.Notifications")
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        #expect(try await probe.backend("desktopNotification", is: "running"))
        try await probe.tell("begin", "Fetching")
        #expect(await eventually { monitor.shown.last?.body == "Fetching" })
        try await probe.tell("progress", "0.4")
        #expect(await eventually { monitor.shown.last?.body == "Fetching 40%" })
        #expect(monitor.shown.allSatisfy { $0.hints["value"] == nil })
        // Updated in place, and always with an expiry.
        let identifiers = monitor.shown.map(\.identifier)
        #expect(identifiers.count == 2 && identifiers[0] == 0 && identifiers[1] != 0)
        #expect(monitor.shown.allSatisfy { $0.timeout > 0 && $0.timeout <= 60_000 })
        try await probe.tell("end")
        #expect(await eventually { monitor.calls.last?.member == "CloseNotification" })
        #expect(monitor.calls.last?.identifier == identifiers[1])
        // notify-osd does not report it.
        if program != .notifyOSD { #expect(await closed.shows("NotificationClosed (uint32 \(identifiers[1]), ")) }
        #expect(try await probe.status(of: "desktopNotification") == "running")
        try await probe.shutdown()
        withExtendedLifetime(server) {}
    }

    @Test("dunst gets both the bar and the text", arguments: NotificationWay.both)
    func bar(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let monitor = try await NotifyMonitor(bus)
        let probe = try await DesktopProbe("notification", through: way, bus: bus)
        try await probe.tell("begin", "Fetching")
        try await probe.tell("progress", "0.4")
        #expect(await eventually { monitor.shown.last?.hints["value"] == "i 40" })
        #expect(monitor.shown.last?.body == "Fetching 40%")
        withExtendedLifetime(server) {}
    }
}
#endif
