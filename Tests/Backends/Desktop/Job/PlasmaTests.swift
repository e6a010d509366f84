#if DBus
import TestSupport

/// The notifications of the real Plasma, which shows jobs, under an X server without a screen.
@Suite(.needs(.screen), .needs(.bus)) struct PlasmaTests {
    private static let program = "/usr/bin/plasmawindowed"

    @Test(
        "Plasma shows the job, its button cancels the task, a restart brings it back, and nothing remains",
        .needs(program, package: "plasma-workspace", tier: .nightly)
    )
    func job() async throws {
        let bus = try await PrivateBus()
        let screen = try await Screen()
        // Plasma sends `application://` and the name without `.desktop`.
        let docks = try await LauncherMonitor(bus, desktopFile: "org.example.probe")
        var plasma = try await plasma(on: bus, screen)
        // Plasma sends the state of a job to docks, if its app has a desktop file.
        let settings = "desktopJob: {desktopFile: \(DesktopProbe.desktopFile)}"
        let probe = try await DesktopProbe(backends: "desktopJob", settings, on: bus)
        // Plasma counts the jobs.
        try await probe.tell("cancellable", "Uploading") { docks.last == "0% x1" }
        try await cancel(probe, on: screen, until: "cancelled")
        #expect(await docks.ends(with: "nothing"))
        try await probe.follow("observe | begin Copying | progress 0.25 = 25% x1") { docks.last }
        try await cancel(probe, on: screen, until: "requested: Copying")
        try await probe.follow("end = nothing | begin Copying") { docks.last }
        await plasma.end()
        #expect(try await probe.backend("desktopJob", is: "no service owns org.kde.JobViewServer"))
        try await probe.tell("progress", "0.5")
        plasma = try await self.plasma(on: bus, screen)
        #expect(await docks.ends(with: "50% x1"))
        try await probe.follow("fail disk full = nothing | begin Copying | progress 0.75 = 75% x1") { docks.last }
        await probe.kill()
        // Plasma removes the jobs of a process that has ended.
        #expect(await docks.ends(with: "nothing"))
        await plasma.end()
    }

    @Test(
        "Plasma shows the notification once, not again after its button has closed it, and none remains",
        .needs(program, package: "plasma-workspace", tier: .nightly),
        arguments: NotificationWay.allCases
    )
    func notification(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        let screen = try await Screen()
        let plasma = try await plasma(on: bus, screen)
        // The first notification may take longer than the time limit of an update.
        let (name, path) = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
        let method = ["--timeout", "60", "--dest", name, "--object-path", path, "--method", "\(name).Notify"]
        _ = try await bus.gdbus("call", method + ["x", "0", "", "first", "", "[]", "{}", "5000"])
        for count in [1, 0] { try await expectEventually { try await popups(on: screen).count == count } }
        let monitor = try await NotifyMonitor(bus)
        let probe = try await DesktopProbe.notifying("expiry=3600", through: way, on: bus)
        try await probe.tell("begin", "work") { try await popups(on: screen).count == 1 }
        try await probe.tell("progress", "0.4") { monitor.shown.last?.body == "work 40%" }
        #expect(monitor.shown.map(\.identifier) == [0, 2])
        #expect(try await popups(on: screen).count == 1)
        try await click(on: screen, right: 22, top: 22) { monitor.closingReasons.contains(2) }
        try await probe.deliver("label", "kept away")
        try await probe.tell("end")
        try await probe.tell("begin", "again") { try await popups(on: screen).count == 1 }
        try await probe.shutdown { try await popups(on: screen).isEmpty }
        try await monitor.catchUp()
        #expect(monitor.shown.map(\.body) == ["work", "work 40%", "again"])
        #expect(monitor.closingReasons.first == 2)
        #expect(monitor.closingReasons.filter { $0 != 2 } == [3])
        await plasma.end()
    }

    private func plasma(on bus: PrivateBus, _ screen: Screen) async throws -> Daemon {
        let home = bus.folder.path
        let plasma = try Daemon(
            Self.program,
            ["org.kde.plasma.notifications"],
            environment: [
                "DBUS_SESSION_BUS_ADDRESS": bus.address, "DISPLAY": screen.display, "WAYLAND_DISPLAY": "",
                "HOME": home, "XDG_RUNTIME_DIR": home, "XDG_CONFIG_HOME": "\(home)/config", "XDG_DATA_HOME": home,
                "XDG_CACHE_HOME": "\(home)/cache", "QT_QUICK_BACKEND": "software", "QT_QPA_PLATFORM": "xcb",
                "XDG_CURRENT_DESKTOP": "KDE",
            ]
        )
        try await expectEventually("\(plasma.errors)") { try await bus.hasOwner("org.kde.JobViewServer") }
        return plasma
    }

    private func popups(on screen: Screen) async throws -> [(width: Int, height: Int, x: Int, y: Int)] {
        try await screen.windows().filter { (300...400).contains($0.width) && $0.height < 200 }
    }

    /// Clicks on the button to cancel until the app has an outcome.
    private func cancel(_ probe: DesktopProbe, on screen: Screen, until outcome: String) async throws {
        try await click(on: screen, right: 51, bottom: 20) { try await probe.tell("outcome") == outcome }
    }

    /// Clicks on each popup, at a place that is given from its edges, until a condition holds. Every five seconds: a
    /// slow Plasma reports a second click on the same popup, too.
    private func click(
        on screen: Screen,
        right: Int,
        top: Int? = nil,
        bottom: Int = 0,
        until condition: () async throws -> Bool
    ) async throws {
        var next = ContinuousClock.now
        try await expectEventually {
            if next <= .now {
                for one in try await popups(on: screen) {
                    try await screen.click(x: one.x + one.width - right, y: one.y + (top ?? one.height - bottom))
                    next = .now + .seconds(5)
                }
            }
            return try await condition()
        }
    }
}
#endif
