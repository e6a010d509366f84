#if DBus
import Foundation
import TestSupport
import Testing

@testable import DesktopBackends

/// The dock's icon, as what docks receive.
@Suite struct LauncherEntryTests {
    private static let file = "org.example.probe.desktop"
    private static let queue = "org.activityindicator.LauncherEntry1.org_example_probe_desktop"

    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        try folder.write("[Desktop Entry]\nType=Application\nName=Probe\nExec=true\n", to: "applications/\(Self.file)")
    }

    private func probe(_ bus: PrivateBus, kind: String = "launcherEntry") async throws -> DesktopProbe {
        let probe = try await DesktopProbe(
            configuration: "backends: [launcherEntry]\nlauncherEntry: {desktopFile: \(Self.file)}",
            in: folder,
            environment: ["XDG_DATA_HOME": folder.path],
            bus: bus
        )
        #expect(try await probe.backend("launcherEntry", is: "running"))
        return probe
    }

    /// The connections that own the name of the app's entry or wait for it.
    private func queue(on bus: PrivateBus) async throws -> String {
        let (bus_, path) = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
        let result = try await bus.busctl("call", bus_, path, bus_, "ListQueuedOwners", "s", Self.queue)
        return result.status == 0 ? result.output.trimmingCharacters(in: .newlines) : ""
    }

    @Test(
        "Progress, the count of several and attention are shown; a single one, and the hidden indicator, have no badge",
        .needs(.bus)
    )
    func values() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let probe = try await probe(bus)
        try await probe.tell("begin", "work")
        try await probe.tell("progress", "0.25")
        #expect(await monitor.ends(with: .init(progress: 0.25)))
        try await probe.tell("begin-other", "other")
        #expect(await monitor.ends(with: .init(progress: 0.25, count: 2)))
        try await probe.tell("end-other")
        try await probe.tell("attention", "Passphrase?")
        #expect(await monitor.ends(with: .init(progress: 0.25, isUrgent: true)))
        try await probe.tell("attention", "")
        #expect(await monitor.ends(with: .init(progress: 0.25)))
        try await probe.tell("end")
        #expect(await monitor.ends(with: .nothing))
        #expect(try await eventually { try await queue(on: bus).isEmpty })
        try await probe.tell("begin", "again")
        try await probe.tell("progress", "0.5")
        #expect(await monitor.ends(with: .init(progress: 0.5)))
        try await probe.shutdown()
        #expect(await monitor.ends(with: .nothing))
    }

    @Test("A failure is urgent, also after the indicator is hidden", .needs(.bus))
    func failure() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let probe = try await probe(bus)
        try await probe.tell("begin", "work")
        try await probe.tell("progress", "0.25")
        #expect(await monitor.ends(with: .init(progress: 0.25)))
        try await probe.tell("fail", "disk full")
        // For a minute, which a busy machine may take to look.
        #expect(await eventually { monitor.updates.contains(.init(isUrgent: true)) })
        try await probe.shutdown()
        #expect(await monitor.ends(with: .nothing))
    }

    /// Issue 35, item 10: several instances overwrote each other, and those of a killed app stayed.
    @Test("Instances take turns, one that asks comes first, and nothing of a killed one remains", .needs(.bus))
    func instances() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let (first, second) = (try await probe(bus), try await probe(bus))
        try await first.tell("begin", "first")
        try await first.tell("progress", "0.25")
        #expect(await monitor.ends(with: .init(progress: 0.25)))
        try await second.tell("begin", "second")
        try await second.tell("progress", "0.5")
        #expect(try await eventually { try await queue(on: bus).hasPrefix("as 2 ") })
        try await first.tell("progress", "0.3")
        #expect(await monitor.ends(with: .init(progress: 0.3)))
        #expect(Set(monitor.signals.map(\.sender)).count == 1)
        // The second one asks, and comes first.
        try await second.tell("attention", "Passphrase?")
        #expect(await monitor.ends(with: .init(progress: 0.5, isUrgent: true)))
        try await first.tell("progress", "0.35")
        try await second.tell("progress", "0.55")
        #expect(await monitor.ends(with: .init(progress: 0.55, isUrgent: true)))
        await second.kill()
        #expect(await monitor.ends(with: .init(progress: 0.35)))
        // The name is the only trace of an app on the bus: docks remove what its connection has sent.
        await first.kill()
        #expect(try await eventually { try await queue(on: bus).isEmpty })
    }

    @Test("1000 shows and hides leave nothing behind, and are at most ten messages a second", .needs(.bus))
    func cycles() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let probe = try await probe(bus)
        let start = ContinuousClock.now
        try await probe.tell("cycles", "1000")
        try await probe.tell("begin", "work")
        try await probe.tell("progress", "0.5")
        #expect(await monitor.ends(with: .init(progress: 0.5)))
        try await probe.tell("end")
        #expect(await monitor.ends(with: .nothing))
        #expect(try await eventually { try await queue(on: bus).isEmpty })
        let seconds = start.duration(to: .now) / .seconds(1)
        #expect(Double(monitor.updates.count) <= 10 * seconds + 2, "\(monitor.updates.count) in \(seconds) s")
        #expect(try await probe.status(of: "launcherEntry") == "running")
    }

    @Test("A bus that denies the name does not keep it from being shown, nor does one that restarts", .needs(.bus))
    func otherBuses() async throws {
        let bus = try await PrivateBus(policy: "<deny own_prefix=\"org.activityindicator.LauncherEntry1\"/>")
        var monitor = try await LauncherMonitor(bus)
        let probe = try await probe(bus)
        try await probe.tell("begin", "work")
        try await probe.tell("progress", "0.25")
        #expect(await monitor.ends(with: .init(progress: 0.25)))
        await bus.kill()
        #expect(try await probe.backend("launcherEntry", is: "unavailable"))
        try await bus.start()
        monitor = try await LauncherMonitor(bus)
        #expect(await monitor.ends(with: .init(progress: 0.25)))
    }

    @Test(
        "A bus that dies before it has answered the request for the name leaves nothing; the next one is used",
        .needs(.bus)
    )
    func deathBeforeAnswer() async throws {
        let bus = try await PrivateBus()
        let probe = try await probe(bus)
        bus.pause()
        try await probe.tell("begin", "work")
        try await probe.tell("progress", "0.25")
        await bus.kill()
        #expect(try await probe.backend("launcherEntry", is: "unavailable"))
        try await bus.start()
        let monitor = try await LauncherMonitor(bus)
        #expect(await monitor.ends(with: .init(progress: 0.25)))
        #expect(try await eventually { try await queue(on: bus).hasPrefix("as 1 ") })
        try await probe.tell("end")
        #expect(await monitor.ends(with: .nothing))
        #expect(try await eventually { try await queue(on: bus).isEmpty })
    }

    /// Found with Plank on a busy machine: the bar was sent before the dock listened, and never again.
    @Test("A dock that starts is told what is shown, once, and nothing while it is hidden", .needs(.bus))
    func newDock() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let probe = try await probe(bus)
        var dock: BusPeer?
        func startDock() throws {
            dock = nil
            dock = try BusPeer(name: "com.canonical.Unity", path: "/Unity", address: bus.address) { _ in [] }
        }
        try startDock()
        try await probe.tell("begin", "work")
        try await probe.tell("progress", "0.25")
        #expect(await monitor.ends(with: .init(progress: 0.25)))
        let count = monitor.updates.count
        try startDock()
        #expect(await eventually { monitor.updates.count > count })
        try await probe.tell("progress", "0.5")
        #expect(await monitor.ends(with: .init(progress: 0.5)))
        #expect(monitor.updates.dropFirst(count) == [.init(progress: 0.25), .init(progress: 0.5)])
        // The first dock may still be there.
        try startDock()
        try await probe.tell("end")
        #expect(await monitor.ends(with: .nothing))
        let quiet = monitor.updates.count
        try startDock()
        try await probe.tell("begin", "again")
        try await probe.tell("progress", "0.75")
        #expect(await monitor.ends(with: .init(progress: 0.75)))
        #expect(monitor.updates.dropFirst(quiet) == [.init(progress: 0.75)])
        withExtendedLifetime(dock) {}
    }

    @Test("Docks that come and go all the time neither delay what is shown nor cause a flood of signals", .needs(.bus))
    func manyDocks() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let probe = try await probe(bus)
        let start = ContinuousClock.now
        let docks = Task.detached {
            while !Task.isCancelled {
                _ = try BusPeer(name: "com.canonical.Unity", path: "/Unity", address: bus.address) { _ in [] }
            }
        }
        try await probe.tell("begin", "work")
        for progress in [0.25, 0.5, 0.75] {
            try await probe.tell("progress", "\(progress)")
            #expect(await monitor.ends(with: .init(progress: progress)))
        }
        try await probe.tell("end")
        #expect(await monitor.ends(with: .nothing))
        docks.cancel()
        try await docks.value
        let seconds = start.duration(to: .now) / .seconds(1)
        #expect(Double(monitor.updates.count) <= 4 * seconds + 2, "\(monitor.updates.count) in \(seconds) s")
    }

    @Test("Without its desktop file it is unavailable, and says where the file is missing", .needs(.bus))
    func noDesktopFile() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        try FileManager.default.removeItem(atPath: "\(folder.path)/applications/\(Self.file)")
        let probe = try await DesktopProbe(
            configuration: "backends: [launcherEntry]\nlauncherEntry: {desktopFile: \(Self.file)}",
            in: folder,
            environment: ["XDG_DATA_HOME": folder.path],
            bus: bus
        )
        #expect(try await probe.backend("launcherEntry", is: "there is no '\(Self.file)' in the folder 'applications'"))
        try await probe.tell("begin", "work")
        try await probe.tell("progress", "0.25")
        try folder.write("[Desktop Entry]\n", to: "applications/\(Self.file)")
        #expect(await monitor.ends(with: .init(progress: 0.25)))
    }
}

