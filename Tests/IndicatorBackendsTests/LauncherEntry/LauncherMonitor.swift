import Foundation
import TestSupport

/// Records what docks receive on a bus, with `busctl monitor`.
final class LauncherMonitor: Sendable {
    /// What a dock shows on an icon.
    struct Update: Equatable {
        var progress: Double?
        var count: Int?
        var isUrgent = false

        static let nothing = Update()
    }

    private let daemon: Daemon
    private let desktopFile: String

    /// Starts to record the signals for one desktop file; returns when it does.
    init(_ bus: PrivateBus, desktopFile: String = "org.example.probe.desktop") async throws {
        self.desktopFile = desktopFile
        let monitor = try Daemon(
            "busctl",
            [
                "--address=\(bus.address)", "monitor", "--json=short",
                "--match=type='signal',interface='com.canonical.Unity.LauncherEntry'",
            ],
            package: "systemd"
        )
        daemon = monitor
        // The connections of a monitor have no names any more.
        let isListening = await eventually {
            monitor.errors.contains("Monitoring") || monitor.output.contains("Monitoring")
        }
        guard isListening else { throw BusctlFailure(text: monitor.errors) }
    }

    /// The updates so far, with their senders.
    var signals: [(sender: String, update: Update)] {
        daemon.output.split(separator: "\n").compactMap { line in
            guard
                let message = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let sender = message["sender"] as? String,
                let payload = (message["payload"] as? [String: Any])?["data"] as? [Any],
                payload.first as? String == "application://\(desktopFile)",
                let values = payload.last as? [String: [String: Any]]
            else { return nil }
            func value<Value>(_ name: String) -> Value? { values[name]?["data"] as? Value }
            let update = Update(
                progress: value("progress-visible") == true ? value("progress") : nil,
                count: value("count-visible") == true ? value("count") : nil,
                isUrgent: value("urgent") ?? false
            )
            return (sender, update)
        }
    }

    /// The updates so far.
    var updates: [Update] { signals.map(\.update) }

    /// Waits until an update is the last one.
    func ends(with update: Update) async -> Bool { await eventually { updates.last == update } }

    private struct BusctlFailure: Error {
        var text: String
    }
}
