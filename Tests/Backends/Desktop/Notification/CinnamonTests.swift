#if DBus
import TestSupport

/// The real Cinnamon, under an X server without a screen.
@Suite(.needs(.screen), .needs(.bus)) struct CinnamonTests {
    private static let program = "/usr/bin/cinnamon"

    final class Cinnamon: NotificationScreen {
        let screen: Screen
        private let bus: PrivateBus
        private let system: PrivateBus
        private let folder: TemporaryDirectory
        private let daemon: Daemon

        init(on bus: PrivateBus) async throws {
            self.bus = bus
            system = try await PrivateBus()
            screen = try await Screen()
            folder = try TemporaryDirectory("indicator-cinnamon")
            // The applet decides what becomes of a notification after its time. Others take a minute to start.
            try folder.write(
                """
                [org/cinnamon]
                enabled-applets=['panel1:right:0:notifications@cinnamon.org:0']
                startup-animation=false

                """,
                to: "config/glib-2.0/settings/keyfile"
            )
            let variables = [
                "GSETTINGS_BACKEND": "keyfile", "DISPLAY": screen.display, "XDG_CURRENT_DESKTOP": "X-Cinnamon",
                "XDG_SESSION_TYPE": "x11",
            ]
            let environment = folder.desktop(on: bus, system: system).merging(variables) { $1 }
            let daemon = try Daemon(program, environment: environment)
            self.daemon = daemon
            let state = "[Main.runState, AppletManager.get_role_provider_exists(AppletManager.Roles.NOTIFICATIONS)]"
            try await expectEventually("\(daemon.errors)") { try await evaluate(state) == "[2,true]" }
        }

        func evaluate(_ script: String) async throws -> String? { try await bus.evaluate(script, in: "org.Cinnamon") }

        /// Sets how many seconds it shows a notification.
        func show(for seconds: Int) async throws {
            let script = "Main.messageTray.settings.set_int('notification-duration', \(seconds))"
            #expect(try await evaluate(script) != nil)
        }

        var displayedCount: Int { get async throws { try await shown().count } }
        var texts: [String]? { get async throws { try await shown() } }

        /// The texts of the notifications that it has, of those that fulfil a condition.
        func shown(_ condition: String = "true") async throws -> [String] {
            let all = "Object.values(Main.notificationDaemon._notifications)"
            let text = try #require(await evaluate("\(all).filter(one => \(condition)).map(one => one.body)"))
            return try JSONDecoder().decode([String].self, from: Data(text.utf8))
        }

        /// Clicks on the button that closes the notification on the screen, if there is one.
        func pressButton() async throws {
            let script = """
                Main.messageTray._notification?._table.get_children()
                    .filter(one => one.child?.icon_name == "window-close")
                    .map(one => one.get_transformed_position().map((start, axis) => start + one.get_size()[axis] / 2))
                """
            let text = try await evaluate(script) ?? ""
            guard let place = try? JSONDecoder().decode([[Double]].self, from: Data(text.utf8)).first else { return }
            try await screen.click(x: Int(place[0]), y: Int(place[1]))
        }
    }

    @Test(
        "Shown again after Cinnamon has closed it, not after the user has; never empty; none remains",
        .needs(program, package: "cinnamon", tier: .nightly),
        arguments: NotificationWay.allCases
    )
    func closed(way: NotificationWay) async throws {
        let server = { bus in try await Cinnamon(on: bus) }
        try await onDesktop("expiry=3600", through: way, leaving: 1, server: server) { desk in
            let (cinnamon, monitor) = (desk.server, desk.monitor)
            #expect(await desk.probe.logs("sent to cinnamon "))
            // Cinnamon reports its own close, after 4 s, as the user's.
            try await desk.probe.tell("begin", "first") { monitor.closingReasons == [2] }
            #expect(desk.shown.map(\.body) == ["first"])
            #expect(try await cinnamon.shown() == [])
            try await cinnamon.show(for: 3600)
            try await desk.follow("label second = second")
            try await expectEventually {
                try await cinnamon.pressButton()
                return try await cinnamon.shown() == []
            }
            #expect(await eventually { monitor.closingReasons.prefix(2) == [2, 0] })
            // Cinnamon keeps one that is under the pointer.
            _ = try await cinnamon.screen.run("xdotool", ["mousemove", "320", "400"], package: "xdotool")
            try await isKeptAway(desk.probe, desk)
            #expect(desk.shown.map(\.body) == ["first", "second", "again"])

            // One that is not transient is in a list after its time, from which the user removes it.
            try await cinnamon.show(for: 4)
            let lasting = try await DesktopProbe.notifying("lasting expiry=3600", through: way, on: desk.bus)
            try await lasting.tell("begin", "third") {
                try await cinnamon.shown("one.notification?._inNotificationBin") == ["third"]
            }
            let removal = "Object.values(Main.notificationDaemon._notifications)[0].notification.destroy()"
            #expect(try await cinnamon.evaluate(removal) != nil)
            #expect(await eventually { monitor.closingReasons.last == 2 })
            try await isKeptAway(lasting, desk)
            #expect(desk.shown.map(\.body) == ["first", "second", "again", "third", "again"])

            // With a completion delay, in which there is time for an update, and then an ordinary notification reports
            // the outcome.
            try await cinnamon.show(for: 3600)
            let parts = "expiry=3600 completion=2 outcomes"
            let other = try await DesktopProbe.notifying(parts, through: way, on: desk.bus)
            try await other.tell("begin", "work") { try await cinnamon.shown() == ["work"] }
            try await other.tell("end") { try await cinnamon.shown().first?.hasPrefix("work") == false }
            try await other.shutdown()
            try await monitor.catchUp()
            #expect(desk.shown.dropFirst(5).map(\.body).first == "work")
            #expect(desk.shown.count == 7 && !desk.shown.contains { $0.body.isEmpty }, "\(desk.shown)")
        }
    }

    /// What the user has closed is shown when the indicator is shown again, not earlier. Then the app ends.
    private func isKeptAway(_ probe: DesktopProbe, _ desk: Desk<Cinnamon>) async throws {
        try await probe.deliver("label", "kept away")
        try await probe.tell("end")
        try await probe.tell("begin", "again") { try await desk.server.shown() == ["again"] }
        try await probe.shutdown { try await desk.server.shown() == [] }
        try await desk.monitor.catchUp()
    }
}
#endif
