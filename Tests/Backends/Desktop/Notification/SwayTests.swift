#if DBus
import TestSupport

/// The notification servers of sway, each the real program, in a sway without a screen.
@Suite(.needs(.bus)) struct SwayTests {
    /// A server, and how the test observes it.
    enum Server: String, CaseIterable {
        case mako = "/usr/bin/mako"
        case swaync = "/usr/bin/swaync"

        /// Closes what it shows, as the user does: the object and interface, and the call.
        var dismissal: [String] {
            switch self {
            case .mako: ["/fr/emersion/Mako", "fr.emersion.Mako", "DismissAllNotifications"]
            case .swaync:
                ["/org/erikreider/swaync/cc", "org.erikreider.swaync.cc", "HideLatestNotifications", "b", "true"]
            }
        }

        /// How many notifications it shows; SwayNotificationCenter counts no transient ones.
        func isShowing(_ count: Int, on bus: PrivateBus) async throws -> Bool {
            guard self == .mako else { return true }
            let reply = try await SwayTests.busctl(
                bus,
                ["--json=short", "call", SwayTests.name] + dismissal.prefix(2) + ["ListNotifications"]
            )
            let object = try? JSONSerialization.jsonObject(with: Data(reply.utf8)) as? [String: Any]
            return ((object?["data"] as? [Any])?.first as? [Any])?.count == count
        }
    }

    private static let name = "org.freedesktop.Notifications"
    private static let servers: Needs = [
        Server.mako.rawValue: "mako-notifier", Server.swaync.rawValue: "sway-notification-center",
    ]

    private static func busctl(_ bus: PrivateBus, _ arguments: [String]) async throws -> String {
        try await Command.run("busctl", ["--address=\(bus.address)"] + arguments, package: "systemd").output
    }

    /// Starts a notification server; returns when it owns its name.
    private func start(_ server: [String], in sway: Sway, on bus: PrivateBus) async throws -> Daemon {
        let server = try sway.start(
            server[0],
            Array(server.dropFirst()),
            environment: [
                "DBUS_SESSION_BUS_ADDRESS": bus.address, "GDK_BACKEND": "wayland", "GSETTINGS_BACKEND": "memory",
                "NO_AT_BRIDGE": "1",
            ]
        )
        try await expectEventually("\(server.errors)") { try await bus.hasOwner(Self.name) }
        return server
    }

    @Test(
        "Shown once, updated in place, not again after the user has closed it, and removed at the end",
        .needs(.root),
        .needs(.sway, .nightly),
        .needs(servers, .nightly),
        arguments: Server.allCases,
        NotificationWay.allCases
    )
    func shown(server: Server, way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        let monitor = try await NotifyMonitor(bus)
        let sway = try await Sway()
        let daemon = try await start([server.rawValue], in: sway, on: bus)
        let probe = try await DesktopProbe.notifying(through: way, on: bus)
        try await probe.tell("begin", "work")
        #expect(try await eventually { try await server.isShowing(1, on: bus) }, "\(daemon.errors)")
        try await probe.tell("progress", "0.4")
        #expect(await eventually { monitor.shown.last?.hints["value"] == "i 40" }, "\(monitor.shown)")
        #expect(Set(monitor.shown.map(\.identifier)) == [0, 1])
        #expect(monitor.shown.count { $0.identifier == 0 } == 1)
        #expect(try await server.isShowing(1, on: bus))

        _ = try await Self.busctl(bus, ["call", Self.name] + server.dismissal)
        #expect(await eventually { monitor.closingReasons == [2] })
        try await probe.follow("label more | end")
        try await probe.tell("begin", "again") { monitor.shown.last?.body.hasPrefix("again") == true }
        #expect(!monitor.shown.contains { $0.body.hasPrefix("more") })
        #expect(try await eventually { try await server.isShowing(1, on: bus) })
        try await probe.shutdown()
        try await monitor.catchUp()
        #expect(monitor.calls.last?.member == "CloseNotification")
        #expect(try await eventually { try await server.isShowing(0, on: bus) })
    }

    @Test(.needs(.root), .needs(.sway, .nightly), .needs(servers, .nightly), arguments: NotificationWay.allCases)
    func `One that mako closes after its own time is shown again`(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        let monitor = try await NotifyMonitor(bus)
        let sway = try await Sway()
        let mako = ["/usr/bin/mako", "--ignore-timeout=1", "--default-timeout=500"]
        let daemon = try await start(mako, in: sway, on: bus)
        let probe = try await DesktopProbe.notifying(through: way, on: bus)
        try await probe.tell("begin", "work")
        #expect(await eventually { monitor.closingReasons == [1] }, "\(daemon.errors)")
        try await probe.tell("label", "more") { monitor.shown.last?.body == "more" }
        #expect(monitor.shown.map(\.identifier) == [0, 0])
    }
}
#endif
