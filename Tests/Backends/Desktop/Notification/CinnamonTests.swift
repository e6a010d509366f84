#if DBus
import TestSupport

/// The real Cinnamon, under an X server without a screen.
@Suite(.needs(.screen), .needs(.bus)) struct CinnamonTests {
    private static let program = "/usr/bin/cinnamon"
    private static let name = "org.Cinnamon"

    @Test(
        "Shown again after Cinnamon has closed it, not after the user has; never empty; none remains",
        .needs(program, package: "cinnamon", tier: .nightly),
        arguments: NotificationWay.allCases
    )
    func closed(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        let system = try await PrivateBus()
        let screen = try await Screen()
        let folder = try TemporaryDirectory("indicator-cinnamon")
        let cinnamon = try await cinnamon(on: bus, system: system, screen, in: folder)
        let monitor = try await NotifyMonitor(bus)

        let probe = try await DesktopProbe.notifying("expiry=3600", through: way, on: bus)
        #expect(await probe.logs("sent to cinnamon "))
        try await probe.tell("begin", "first")
        // Cinnamon reports its own close, after 4 s, as the user's.
        #expect(await eventually { monitor.closingReasons == [2] }, "\(cinnamon.errors)")
        #expect(monitor.shown.map(\.body) == ["first"])
        #expect(try await shown(on: bus) == [])
        try await show(for: 3600, on: bus)
        try await probe.tell("label", "second") { try await shown(on: bus) == ["second"] }
        try await expectEventually {
            try await pressButton(on: bus, screen)
            return try await shown(on: bus) == []
        }
        #expect(await eventually { monitor.closingReasons == [2, 0] })
        // Cinnamon keeps one that is under the pointer.
        _ = try await screen.run("xdotool", ["mousemove", "320", "400"], package: "xdotool")
        try await isKeptAway(probe, on: bus, monitor)
        #expect(monitor.shown.map(\.body) == ["first", "second", "again"])

        // One that is not transient is in a list after its time, from which the user removes it.
        try await show(for: 4, on: bus)
        let lasting = try await DesktopProbe("notification", "lasting", "expiry=3600", through: way, bus: bus)
        #expect(try await lasting.backend("desktopNotification", is: "running"))
        try await lasting.tell("begin", "third")
        #expect(try await eventually { try await shown(on: bus, "one.notification?._inNotificationBin") == ["third"] })
        let removal = "Object.values(Main.notificationDaemon._notifications)[0].notification.destroy()"
        #expect(try await bus.evaluate(removal, in: Self.name) != nil)
        #expect(await eventually { monitor.closingReasons.last == 2 })
        try await isKeptAway(lasting, on: bus, monitor)
        #expect(monitor.shown.map(\.body) == ["first", "second", "again", "third", "again"])

        // With a completion delay, in which there is time for an update, and then an ordinary notification reports the
        // outcome.
        try await show(for: 3600, on: bus)
        let other = try await DesktopProbe(
            "notification",
            "expiry=3600",
            "completion=2",
            "outcomes",
            through: way,
            bus: bus
        )
        try await other.tell("begin", "work") { try await shown(on: bus) == ["work"] }
        try await other.tell("end") { try await shown(on: bus).first?.hasPrefix("work") == false }
        try await other.shutdown()
        try await monitor.catchUp()
        #expect(monitor.shown.dropFirst(5).map(\.body).first == "work")
        #expect(monitor.shown.count == 7 && !monitor.shown.contains { $0.body.isEmpty }, "\(monitor.shown)")
        #expect(try await shown(on: bus).count == 1)
        await cinnamon.end()
    }

    private func cinnamon(
        on bus: PrivateBus,
        system: PrivateBus,
        _ screen: Screen,
        in folder: TemporaryDirectory
    ) async throws -> Daemon {
        // The applet decides what becomes of a notification after its time. Others take a minute to start.
        try folder.write(
            """
            [org/cinnamon]
            enabled-applets=['panel1:right:0:notifications@cinnamon.org:0']
            startup-animation=false

            """,
            to: "config/glib-2.0/settings/keyfile"
        )
        let cinnamon = try Daemon(
            Self.program,
            environment: [
                "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "XDG_CONFIG_HOME": "\(folder.path)/config",
                "XDG_DATA_HOME": "\(folder.path)/data", "XDG_CACHE_HOME": "\(folder.path)/cache",
                "DBUS_SESSION_BUS_ADDRESS": bus.address, "DBUS_SYSTEM_BUS_ADDRESS": system.address,
                "GSETTINGS_BACKEND": "keyfile", "GIO_USE_VFS": "local", "LIBGL_ALWAYS_SOFTWARE": "1",
                "NO_AT_BRIDGE": "1", "DISPLAY": screen.display, "WAYLAND_DISPLAY": "",
                "XDG_CURRENT_DESKTOP": "X-Cinnamon", "XDG_SESSION_TYPE": "x11",
            ]
        )
        let state = "[Main.runState, AppletManager.get_role_provider_exists(AppletManager.Roles.NOTIFICATIONS)]"
        try await expectEventually("\(cinnamon.errors)") { try await bus.evaluate(state, in: Self.name) == "[2,true]" }
        return cinnamon
    }

    /// How many seconds Cinnamon shows a notification.
    private func show(for seconds: Int, on bus: PrivateBus) async throws {
        let script = "Main.messageTray.settings.set_int('notification-duration', \(seconds))"
        #expect(try await bus.evaluate(script, in: Self.name) != nil)
    }

    /// What the user has closed is shown when the indicator is shown again, not earlier. Then the app ends.
    private func isKeptAway(_ probe: DesktopProbe, on bus: PrivateBus, _ monitor: NotifyMonitor) async throws {
        try await probe.deliver("label", "kept away")
        try await probe.tell("end")
        try await probe.tell("begin", "again") { try await shown(on: bus) == ["again"] }
        try await probe.shutdown { try await shown(on: bus) == [] }
        try await monitor.catchUp()
    }

    /// The texts of the notifications that Cinnamon has, of those that fulfil a condition.
    private func shown(on bus: PrivateBus, _ condition: String = "true") async throws -> [String] {
        let script = """
            Object.values(Main.notificationDaemon._notifications).filter(one => \(condition)).map(one => one.body)
            """
        let text = try #require(await bus.evaluate(script, in: Self.name))
        return try JSONDecoder().decode([String].self, from: Data(text.utf8))
    }

    /// Clicks on the button that closes the notification on the screen, if there is one.
    private func pressButton(on bus: PrivateBus, _ screen: Screen) async throws {
        let script = """
            Main.messageTray._notification?._table.get_children()
                .filter(one => one.child?.icon_name == "window-close")
                .map(one => one.get_transformed_position().map((start, axis) => start + one.get_size()[axis] / 2))
            """
        let text = try await bus.evaluate(script, in: Self.name) ?? ""
        guard let place = try? JSONDecoder().decode([[Double]].self, from: Data(text.utf8)).first else { return }
        try await screen.click(x: Int(place[0]), y: Int(place[1]))
    }
}
#endif
