import TestSupport

/// Records what docks receive on a bus.
final class LauncherMonitor: Sendable {
    /// What a dock shows on an icon.
    struct Update: Equatable {
        var progress: Double?
        var count: Int?
        var isUrgent = false

        static let nothing = Update()
    }

    private let monitor: BusMonitor
    private let desktopFile: String

    /// Starts to record the signals for one desktop file; returns when it does.
    init(_ bus: PrivateBus, desktopFile: String = DesktopProbe.desktopFile) async throws {
        self.desktopFile = desktopFile
        monitor = try await BusMonitor(bus, matching: "type='signal',interface='com.canonical.Unity.LauncherEntry'")
    }

    /// The updates so far.
    var updates: [Update] {
        monitor.messages.compactMap { message in
            guard
                message.arguments.first as? String == "application://\(desktopFile)",
                let values = message.arguments.last as? [String: [String: Any]]
            else { return nil }
            func value<Value>(_ name: String) -> Value? { values[name]?["data"] as? Value }
            return Update(
                progress: value("progress-visible") == true ? value("progress") : nil,
                count: value("count-visible") == true ? value("count") : nil,
                isUrgent: value("urgent") ?? false
            )
        }
    }

    /// What docks show now, such as `25% x2 !`; empty before the first update.
    var last: String {
        guard let last = updates.last else { return "" }
        let texts = [last.progress.map { "\(Int($0 * 100))%" }, last.count.map { "x\($0)" }, last.isUrgent ? "!" : nil]
        return last == .nothing ? "nothing" : texts.compactMap(\.self).joined(separator: " ")
    }

    /// Waits until docks show that.
    func ends(with text: String) async -> Bool { await eventually { last == text } }
}
