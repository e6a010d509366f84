import BackendConfiguration
import IndicatorCore
import Foundation

/// Why the terminal cannot be used.
package enum TerminalError: BackendProblem, Sendable, Hashable {
    /// The process has no controlling terminal.
    case noControllingTerminal
    /// The path is a file, a pipe or a device, not a terminal.
    case notATerminal(path: String)
    /// The terminal does not support control sequences according to `TERM`, or `TERM` is not set.
    case dumbTerminal(type: String?)
    /// The terminal is not known to have a title, or would lose its own.
    case keepsTitle(terminal: String, hasTitle: Bool)
    /// The terminal is not known to show notifications.
    case showsNoNotifications(terminal: String)
    /// The terminal could not be opened.
    case cannotOpen(path: String, errorNumber: Int32)
    /// The terminal was closed, or the connection to it was lost.
    case hungUp

    /// Whether opening a terminal fails because there is none that could show anything, as under cron.
    static func isAbsent(_ open: () throws(TerminalError) -> SharedTerminal) -> Bool {
        do throws(TerminalError) { _ = try open() } catch {
            return switch error {
            case .noControllingTerminal, .dumbTerminal, .keepsTitle, .showsNoNotifications: true
            case .notATerminal, .cannotOpen, .hungUp: false
            }
        }
        return false
    }

    /// The problem.
    package var reason: String {
        switch self {
        case .noControllingTerminal: "the process has no controlling terminal"
        case .notATerminal(let path): "\(path) is not a terminal"
        case .dumbTerminal(let type?) where !type.isEmpty:
            "the terminal does not support control sequences (TERM is '\(SafeText.singleLine(type, limit: 40))')"
        case .dumbTerminal: "the type of the terminal is unknown (TERM is not set)"
        case .keepsTitle(let terminal, true): "the title of this terminal (\(terminal)) cannot be restored"
        case .keepsTitle(let terminal, false): "this terminal (\(terminal)) is not known to have a title"
        case .showsNoNotifications(let terminal): "this terminal (\(terminal)) is not known to show notifications"
        case .cannotOpen(let path, let number): "cannot open \(path): \(String(cString: strerror(number)))"
        case .hungUp: "the terminal was closed"
        }
    }

    /// What to do, if anything helps.
    package var help: String? {
        switch self {
        case .noControllingTerminal:
            "start the app in a terminal; a service, a cron job or a container without 'docker run -t' has none"
        case .dumbTerminal(nil), .dumbTerminal(""): "set TERM to the type of the terminal, such as xterm-256color"
        case .keepsTitle(_, hasTitle: true): "set 'title: on' to set it anyway"
        case .cannotOpen: "check the permissions of the terminal's device"
        case .notATerminal, .dumbTerminal, .keepsTitle, .showsNoNotifications, .hungUp: nil
        }
    }
}
