public import BackendConfiguration
public import DisplayText
import Foundation
public import IndicatorCore
import IndicatorThreads

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
    public convenience init(
        name: String = "terminalNotification",
        applicationName: String,
        settings: TerminalNotificationSettings = TerminalNotificationSettings()
    ) {
        self.init(
            name: name,
            applicationName: applicationName,
            settings: settings,
            path: TerminalDevice.controllingTerminal,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// Makes a backend with a terminal other than the controlling one, or another environment.
    package init(
        name: String = "terminalNotification",
        applicationName: String,
        settings: TerminalNotificationSettings = TerminalNotificationSettings(),
        path: String,
        environment: [String: String]
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.path = path
        self.environment = environment
    }

    /// Includes changes while the indicator is hidden: activities may end then.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: true) }

    /// Writes a notification when activities have ended that the settings select. They remain at the end.
    ///
    /// - Throws: if there is no terminal, if it is not known to show notifications, or if it was closed.
    public func show(_ updates: IndicatorUpdates) async throws {
        let notify = try open()
        for await update in updates { try notify(update.finished) }
    }

    /// Opens the terminal; writes nothing.
    ///
    /// - Returns: a function that writes one notification for those of the activities that the settings select.
    package func open() throws -> (_ finished: [FinishedActivity]) throws -> Void {
        let (terminal, style) = try openTerminal()
        return { [settings, applicationName] finished in
            let wanted = finished.filter { settings.whenDone.covers($0, after: settings.after) }
            guard let notice = OutcomeNotice(wanted, applicationName: applicationName) else { return }
            terminal.change { $0.send(style.sequence(for: notice)) }
            try terminal.settle(within: SharedTerminal.stopLimit)
        }
    }

    /// Whether the terminal shows no notification while its window has the focus: kitty, because the sequence says so,
    /// and foot by default (foot.ini(5): `notify-focus-inhibit`, later `inhibit-when-focused`).
    package static func isHiddenWhileFocused(in environment: [String: String]) -> Bool {
        let known = KnownTerminal.recognize(by: environment)
        return known.notification == .kitty || known.name == "foot"
    }

    fileprivate func openTerminal() throws -> (terminal: SharedTerminal, style: TerminalNotificationStyle) {
        let terminal = try TerminalRegistry.open(path: path, environment: environment, forSequences: true)
        let known = KnownTerminal.recognize(by: environment)
        guard let style = known.notification else { throw TerminalError.showsNoNotifications(terminal: known.name) }
        return (terminal, style)
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
                !TerminalError.isAbsent { try TerminalNotificationBackend(applicationName: "").openTerminal().terminal }
            },
            availability: { _, _ in
                try TerminalNotificationBackend(applicationName: "").openTerminal().terminal.device.name
            }
        )
    }
}
