#if DBus
import TestSupport

@testable import DesktopBackends

/// The dock's icon, as what docks receive.
@Suite(.needs(.bus)) struct LauncherEntryTests {
    private typealias Body = (LauncherMonitor, DesktopProbe, _ startDock: () throws -> Void) async throws -> Void

    /// Runs a test with an app on a bus of its own, a monitor, and what replaces the dock there by another one.
    private func onDock(_ body: Body) async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let probe = try await DesktopProbe(backends: "launcherEntry", on: bus)
        var dock: BusPeer?
        try await body(monitor, probe) {
            dock = nil
            dock = try .broken("com.canonical.Unity", on: bus)
        }
        withExtendedLifetime(dock) {}
    }

    @Test("Progress, the count of several and attention are shown; one, and the hidden, have no badge")
    func values() async throws {
        try await onDock { monitor, probe, _ in
            try await probe.follow(
                """
                begin work | progress 0.25 = 25% | begin-other other = 25% x2 | end-other
                attention Passphrase? = 25% ! | attention = 25% | end = nothing
                begin again | progress 0.5 = 50% | shutdown = nothing
                """
            ) { monitor.last }
        }
    }

    @Test func `A failure is urgent, also after the indicator is hidden`() async throws {
        try await onDock { monitor, probe, _ in
            try await probe.follow("begin work | progress 0.25 = 25% | fail disk full") { monitor.last }
            // For a minute, which a busy machine may take to look.
            #expect(await eventually { monitor.updates.contains("!") })
            try await probe.follow("shutdown = nothing") { monitor.last }
        }
    }

    @Test func `A failure is urgent for a minute`() throws {
        let session = LauncherEntrySession(desktopFile: DesktopProbe.desktopFile)
        let bus = BusConnection(to: "", thread: ServiceThread(name: "bus"), session: session)
        let failure = FinishedActivity(label: "work", outcome: .failed("disk full"), duration: .seconds(1))
        let earliest = SuspendingClock.now + .seconds(60)
        let due = try #require(try session.show(IndicatorUpdate(IndicatorSnapshot(), finished: [failure]), on: bus))
        #expect(due >= earliest && due <= .now + .seconds(60))
    }

    /// Found with Plank on a busy machine: the bar was sent before the dock listened, and never again.
    @Test func `A dock that starts is told what is shown, once, and nothing while it is hidden`() async throws {
        try await onDock { monitor, probe, startDock in
            try startDock()
            try await probe.follow("begin work | progress 0.25 = 25%") { monitor.last }
            let count = monitor.updates.count
            try startDock()
            #expect(await eventually { monitor.updates.count > count })
            try await probe.follow("progress 0.5 = 50%") { monitor.last }
            #expect(monitor.updates.dropFirst(count) == ["25%", "50%"])
            // The second dock may still be there.
            try startDock()
            try await probe.follow("end = nothing") { monitor.last }
            let quiet = monitor.updates.count
            try startDock()
            try await probe.follow("begin again | progress 0.75 = 75%") { monitor.last }
            #expect(monitor.updates.dropFirst(quiet) == ["75%"])
        }
    }

    @Test func `Docks that come and go all the time delay neither what is shown nor its end`() async throws {
        try await onDock { monitor, probe, startDock in
            for (command, shown) in [
                ("begin work", ""), ("progress 0.25", "25%"), ("progress 0.5", "50%"), ("end", "nothing"),
            ] {
                try await probe.follow(command)
                try #require(
                    try await eventually {
                        try startDock()
                        return monitor.last == shown
                    }
                )
            }
        }
    }

    @Test func `Without its desktop file it is unavailable, and says where the file is missing`() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let file = "applications/\(DesktopProbe.desktopFile)"
        try FileManager.default.removeItem(atPath: bus.folder.appending(file))
        let missing = "there is no '\(DesktopProbe.desktopFile)' in the folder 'applications'"
        let probe = try await DesktopProbe(backends: "launcherEntry", on: bus, are: missing)
        try await probe.follow("begin work | progress 0.25")
        try bus.folder.write("[Desktop Entry]\n", to: file)
        #expect(await monitor.ends(with: "25%"))
    }
}

@Suite("Desktop files") struct DesktopFileTests {
    @Test(
        "are named without a folder, and with printable characters of ASCII",
        arguments: [
            ("org.example.my-app.desktop", true), ("a.desktop", true), ("kde/app.desktop", false),
            (".desktop", false), ("app", false), ("a b.desktop", false), ("a\u{1B}.desktop", false),
            ("ä.desktop", false), (String(repeating: "a", count: 248) + ".desktop", false),
        ]
    )
    func identifiers(text: String, isIdentifier: Bool) {
        #expect(DesktopFile.isIdentifier(text) == isIdentifier)
    }

    @Test func `are found in the data folders, and in their subfolders`() throws {
        let folder = try TemporaryDirectory()
        try folder.write("", to: "applications/kde/my-app.desktop")
        try folder.write("", to: "share/applications/other.desktop")
        let environment = ["XDG_DATA_HOME": folder.path, "XDG_DATA_DIRS": "/nowhere:\(folder.path)/share"]
        for (app, name) in [
            ("kde-my-app", "kde-my-app"), ("other", "other"), ("my-app", nil), ("../applications/other", nil),
        ] {
            #expect(DesktopFile.name(of: app, in: environment) == name)
        }
        #expect(DesktopFile.name(of: "my-app", in: ["FLATPAK_ID": "org.me.App"]) == "org.me.App")
    }
}
#endif
