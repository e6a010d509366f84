import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
import IndicatorThreads

/// The indicator on an icon of the dock, on one connection to a session bus.
///
/// All calls are asynchronous. While it is hidden, it sends nothing, has no deadline, and owns no name.
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

    /// Its place in the queue of the instances of the app.
    private enum Turn {
        /// Nothing to show.
        case none
        /// It has asked for the name.
        case asked
        /// Another instance is shown.
        case waiting
        /// It is shown.
        case shown
    }

    /// Four times a second: Plank delays faster signals, and each show and hide needs two calls more.
    static let updateInterval = Duration.milliseconds(250)
    /// How long a failure is marked.
    static let failureTime = Duration.seconds(60)

    private static let prefix = "org.activityindicator.LauncherEntry1."
    private static let bus = "org.freedesktop.DBus"
    /// The name that each dock owns, so that apps know that there is one.
    private static let dock = "com.canonical.Unity"

    private let desktopFile: String
    private let name: String
    private let latest: () -> IndicatorSnapshot
    private var turn = Turn.none
    /// Whether it has asked to come first.
    private var hasInsisted = false
    /// What was sent last; `nil` if another instance may have sent something since.
    private var sent: Entry?
    /// When that was, or a dock has started: the next signal follows ``updateInterval`` later.
    private var sentAt: SuspendingClock.Instant?
    /// Whether a dock has started that has received nothing.
    private var hasNewDock = false
    private var failedUntil: SuspendingClock.Instant?

    /// - Parameters:
    ///   - desktopFile: the checked identifier of the desktop file.
    ///   - latest: the latest snapshot.
    init(desktopFile: String, latest: @escaping () -> IndicatorSnapshot) {
        self.desktopFile = desktopFile
        self.latest = latest
        name = Self.prefix + IndicatorBusName.element(for: desktopFile)
    }

    func begin(on bus: BusShare) async throws -> String {
        // A bus that forbids this only keeps a new dock from showing what was shown before.
        try? await bus.addMatch("type='signal',sender='\(Self.bus)',member='NameOwnerChanged',arg0='\(Self.dock)'")
        return "application://\(desktopFile)"
    }

    func receive(_ signal: BusMessage) {
        guard signal.sender == Self.bus else { return }
        let words = signal.arguments.map(\.text)
        switch (signal.member, turn) {
        case ("NameAcquired", .waiting) where words == [name]: turn = .shown
        case ("NameLost", .shown) where words == [name]: (turn, sent) = (.waiting, nil)
        case ("NameOwnerChanged", _) where words.count == 3 && words[0] == Self.dock && words[2] != "":
            // A dock that has just started knows nothing. A moment later it also receives signals. Further docks do not
            // postpone that.
            if !hasNewDock { (hasNewDock, sentAt) = (true, .now) }
        default: return
        }
    }

    func update(on bus: BusShare) throws -> SuspendingClock.Instant? {
        let snapshot = latest()
        let failed = snapshot.finished.contains { WhenDone.failures.covers($0, after: snapshot.startDelay) }
        if failed { failedUntil = .now + Self.failureTime }
        if let until = failedUntil, until <= .now { failedUntil = nil }
        let entry = entry(for: snapshot)
        if entry != .nothing, turn == .none || (entry.isUrgent && turn == .waiting && !hasInsisted) {
            ask(insisting: entry.isUrgent, on: bus)
        }
        if !entry.isUrgent { hasInsisted = false }
        if turn == .shown, entry != sent ?? .nothing || (hasNewDock && entry != .nothing) {
            // Also the hidden one: a dock must not be flooded by work that comes and goes.
            if let due = sentAt.map({ $0 + Self.updateInterval }), due > .now { return due }
            send(entry, on: bus)
        }
        if entry == .nothing, turn == .shown || turn == .waiting { leave(on: bus) }
        return failedUntil
    }

    func end(on bus: BusShare) {
        if turn == .shown, sent ?? .nothing != .nothing { send(.nothing, on: bus) }
        if turn != .none { leave(on: bus) }
    }

    private func entry(for snapshot: IndicatorSnapshot) -> Entry {
        var entry = Entry(isUrgent: failedUntil != nil)
        guard snapshot.isVisible, !DesktopJobSession.shows(desktopFile) else { return entry }
        entry.progress = snapshot.progress
        if snapshot.activityCount > 1 { entry.count = snapshot.activityCount }
        if snapshot.attention != nil { entry.isUrgent = true }
        return entry
    }

    private func send(_ entry: Entry, on bus: BusShare) {
        (sent, sentAt, hasNewDock) = (entry, .now, false)
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

    // MARK: - The queue of instances

    /// Asks for the name. The bus lets instances wait for it, and gives it to the next one when one ends.
    private func ask(insisting: Bool, on bus: BusShare) {
        turn = .asked
        hasInsisted = insisting
        // DBUS_NAME_FLAG_ALLOW_REPLACEMENT, and DBUS_NAME_FLAG_REPLACE_EXISTING.
        let flags: UInt32 = insisting ? 3 : 1
        let request = BusLoop.busCall("RequestName", [.string(name), .uint32(flags)])
        bus.call(request, within: nil) { [unowned self] result in
            // 2: in the queue. A bus that denies the name has no queue.
            let isQueued = (try? result.get().arguments) == [.uint32(2)]
            turn = isQueued ? .waiting : .shown
        }
    }

    private func leave(on bus: BusShare) {
        (turn, sent, hasInsisted) = (.none, nil, false)
        bus.send(BusLoop.busCall("ReleaseName", [.string(name)], expectsReply: false))
    }
}
