import BackendConfiguration
import IndicatorCore
import Foundation

/// The indicator on an icon of the dock, on one connection to a session bus.
///
/// All calls are asynchronous. While it is hidden, it sends nothing and has no deadline.
final class LauncherEntrySession: BusSession {
    /// How long a failure is marked.
    static let failureTime = Duration.seconds(60)

    private static let bus = "org.freedesktop.DBus"
    /// The name that each dock owns, so that apps know that there is one.
    private static let dock = "com.canonical.Unity"

    private let desktopFile: String
    /// What docks know; `nil` if one of them knows nothing.
    private var sent: [BusProperty]? = LauncherEntrySession.nothing
    /// When a dock that has started receives signals.
    private var isHeardAt: SuspendingClock.Instant?
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
            let sent, sent != Self.nothing
        else { return }
        (self.sent, isHeardAt) = (nil, .now + .milliseconds(250))
    }

    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? {
        let snapshot = update.snapshot
        let failed = update.finished.contains { WhenDone.failures.covers($0, after: snapshot.startDelay) }
        if failed { failedUntil = .now + Self.failureTime }
        if let until = failedUntil, until <= .now { failedUntil = nil }
        let entry = entry(for: snapshot)
        if entry != sent {
            if sent == nil, let isHeardAt, isHeardAt > .now { return isHeardAt }
            send(entry, on: bus)
        }
        return failedUntil
    }

    func end(on bus: BusConnection) {
        if sent != Self.nothing { send(Self.nothing, on: bus) }
    }

    private static let nothing = entry(progress: nil, count: 0, isUrgent: false)

    private func entry(for snapshot: IndicatorSnapshot) -> [BusProperty] {
        let hasFailed = failedUntil != nil
        guard snapshot.isVisible, !DesktopJobSession.shows(desktopFile) else {
            return Self.entry(progress: nil, count: 0, isUrgent: hasFailed)
        }
        let isUrgent = hasFailed || snapshot.attention != nil
        return Self.entry(progress: snapshot.progress, count: snapshot.activityCount, isUrgent: isUrgent)
    }

    /// What a dock shows: always all, because each instance replaces what another one has sent.
    private static func entry(progress: Double?, count: Int, isUrgent: Bool) -> [BusProperty] {
        [
            BusProperty("progress", .double(progress ?? 0)),
            BusProperty("progress-visible", .boolean(progress != nil)),
            BusProperty("count", .int64(count > 1 ? Int64(count) : 0)),
            BusProperty("count-visible", .boolean(count > 1)),
            BusProperty("urgent", .boolean(isUrgent)),
        ]
    }

    private func send(_ entry: [BusProperty], on bus: BusConnection) {
        sent = entry
        bus.send(
            .signal(
                path: "/",
                interface: "com.canonical.Unity.LauncherEntry",
                member: "Update",
                [.string("application://\(desktopFile)"), .properties(entry)]
            )
        )
    }
}
