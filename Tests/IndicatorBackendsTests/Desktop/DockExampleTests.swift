#if DBus
import Foundation
import TestSupport
import Testing

/// `Examples/dock.py`: what it sends to docks.
@Suite(.needs(.busScripts)) struct DockExampleTests {
    private typealias Update = LauncherMonitor.Update

    @Test("Instances are shown as one, an app that asks is urgent, and nothing of a killed app remains")
    func instances() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        let example = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Examples/dock.py")
        let folder = URL(filePath: try Command.built("indicator")).deletingLastPathComponent().path
        let dock = try Daemon(
            "/usr/bin/python3",
            [example.standardizedFileURL.path, "probe", "org.example.probe.desktop"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address, "PATH": "\(folder):/usr/bin:/bin"],
            package: "python3-dbus"
        )
        let first = try await DesktopProbe("property", bus: bus)
        let second = try await DesktopProbe("property", bus: bus)
        try await first.tell("begin", "first")
        try await first.tell("progress", "0.5")
        #expect(await eventually { monitor.updates.last == Update(progress: 0.5, isUrgent: false) })
        try await second.tell("begin", "second")
        try await second.tell("progress", "0.25")
        #expect(
            await eventually { monitor.updates.last == Update(progress: 0.375, count: 2, isUrgent: false) }
        )
        try await second.tell("attention", "Passphrase?")
        #expect(await eventually { monitor.updates.last?.isUrgent == true })
        await second.kill()
        #expect(await eventually { monitor.updates.last == Update(progress: 0.5, isUrgent: false) })
        await first.kill()
        #expect(await eventually { monitor.updates.last == .nothing })
        #expect(dock.isRunning, "\(dock.errors)")
    }
}
#endif
