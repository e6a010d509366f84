public import BackendConfiguration
import IndicatorCore
import Foundation
public import Logging

/// The settings of a ``SleepInhibitorBackend``.
public struct SleepInhibitorSettings: Sendable, Hashable {
    /// What the machine must not do.
    public enum Action: String, Sendable, Hashable, CaseIterable {
        /// Suspend, or turn off the screen, because the user is away.
        case idle
        /// Suspend or hibernate at all, also on request: since systemd 257, of any user; earlier, login1 ignores the
        /// locks of the user who asks. A user without privileges may not be allowed to ask for the lock.
        case sleep
        /// Power off or restart.
        case shutdown
    }

    /// What the machine must not do. Default: `idle`.
    public var actions: Set<Action>

    /// Makes settings.
    public init(actions: Set<Action> = [.idle]) {
        self.actions = actions
    }
}

/// Keeps the machine awake while the indicator is shown, on desktops that respect the locks of login1: see the article
/// "Desktops".
///
/// Holds an inhibitor lock of login1 (systemd-logind or elogind: `Inhibit` of `org.freedesktop.login1.Manager`), which
/// `systemd-inhibit --list` shows with the name of the app and the label. The lock is a descriptor, so it ends with the
/// process, however that ends.
///
/// Without login1, the backend is unavailable until it appears. If login1 refuses the lock, that is logged, and it is
/// asked again when the indicator is shown the next time.
public final class SleepInhibitorBackend: BusBackend, @unchecked Sendable {
    // `@unchecked`: as its superclass.

    /// Makes a backend. Does not connect.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: what the machine must not do.
    ///   - logger: where it is logged that login1 refuses.
    public init(
        name: String = "sleepInhibitor",
        applicationName: String,
        settings: SleepInhibitorSettings = SleepInhibitorSettings(),
        logger: Logger = Logger(label: "IndicatorBackends.SleepInhibitor")
    ) {
        super.init(name: name, on: .system) { _ in
            SleepInhibitorSession(applicationName: applicationName, settings: settings, logger: logger)
        }
    }
}

/// One inhibitor lock, on one connection to the system bus.
///
/// There is at most one call at a time, and at most one for each time that the indicator is shown.
final class SleepInhibitorSession: BusSession {
    private static let login = "org.freedesktop.login1"

    private let applicationName: String
    private let settings: SleepInhibitorSettings
    private let logger: Logger
    private let service = BusService(SleepInhibitorSession.login)
    private var lock: FileHandle?
    private var isAsking = false
    private var hasEnded = false
    /// Whether it is logged that login1 refuses.
    private var hasReportedRefusal = false
    /// The period for which a lock was asked for.
    private var askedFor: Int?

    init(applicationName: String, settings: SleepInhibitorSettings, logger: Logger) {
        self.applicationName = SafeText.singleLine(applicationName)
        (self.settings, self.logger) = (settings, logger)
    }

    func begin(on bus: BusConnection) async throws -> String {
        try await bus.find(service)
        return "\(Self.login): \(actions)"
    }

    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? {
        let snapshot = update.snapshot
        guard snapshot.isVisible else {
            lock = nil
            return nil
        }
        if lock == nil, !isAsking, askedFor != snapshot.period { ask(snapshot, on: bus) }
        return nil
    }

    func end(on bus: BusConnection) {
        hasEnded = true
        lock = nil
    }

    private var actions: String { settings.actions.map(\.rawValue).sorted().joined(separator: ":") }

    private func ask(_ snapshot: IndicatorSnapshot, on bus: BusConnection) {
        isAsking = true
        askedFor = snapshot.period
        let call = BusMessage.call(
            Self.login,
            path: "/org/freedesktop/login1",
            interface: "org.freedesktop.login1.Manager",
            member: "Inhibit",
            [actions, applicationName, snapshot.label ?? "in progress", "block"].map { .string($0) }
        )
        // No time limit: the answer of a slow service is a lock, which must be released.
        bus.call(call, within: nil) { [weak self] result in
            guard let self else { return }
            isAsking = false
            do {
                // Released by `show` if the indicator was hidden.
                let descriptor = try result.get().descriptor
                if !hasEnded { lock = descriptor }
                if descriptor == nil { report("the answer has no descriptor") } else { hasReportedRefusal = false }
            } catch {
                report("\(error)")
            }
        }
    }

    private func report(_ problem: String) {
        guard !exchange(&hasReportedRefusal, with: true) else { return }
        logger.warning("login1 gave no lock against '\(actions)': \(problem)")
    }
}

extension BackendKind {
    /// Keeps the machine awake.
    public static var sleepInhibitor: BackendKind {
        BackendKind(
            name: "sleepInhibitor",
            summary: "keeps the machine awake, where the desktop respects login1's locks",
            settings: SleepInhibitorSettings.init(_:),
            bus: { _ in .system },
            make: {
                let (name, app) = ($0.name, $0.applicationName)
                return SleepInhibitorBackend(name: name, applicationName: app, settings: $1, logger: $0.logger)
            }
        )
    }
}

extension SleepInhibitorSettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(
            "what",
            &actions,
            .choices(),
            summary: "what the machine must not do while the indicator is shown",
            validate: { actions in
                let names = Action.allCases.map(\.rawValue).joined(separator: ", ")
                return actions.isEmpty ? "at least one of \(names)" : nil
            }
        )
    }
}