@Suite("Desktop files") struct DesktopFileTests {
    @Test(
        "are named without a folder",
        arguments: [
            ("org.example.my-app.desktop", true), ("a.desktop", true), ("kde/app.desktop", false),
            ("../app.desktop", false), (".desktop", false), ("app", false), ("", false), ("a b.desktop", false),
            ("a\u{1B}.desktop", false), ("ä.desktop", false), (String(repeating: "a", count: 256) + ".desktop", false),
        ]
    )
    func identifiers(text: String, isIdentifier: Bool) {
        #expect(DesktopFile.isIdentifier(text) == isIdentifier)
    }

    @Test("are found in the data folders, and in their subfolders")
    func installed() throws {
        let folder = try TemporaryDirectory()
        try folder.write("", to: "applications/kde/my-app.desktop")
        try folder.write("", to: "share/applications/other.desktop")
        let environment = ["XDG_DATA_HOME": folder.path, "XDG_DATA_DIRS": "/nowhere:\(folder.path)/share"]
        #expect(DesktopFile.isInstalled("kde-my-app.desktop", in: environment))
        #expect(DesktopFile.isInstalled("other.desktop", in: environment))
        #expect(!DesktopFile.isInstalled("my-app.desktop", in: environment))
        #expect(DesktopFile.name(of: "other", in: environment) == "other")
        #expect(DesktopFile.name(of: "../applications/other", in: environment) == nil)
    }
}
#endif
