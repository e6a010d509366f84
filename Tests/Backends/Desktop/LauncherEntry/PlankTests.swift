#if DBus
import TestSupport

/// The real dock Plank, under an X server without a screen.
@Suite(.needs(.bus), .needs(.screen), .needs(.dock)) struct PlankTests {
    private func dock(on bus: PrivateBus, _ screen: Screen, hideMode: String) async throws -> [Daemon] {
        let (folder, home) = (bus.folder, bus.folder.path)
        try folder.write(
            "[PlankDockItemPreferences]\nLauncher=file://\(home)/applications/\(DesktopProbe.desktopFile)\n",
            to: "config/plank/dock1/launchers/probe.dockitem"
        )
        try folder.write(
            """
            [net/launchpad/plank/docks/dock1]
            dock-items=['probe.dockitem']
            hide-mode='\(hideMode)'
            hide-delay=uint32 0
            show-dock-item=false
            zoom-enabled=false

            """,
            to: "config/glib-2.0/settings/keyfile"
        )
        let environment = [
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "DISPLAY": screen.display, "WAYLAND_DISPLAY": "",
            "HOME": home, "XDG_RUNTIME_DIR": home, "XDG_CONFIG_HOME": "\(home)/config", "XDG_DATA_HOME": home,
            "XDG_CACHE_HOME": "\(home)/cache", "GSETTINGS_BACKEND": "keyfile", "NO_AT_BRIDGE": "1",
            "XDG_SESSION_TYPE": "x11",
        ]
        // Plank animates only on a screen with a compositor.
        let compositor =
            try hideMode == "none" ? nil : Daemon("xfwm4", ["--compositor=on"], environment: environment)
        let bamf = try Daemon("/usr/libexec/bamf/bamfdaemon", environment: environment)
        #expect(try await eventually { try await bus.hasOwner("org.ayatana.bamf") })
        let plank = try Daemon("plank", environment: environment)
        try await expectEventually("\(plank.errors)") { try await bus.hasOwner("com.canonical.Unity") }
        return [compositor, bamf, plank].compactMap(\.self)
    }

    @Test("Plank shows the bar and the badge; after SIGKILL of the app the picture is the same as before")
    func picture() async throws {
        let screen = try await Screen()
        let bus = try await PrivateBus()
        let dock = try await dock(on: bus, screen, hideMode: "none")
        let app = try await DesktopProbe(backends: "launcherEntry", on: bus)
        let pictures = try await pictures(on: screen, of: app)
        await app.kill()
        #expect(try await eventually { try await screen.picture() == pictures[0] })
        withExtendedLifetime(dock) {}
    }

    @Test func `A dock that starts while an app works shows its bar`() async throws {
        let screen = try await Screen()
        let bus = try await PrivateBus()
        let app = try await DesktopProbe(backends: "launcherEntry", on: bus)
        var dock = try await dock(on: bus, screen, hideMode: "none")
        let badge = try await pictures(on: screen, of: app)[2]
        for _ in 1...2 {
            for daemon in dock.reversed() { await daemon.end() }
            #expect(try await eventually { try await screen.picture() != badge })
            dock = try await self.dock(on: bus, screen, hideMode: "none")
            #expect(try await eventually { try await screen.picture() == badge })
        }
    }

    @Test func `While it is hidden, Plank shows the mark alone: a glow at the edge of the screen`() async throws {
        let screen = try await Screen()
        let bus = try await PrivateBus()
        let dock = try await dock(on: bus, screen, hideMode: "auto")
        let probe = try await DesktopProbe(backends: "launcherEntry", on: bus)
        let hidden = try await steady(on: screen)
        try await probe.follow("begin work | progress 0.25")
        #expect(try await steady(on: screen) == hidden)
        try await expectEventually {
            // Plank ends the glow after ten seconds.
            try await probe.follow("attention | attention Passphrase?")
            for _ in 0..<10 where try await screen.picture() != hidden { return true }
            return false
        }
        await probe.kill()
        #expect(try await eventually { try await screen.picture() == hidden })
        withExtendedLifetime(dock) {}
    }

    /// The pictures without an activity, with the bar of one, and with the badge of two, which remain.
    ///
    /// Plank draws in steps when it starts, and animates; so they are known when they are the same twice.
    private func pictures(on screen: Screen, of app: DesktopProbe) async throws -> [String] {
        var nothing = try await steady(on: screen)
        var pictures: [String] = []
        try await expectEventually(within: .seconds(120)) {
            let previous = pictures
            try await app.follow("begin first | progress 0.25")
            let bar = try await steady(on: screen, after: nothing)
            try await app.tell("begin-other", "other")
            let badge = try await steady(on: screen, after: bar)
            try await app.follow("end-other | end")
            nothing = try await steady(on: screen, after: badge)
            pictures = [nothing, bar, badge]
            return pictures == previous && Set(pictures).count == 3
        }
        try await app.follow("begin first | progress 0.25")
        try await app.tell("begin-other", "other") { try await screen.picture() == pictures[2] }
        return pictures
    }

    /// The picture when it no longer changes, after the one before has disappeared.
    private func steady(on screen: Screen, after previous: String? = nil) async throws -> String {
        var pictures: [String] = []
        _ = try await eventually(within: .seconds(60)) {
            pictures = try await pictures.suffix(9) + [screen.picture()]
            return pictures.count == 10 && Set(pictures).count == 1 && pictures[0] != previous
        }
        return pictures[pictures.count - 1]
    }
}
#endif
