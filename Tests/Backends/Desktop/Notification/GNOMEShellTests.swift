#if DBus
import TestSupport

/// The real GNOME Shell, without a screen.
@Suite(.needs(.bus)) struct GNOMEShellTests {
    private static let programs: Needs = [
        "gnome-shell": "gnome-shell", "gjs": "gjs",
        "/usr/lib/python3/dist-packages/dbusmock": "python3-dbusmock",
    ]
    private static let name = "org.gnome.Shell"
    private static let service = "/usr/share/gnome-shell/org.gnome.Shell.Notifications"

    @Test(.needs(programs, .nightly))
    func `First a notification with a banner, then one in the list, which is updated; none remains`() async throws {
        let bus = try await PrivateBus()
        let system = try await PrivateBus()
        let folder = try TemporaryDirectory("indicator-gnome")
        let environment = [
            "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "XDG_CONFIG_HOME": "\(folder.path)/config",
            "XDG_DATA_HOME": "\(folder.path)/data", "XDG_CACHE_HOME": "\(folder.path)/cache",
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "DBUS_SYSTEM_BUS_ADDRESS": system.address,
            "GSETTINGS_BACKEND": "memory", "GIO_USE_VFS": "local", "LIBGL_ALWAYS_SOFTWARE": "1", "NO_AT_BRIDGE": "1",
            "DISPLAY": "", "WAYLAND_DISPLAY": "", "XDG_CURRENT_DESKTOP": "GNOME",
        ]
        let logind = try Daemon(
            "/usr/bin/python3",
            ["-m", "dbusmock", "--system", "--template", "logind"],
            environment: environment
        )
        #expect(try await eventually { try await system.hasOwner("org.freedesktop.login1") })
        let shell = try Daemon(
            "/usr/bin/gnome-shell",
            [
                "--headless", "--no-x11", "--unsafe-mode", "--virtual-monitor", "640x480", "--wayland-display",
                "indicator",
            ],
            environment: environment
        )
        #expect(try await eventually { try await bus.evaluate("1 + 1", in: Self.name) == "2" }, "\(shell.errors)")
        // The bus would start it. It is a module in later versions.
        let isModule = try String(contentsOfFile: Self.service, encoding: .utf8).hasPrefix("import ")
        let notifications = try Daemon(
            "/usr/bin/gjs",
            (isModule ? ["-m"] : []) + [Self.service],
            environment: environment
        )
        #expect(try await eventually { try await bus.hasOwner("org.freedesktop.Notifications") })

        let probe = try await DesktopProbe.notifying(on: bus)
        #expect(await probe.logs("sent to gnome-shell "))
        #expect(try await bus.evaluate(Self.recording, in: Self.name) != nil)
        try await probe.tell("begin", "work") { try await shown(on: bus).contains("1 work") }
        try await probe.tell("progress", "0.4") { try await shown(on: bus).last == "0 work 40%" }
        try await probe.tell("label", "more") { try await shown(on: bus).last == "0 more 40%" }
        try await probe.tell("attention", "Passphrase?") { try await shown(on: bus).last == "0 more: Passphrase? 40%" }
        // GNOME removes the notification for a moment when its urgency changes.
        let history = try await shown(on: bus).filter { !$0.isEmpty }
        #expect(history.dropLast().last == "1 more: Passphrase? 40%", "\(history)")
        await probe.quit()
        #expect(try await eventually { try await shown(on: bus).last == "" })
        withExtendedLifetime([logind, shell, notifications]) {}
    }

    /// Records each change of what GNOME Shell shows for the app: urgencies and texts of its notifications. A banner
    /// may be shorter than a question from outside takes. The timer comes before each call from the bus, by its
    /// priority.
    private static let recording = """
        global.shownByProbe = [""]; imports.gi.GLib.timeout_add(imports.gi.GLib.PRIORITY_HIGH, 1, () => {
            const shown = Main.messageTray.getSources().flatMap(source => source.notifications)
                .filter(one => one.title == "probe")
                .map(one => one.urgency + " " + (one.body ?? one.bannerBodyText)).join("; ");
            if (shown != global.shownByProbe.at(-1)) global.shownByProbe.push(shown);
            return true;
        })
        """

    private func shown(on bus: PrivateBus) async throws -> [String] {
        guard let text = try await bus.evaluate("global.shownByProbe", in: Self.name) else { return [] }
        return try JSONDecoder().decode([String].self, from: Data(text.utf8))
    }
}
#endif
