public import BackendConfiguration
public import IndicatorCore
public import Foundation

/// Reports the outcome of long work with a notification of the terminal.
///
/// Works over SSH, where there is no session bus. It writes to the controlling terminal, and only if that is known to
/// show notifications: kitty and foot (both only while their window is not focused), Ghostty, WezTerm or iTerm2.
/// Other terminals may print unknown sequences, so in doubt, and inside tmux and GNU screen, nothing is written.
public final class TerminalNotificationBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: TerminalNotificationSettings
    private let path: String
    private let environment: [String: String]

    /// Makes a backend. Opens nothing.
    ///
    /// - Parameters:
    ///   - name: the name that the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: which activities get a notification.
    ///   - path: the path of the terminal; by default, the controlling one.
    ///   - environment: the environment variables, by which the terminal is recognized.
    public init(
        name: String = "terminalNotification",
        applicationName: String,
        settings: TerminalNotificationSettings = TerminalNotificationSettings(),
        path: String = "/dev/tty",
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.path = path
        self.environment = environment
    }

    /// Includes changes while the indicator is hidden: activities may end then.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: true) }

    /// The least time between two notifications.
    private static let interval = Duration.seconds(5)

    /// Writes a notification when activities have ended that the settings select: one for all that end within five
    /// seconds of the last one, when these are over. They remain at the end.
    ///
    /// - Throws: if there is no terminal, if it is not known to show notifications, or if it was closed.
    public func show(_ updates: IndicatorUpdates) async throws {
        let notify = try open()
        var (waiting, next): (OutcomeNotice?, SuspendingClock.Instant) = (nil, .now)
        while let event = await updates.next(until: waiting == nil ? nil : next) {
            if case .update(let update) = event, let notice = notice(of: update) {
                if waiting?.add(notice) == nil { waiting = notice }
            }
            guard next <= .now, let notice = waiting.take() else { continue }
            try notify(notice)
            next = .now + Self.interval
        }
        if let waiting { try notify(waiting) }
    }

    private func notice(of update: IndicatorUpdate) -> OutcomeNotice? {
        let wanted = update.finished.filter { settings.whenDone.covers($0, after: settings.after) }
        return OutcomeNotice(wanted, omitted: update.omittedFinished, applicationName: applicationName)
    }

    /// Opens the terminal; writes nothing.
    ///
    /// - Returns: a function that writes one notification.
    package func open() throws -> @Sendable (OutcomeNotice) throws -> Void {
        let terminal = try openTerminal()
        let style = KnownTerminal.recognize(by: environment).notification
        return { notice in
            terminal.change { $0.title.send(style?.sequence(for: notice) ?? "") }
            try terminal.settleOrContinue()
        }
    }

    /// Whether the terminal shows no notification while its window has the focus: kitty, because the sequence says so,
    /// and foot by default (foot.ini(5): `notify-focus-inhibit`, later `inhibit-when-focused`).
    package static func isHiddenWhileFocused(in environment: [String: String]) -> Bool {
        let known = KnownTerminal.recognize(by: environment)
        return known.notification == .kitty || known.name == "foot"
    }

    fileprivate func openTerminal() throws(TerminalError) -> SharedTerminal {
        let terminal = try TerminalRegistry.open(path: path, environment: environment, forSequences: true)
        let known = KnownTerminal.recognize(by: environment)
        if known.notification == nil { throw .showsNoNotifications(terminal: known.name) }
        return terminal
    }
}

/// Which activities get a notification of a ``TerminalNotificationBackend``.
public struct TerminalNotificationSettings: Sendable, Hashable {
    /// Which outcomes get a notification. Default: `always`.
    public var whenDone: WhenDone
    /// How long an activity must have lasted. Default: 10 seconds.
    public var after: Duration

    /// Makes settings.
    public init(whenDone: WhenDone = .always, after: Duration = .seconds(10)) {
        self.whenDone = whenDone
        self.after = after
    }
}

extension TerminalNotificationSettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(whenDone: &whenDone)
        values.read(after: &after)
    }
}

extension BackendKind {
    /// A notification by the terminal when work is done.
    public static var terminalNotification: BackendKind {
        BackendKind(
            name: "terminalNotification",
            summary: "a notification by the terminal when work is done, also over SSH",
            settings: TerminalNotificationSettings.init(_:),
            make: { context, settings in
                TerminalNotificationBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings
                )
            },
            isApplicable: { _, _ in
                !TerminalError.isAbsent(TerminalNotificationBackend(applicationName: "").openTerminal)
            },
            availability: { _, _ in
                try TerminalNotificationBackend(applicationName: "").openTerminal().device.name
            }
        )
    }
}
