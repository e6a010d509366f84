import TestSupport

/// Records what docks receive on a bus.
final class LauncherMonitor: Sendable {
    private let monitor: BusMonitor
    private let desktopFile: String

    /// Starts to record the signals for one desktop file; returns when it does.
    init(_ bus: PrivateBus, desktopFile: String = DesktopProbe.desktopFile) async throws {
        self.desktopFile = desktopFile
        monitor = try await BusMonitor(bus, matching: "type='signal',interface='com.canonical.Unity.LauncherEntry'")
    }

    /// What docks have shown so far on the icon: progress, count and mark, such as `25% x2 !`, or `nothing`.
    var updates: [String] {
        monitor.messages.compactMap { message in
            guard
                message.arguments.first as? String == "application://\(desktopFile)",
                let values = message.arguments.last as? [String: [String: Any]]
            else { return nil }
            func value<Value>(_ name: String) -> Value? { values[name]?["data"] as? Value }
            var texts: [String] = []
            if value("progress-visible") == true { texts.append("\(Int(100 * (value("progress") ?? -1.0)))%") }
            if value("count-visible") == true { texts.append("x\(value("count") ?? -1)") }
            if value("urgent") == true { texts.append("!") }
            return texts.isEmpty ? "nothing" : texts.joined(separator: " ")
        }
    }

    /// What docks show now; empty before the first update.
    var last: String { updates.last ?? "" }

    /// Waits until docks show that.
    func ends(with text: String) async -> Bool { await eventually { last == text } }
}
