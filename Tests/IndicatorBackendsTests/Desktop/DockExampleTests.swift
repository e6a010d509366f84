#if DBus
import Foundation
import TestSupport
import Testing

/// `Examples/dock.py`: what it sends to docks.
@Suite struct DockExampleTests {
    private struct Update: Equatable {
        var progress: Double?
        var count: Int?
        var isUrgent: Bool

        static let nothing = Update(progress: nil, count: nil, isUrgent: false)
    }

    /// The updates that a monitor has recorded.
    private func updates(in output: String) -> [Update] {
        output.split(separator: "\n").compactMap { line in
            guard
                let message = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let payload = (message["payload"] as? [String: Any])?["data"] as? [Any],
                payload.first as? String == "application://org.example.probe.desktop",
                let values = payload.last as? [String: [String: Any]]
            else { return nil }
            func value<Value>(_ name: String) -> Value? { values[name]?["data"] as? Value }
            return Update(
                progress: value("progress-visible") == true ? value("progress") : nil,
                count: value("count-visible") == true ? value("count") : nil,
                isUrgent: value("urgent") ?? false
            )
        }
    }

    @Test("Instances are shown as one, an app that asks is urgent, and nothing of a killed app remains")
    func instances() async throws {
        let bus = try await PrivateBus()
        let monitor = try Daemon(
            "busctl",
            [
                "--address=\(bus.address)", "monitor", "--json=short",
                "--match=type='signal',interface='com.canonical.Unity.LauncherEntry'",
            ],
            package: "systemd"
        )
        // The connections of a monitor have no names any more.
        #expect(await eventually { monitor.errors.contains("Monitoring") || monitor.output.contains("Monitoring") })
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
        #expect(await eventually { updates(in: monitor.output).last == Update(progress: 0.5, isUrgent: false) })
        try await second.tell("begin", "second")
        try await second.tell("progress", "0.25")
        #expect(
            await eventually { updates(in: monitor.output).last == Update(progress: 0.375, count: 2, isUrgent: false) }
        )
        try await second.tell("attention", "Passphrase?")
        #expect(await eventually { updates(in: monitor.output).last?.isUrgent == true })
        await second.kill()
        #expect(await eventually { updates(in: monitor.output).last == Update(progress: 0.5, isUrgent: false) })
        await first.kill()
        #expect(await eventually { updates(in: monitor.output).last == .nothing })
        #expect(dock.isRunning, "\(dock.errors)")
    }
}
#endif
