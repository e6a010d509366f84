#if DBus
import TestSupport

/// The notification servers of sway, each the real program, in a sway without a screen.
@Suite(.needs(.bus)) struct SwayTests {
    /// A server in a sway of its own.
    final class Server: NotificationScreen {
        enum Program: String, CaseIterable {
            case mako = "/usr/bin/mako"
            case swaync = "/usr/bin/swaync"
        }

        private static let name = "org.freedesktop.Notifications"
        private let program: Program
        private let bus: PrivateBus
        private let sway: Sway
        private let daemon: Daemon

        init(_ program: Program, on bus: PrivateBus) async throws {
            (self.program, self.bus) = (program, bus)
            sway = try await Sway()
            let environment = [
                "DBUS_SESSION_BUS_ADDRESS": bus.address, "GDK_BACKEND": "wayland", "GSETTINGS_BACKEND": "memory",
                "NO_AT_BRIDGE": "1",
            ]
            let daemon = try sway.start(program.rawValue, [], environment: environment)
            self.daemon = daemon
            try await expectEventually("\(daemon.errors)") { try await bus.hasOwner(Self.name) }
        }

        /// SwayNotificationCenter counts no transient ones.
        var displayedCount: Int {
            get async throws {
                if program == .swaync { return 0 }
                let reply = try await call("/fr/emersion/Mako fr.emersion.Mako ListNotifications")
                let object = try? JSONSerialization.jsonObject(with: Data(reply.utf8)) as? [String: Any]
                return ((object?["data"] as? [Any])?.first as? [Any])?.count ?? -1
            }
        }

        /// Whether it shows one; of swaync, that is not known.
        var showsOne: Bool { get async throws { program == .mako ? try await displayedCount == 1 : true } }

        /// Closes what it shows, as the user does.
        func dismiss() async throws {
            let mako = "/fr/emersion/Mako fr.emersion.Mako DismissAllNotifications"
            let swaync = "/org/erikreider/swaync/cc org.erikreider.swaync.cc HideLatestNotifications b true"
            _ = try await call(program == .mako ? mako : swaync)
        }

        private func call(_ words: String) async throws -> String {
            let options = ["--address=\(bus.address)", "--json=short", "call", Self.name]
            let words = options + words.split(separator: " ").map(String.init)
            return try await Command.run("busctl", words, package: "systemd").output
        }
    }

    private static let servers: Needs = [
        "/usr/bin/mako": "mako-notifier", "/usr/bin/swaync": "sway-notification-center",
    ]

    @Test(
        "Shown once, updated in place, not again after the user has closed it, and removed at the end",
        .needs(.root),
        .needs(.sway + servers, .nightly),
        arguments: Server.Program.allCases,
        NotificationWay.allCases
    )
    func shown(program: Server.Program, way: NotificationWay) async throws {
        try await onDesktop(through: way, server: { try await Server(program, on: $0) }) { desk in
            try await desk.probe.tell("begin", "work") { try await desk.server.showsOne && desk.shown.count == 1 }
            try await desk.probe.tell("progress", "0.4") { desk.shown.last?.hints["value"] == "i 40" }
            #expect(Set(desk.shown.map(\.identifier)) == [0, 1])
            #expect(desk.shown.count { $0.identifier == 0 } == 1)
            #expect(try await desk.server.showsOne)

            try await expectEventually("\(desk.monitor.closingReasons)") {
                if desk.monitor.closingReasons.isEmpty { try await desk.server.dismiss() }
                return desk.monitor.closingReasons == [2]
            }
            try await desk.probe.follow("label more | end")
            try await desk.probe.tell("begin", "again") { desk.shown.last?.body.hasPrefix("again") == true }
            #expect(!desk.shown.contains { $0.body.hasPrefix("more") })
            #expect(try await eventually { try await desk.server.showsOne })
            try await desk.shutdown()
            #expect(desk.monitor.calls.last?.member == "CloseNotification")
        }
    }
}
#endif
