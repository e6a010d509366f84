import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
import IndicatorThreads

/// The indicator on an icon of the dock, on one connection to a session bus.
///
/// All calls are asynchronous. While it is hidden, it sends nothing and has no deadline.
final class LauncherEntrySession: BusSession {
    /// What a dock shows.
    struct Entry: Equatable {
        /// The bar; `nil` for none.
        var progress: Double?
        /// The badge; `nil` for none.
        var count: Int?
        var isUrgent = false

        static let nothing = Self()
    }

    /// Four times a second: Plank delays faster signals.
    static let updateInterval = Duration.milliseconds(250)
    /// How long a failure is marked.
    static let failureTime = Duration.seconds(60)

    private static let bus = "org.freedesktop.DBus"
    /// The name that each dock owns, so that apps know that there is one.
    private static let dock = "com.canonical.Unity"

    private let desktopFile: String
    /// What docks know; `nil` if one of them knows nothing.
    private var sent: Entry? = .nothing
    private var sentAt: SuspendingClock.Instant?
    private var failedUntil: SuspendingClock.Instant?

    /// - Parameter desktopFile: the checked identifier of the desktop file.
    init(desktopFile: String) { self.desktopFile = desktopFile }

    func begin(on bus: BusConnection) async throws -> String {
        // A bus that forbids this only keeps a new dock from showing what was shown before.
        try? await bus.addMatch("type='signal',sender='\(Self.bus)',member='NameOwnerChanged',arg0='\(Self.dock)'")
        return "application://\(desktopFile)"
    }

    /// A dock that starts knows nothing. It receives signals a moment later; further docks do not postpone that.
    func receive(_ signal: BusMessage) {
        guard signal.sender == Self.bus, signal.member == "NameOwnerChanged", signal.arguments.last?.text != "",
            let sent, sent != .nothing
        else { return }
        (self.sent, sentAt) = (nil, .now)
    }

    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? {
        let snapshot = update.snapshot
        let failed = update.finished.contains { WhenDone.failures.covers($0, after: snapshot.startDelay) }
        if failed { failedUntil = .now + Self.failureTime }
        if let until = failedUntil, until <= .now { failedUntil = nil }
        let entry = entry(for: snapshot)
        if entry != sent {
            // Also the hidden one: a dock must not be flooded by work that comes and goes.
            if let due = sentAt.map({ $0 + Self.updateInterval }), due > .now { return due }
            send(entry, on: bus)
        }
        return failedUntil
    }

    func end(on bus: BusConnection) {
        if sent != .nothing { send(.nothing, on: bus) }
    }

    private func entry(for snapshot: IndicatorSnapshot) -> Entry {
        var entry = Entry(isUrgent: failedUntil != nil)
        guard snapshot.isVisible, !DesktopJobSession.shows(desktopFile) else { return entry }
        entry.progress = snapshot.progress
        if snapshot.activityCount > 1 { entry.count = snapshot.activityCount }
        if snapshot.attention != nil { entry.isUrgent = true }
        return entry
    }

    private func send(_ entry: Entry, on bus: BusConnection) {
        (sent, sentAt) = (entry, .now)
        bus.send(
            .signal(
                path: "/",
                interface: "com.canonical.Unity.LauncherEntry",
                member: "Update",
                [
                    .string("application://\(desktopFile)"),
                    // Always all: each instance replaces what another one has sent.
                    .properties([
                        BusProperty("progress", .double(entry.progress ?? 0)),
                        BusProperty("progress-visible", .boolean(entry.progress != nil)),
                        BusProperty("count", .int64(Int64(entry.count ?? 0))),
                        BusProperty("count-visible", .boolean(entry.count != nil)),
                        BusProperty("urgent", .boolean(entry.isUrgent)),
                    ]),
                ]
            )
        )
    }
}
