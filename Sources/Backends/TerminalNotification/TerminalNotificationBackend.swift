import Foundation
public import IndicatorCore
import IndicatorThreads

/// Says how work ended that has lasted, by a notification of the terminal's own.
///
/// It works over SSH, where there is no session bus. It writes to the controlling terminal, and only to terminals that
/// are known to show notifications: kitty (which shows them while its window is not focused), Ghostty, foot, WezTerm,
/// urxvt and iTerm2. Others may print what they do not know, so in doubt, and inside tmux and GNU screen, nothing is
/// written.
public final class TerminalNotificationBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: TerminalNotificationSettings
    private let path: String
    private let environment: [String: String]
    private let state = Locked<(terminal: SharedTerminal, style: TerminalNotificationStyle)?>(nil)

    /// Makes a backend. Nothing is opened yet.
    ///
    /// - Parameters:
    ///   - name: the name that the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: of which activities it says how they ended.
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

    /// Makes a backend for another terminal than the controlling one, or in another environment.
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

    /// Hidden changes too: an activity may end while the indicator is hidden.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: true) }

    /// Opens the terminal; writes nothing.
    ///
    /// - Throws: ``TerminalTitleError`` when there is no terminal, or ``TerminalNotificationError`` when it is not
    ///   known to show notifications.
    public func start() async throws { try open() }

    /// Writes a notification, if an activity has ended of which one is wanted.
    public func update(_ snapshot: IndicatorSnapshot) async throws { try notify(of: snapshot.finished) }

    /// Releases the terminal. Notifications stay.
    public func stop() async { state.withLock { $0 = nil } }

    /// Opens the terminal, as ``start()`` does.
    package func open() throws {
        let opened = try Self.openTerminal(path: path, environment: environment)
        state.withLock { $0 = opened }
    }

    /// Writes one notification of those of these activities of which one is wanted.
    package func notify(of finished: [FinishedActivity]) throws {
        let wanted = finished.filter { settings.whenDone.covers($0, after: settings.after) }
        guard let (terminal, style) = state.withLock(\.self),
            let notice = OutcomeNotice(wanted, applicationName: applicationName)
        else { return }
        terminal.change { $0.send(style.sequence(for: notice)) }
        try terminal.settle(within: TerminalTitleBackend.stopLimit)
    }

    fileprivate static func openTerminal(
        path: String,
        environment: [String: String]
    ) throws -> (terminal: SharedTerminal, style: TerminalNotificationStyle) {
        let terminal = try TerminalTitleBackend.openTerminal(path: path, environment: environment)
        let known = KnownTerminal.recognize(by: environment)
        guard let style = known.notification else { throw TerminalNotificationError.notKnown(terminal: known.name) }
        return (terminal, style)
    }
}

/// How a terminal is asked for a notification. Texts must be free of control characters.
enum TerminalNotificationStyle: Sendable, Hashable {
    /// OSC 99, https://sw.kovidgoyal.net/kitty/desktop-notifications
    case kitty
    /// OSC 777, of urxvt.
    case titleAndBody
    /// OSC 9, of iTerm2.
    case text

    func sequence(for notice: OutcomeNotice) -> String {
        switch self {
        case .kitty:
            // Two parts of one notification, which a window that has the focus does not show.
            let common = "i=indicator:o=unfocused"
            return "\u{1B}]99;\(common):d=0;\(notice.title)\u{1B}\\\u{1B}]99;\(common):p=body;\(notice.body)\u{1B}\\"
        case .titleAndBody:
            // A semicolon would end the title.
            return "\u{1B}]777;notify;\(notice.title.replacing(";", with: ","));\(notice.body)\u{1B}\\"
        case .text:
            // A number and a semicolon would be another command.
            let text = "\(notice.title): \(notice.body)".replacing(";", with: ",")
            return "\u{1B}]9;\(text)\u{1B}\\"
        }
    }
}

/// Of which activities a ``TerminalNotificationBackend`` says how they ended.
public struct TerminalNotificationSettings: Sendable, Hashable {
    /// Of which activities. Default: `always`.
    public var whenDone: WhenDone
    /// How long an activity must have lasted. Default: 10 seconds.
    public var after: Duration

    /// Makes settings, by default the default ones.
    public init(whenDone: WhenDone = .always, after: Duration = .seconds(10)) {
        self.whenDone = whenDone
        self.after = after
    }
}

/// Why the terminal shows no notifications.
public enum TerminalNotificationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The terminal is not known to show notifications.
    case notKnown(terminal: String)

    /// What was wrong.
    public var description: String {
        switch self {
        case .notKnown(let terminal): "this terminal (\(terminal)) is not known to show notifications"
        }
    }
}

extension BackendKind {
    /// A notification of the terminal's own, when work is done.
    public static var terminalNotification: BackendKind {
        let path = TerminalDevice.controllingTerminal
        let environment = ProcessInfo.processInfo.environment
        let defaults = TerminalNotificationSettings()
        return BackendKind(
            name: "terminalNotification",
            summary: "a notification of the terminal's own when work is done, also over SSH",
            settings: [.whenDone(default: defaults.whenDone), .after(default: defaults.after)],
            make: { context, settings in
                TerminalNotificationBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: TerminalNotificationSettings(
                        whenDone: settings.string("whenDone").flatMap(WhenDone.init(rawValue:)) ?? defaults.whenDone,
                        after: settings.duration("after") ?? defaults.after
                    )
                )
            },
            isApplicable: { _, _ in
                (try? TerminalNotificationBackend.openTerminal(path: path, environment: environment)) != nil
            },
            availability: { _, _ in
                do {
                    let opened = try TerminalNotificationBackend.openTerminal(path: path, environment: environment)
                    return .available(detail: opened.terminal.device.name)
                } catch let error as TerminalTitleError {
                    return .unavailable(reason: error.reason, help: error.help)
                } catch {
                    return .unavailable(reason: "\(error)", help: nil)
                }
            }
        )
    }
}
