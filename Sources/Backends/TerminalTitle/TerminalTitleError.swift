import Foundation

/// Why the terminal title cannot be shown.
public enum TerminalTitleError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The process has no controlling terminal.
    case noControllingTerminal
    /// What was opened is a file, a pipe or a device, and not a terminal.
    case notATerminal(path: String)
    /// The terminal does not know control sequences: `TERM` says so, or says nothing.
    case dumbTerminal(type: String?)
    /// The terminal could not be opened.
    case cannotOpen(path: String, errorNumber: Int32)
    /// The terminal was closed, or the connection to it lost.
    case hungUp
    /// The terminal could not be written to.
    case cannotWrite(errorNumber: Int32)

    /// What was wrong.
    public var reason: String {
        switch self {
        case .noControllingTerminal: "the process has no controlling terminal"
        case .notATerminal(let path): "\(path) is not a terminal"
        case .dumbTerminal(let type?) where !type.isEmpty:
            "the terminal knows no control sequences (TERM is '\(DisplayText.singleLine(type, limit: 40))')"
        case .dumbTerminal: "the type of the terminal is not known (TERM is not set)"
        case .cannotOpen(let path, let number): "cannot open \(path): \(String(cString: strerror(number)))"
        case .hungUp: "the terminal was closed"
        case .cannotWrite(let number): "cannot write to the terminal: \(String(cString: strerror(number)))"
        }
    }

    /// What to do about it; `nil` when nothing helps.
    public var help: String? {
        switch self {
        case .noControllingTerminal:
            "start the app in a terminal; a service, a cron job or a container without 'docker run -t' has none"
        case .notATerminal: "name a terminal, such as /dev/tty"
        case .dumbTerminal: "set TERM to the type of the terminal, such as xterm-256color"
        case .cannotOpen: "check the permissions of the terminal's device"
        case .hungUp, .cannotWrite: nil
        }
    }

    /// What was wrong, and what to do.
    public var description: String {
        help.map { "\(reason); \($0)" } ?? reason
    }
}
