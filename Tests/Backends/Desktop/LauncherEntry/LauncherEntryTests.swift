#if DBus
import TestSupport

@testable import DesktopBackends

/// The dock's icon, as what docks receive.
@Suite(.needs(.bus)) struct LauncherEntryTests {
    private static let file = "org.example.probe.desktop"

    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        try folder.write("[Desktop Entry]\nType=Application\nName=Probe\nExec=true\n", to: "applications/\(Self.file)")
    }

    private func probe(_ bus: PrivateBus, is state: String = "running") async throws -> DesktopProbe {
        let probe = try await DesktopProbe(
            configuration: "backends: [launcherEntry]\nlauncherEntry: {desktopFile: \(Self.file)}",
            in: folder,
            environment: ["XDG_DATA_HOME": folder.path],
            bus: bus
        )
        #expect(try await probe.backend("launcherEntry", is: state))
        return probe
    }

    /// An app on a bus of its own, with a monitor.
    private func entry() async throws -> (bus: PrivateBus, monitor: LauncherMonitor, probe: DesktopProbe) {
        let bus = try await PrivateBus()
        return (bus, try await LauncherMonitor(bus), try await probe(bus))
    }

    @Test("Progress, the count of several and attention are shown; one, and the hidden, have no badge")
    func values() async throws {
        let (_, monitor, probe) = try await entry()
        try await probe.follow(
            """
            begin work | progress 0.25 = 25% | begin-other other = 25% x2 | end-other | attention Passphrase? = 25% !
            attention = 25% | end = nothing | begin again | progress 0.5 = 50% | shutdown = nothing
            """
        ) { monitor.last }
    }

    @Test func `A failure is urgent, also after the indicator is hidden`() async throws {
        let (_, monitor, probe) = try await entry()
        try await probe.follow("begin work | progress 0.25 = 25% | fail disk full") { monitor.last }
        // For a minute, which a busy machine may take to look.
        #expect(await eventually { monitor.updates.contains(.init(isUrgent: true)) })
        try await probe.follow("shutdown = nothing") { monitor.last }
    }

    @Test func `A failure is urgent for a minute`() throws {
        let session = LauncherEntrySession(desktopFile: Self.file)
        let bus = BusConnection(to: "", thread: ServiceThread(name: "bus"), session: session)
        let failure = FinishedActivity(label: "work", outcome: .failed("disk full"), duration: .seconds(1))
        let earliest = SuspendingClock.now + .seconds(60)
        let due = try #require(try session.show(IndicatorUpdate(IndicatorSnapshot(), finished: [failure]), on: bus))
        #expect(due >= earliest && due <= .now + .seconds(60))
    }

    /// Found with Plank on a busy machine: the bar was sent before the dock listened, and never again.
    @Test func `A dock that starts is told what is shown, once, and nothing while it is hidden`() async throws {
        let (bus, monitor, probe) = try await entry()
        var dock: BusPeer?
        func startDock() throws {
            dock = nil
            dock = try BusPeer(name: "com.canonical.Unity", path: "/Unity", address: bus.address) { _ in [] }
        }
        try startDock()
        try await probe.follow("begin work | progress 0.25 = 25%") { monitor.last }
        let count = monitor.updates.count
        try startDock()
        #expect(await eventually { monitor.updates.count > count })
        try await probe.follow("progress 0.5 = 50%") { monitor.last }
        #expect(monitor.updates.dropFirst(count) == [.init(progress: 0.25), .init(progress: 0.5)])
        // The first dock may still be there.
        try startDock()
        try await probe.follow("end = nothing") { monitor.last }
        let quiet = monitor.updates.count
        try startDock()
        try await probe.follow("begin again | progress 0.75 = 75%") { monitor.last }
        #expect(monitor.updates.dropFirst(quiet) == [.init(progress: 0.75)])
        withExtendedLifetime(dock) {}
    }

    @Test func `Docks that come and go all the time delay neither what is shown nor its end`() async throws {
        let (bus, monitor, probe) = try await entry()
        func ends(with update: LauncherMonitor.Update) async throws -> Bool {
            try await eventually {
                _ = try BusPeer(name: "com.canonical.Unity", path: "/Unity", address: bus.address) { _ in [] }
                return monitor.updates.last == update
            }
        }
        try await probe.tell("begin", "work")
        for progress in [0.25, 0.5] {
            try await probe.tell("progress", "\(progress)")
            try #require(try await ends(with: .init(progress: progress)))
        }
        try await probe.tell("end")
        #expect(try await ends(with: .nothing))
    }

    @Test func `Without its desktop file it is unavailable, and says where the file is missing`() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        try FileManager.default.removeItem(atPath: "\(folder.path)/applications/\(Self.file)")
        let probe = try await probe(bus, is: "there is no '\(Self.file)' in the folder 'applications'")
        try await probe.follow("begin work | progress 0.25")
        try folder.write("[Desktop Entry]\n", to: "applications/\(Self.file)")
        #expect(await monitor.ends(with: .init(progress: 0.25)))
    }
}

@Suite("Desktop files") struct DesktopFileTests {
    @Test(arguments: [
        ("org.example.my-app.desktop", true), ("a.desktop", true), ("kde/app.desktop", false),
        ("../app.desktop", false), (".desktop", false), ("app", false), ("", false), ("a b.desktop", false),
        ("a\u{1B}.desktop", false), ("ä.desktop", false), (String(repeating: "a", count: 256) + ".desktop", false),
    ])
    func `are named without a folder`(text: String, isIdentifier: Bool) {
        #expect(DesktopFile.isIdentifier(text) == isIdentifier)
    }

    @Test func `are found in the data folders, and in their subfolders`() throws {
        let folder = try TemporaryDirectory()
        try folder.write("", to: "applications/kde/my-app.desktop")
        try folder.write("", to: "share/applications/other.desktop")
        let environment = ["XDG_DATA_HOME": folder.path, "XDG_DATA_DIRS": "/nowhere:\(folder.path)/share"]
        #expect(DesktopFile.isInstalled("kde-my-app.desktop", in: environment))
        #expect(DesktopFile.isInstalled("other.desktop", in: environment))
        #expect(!DesktopFile.isInstalled("my-app.desktop", in: environment))
        #expect(DesktopFile.name(of: "other", in: environment) == "other")
        #expect(DesktopFile.name(of: "../applications/other", in: environment) == nil)
        #expect(DesktopFile.name(of: "missing", in: environment) == nil)
        #expect(DesktopFile.name(of: "my-app", in: ["FLATPAK_ID": "org.me.App"]) == "org.me.App")
    }
}
#endif
