import Foundation
import IndicatorCore
import IndicatorThreads

/// A terminal, opened for non-blocking writes.
///
/// It has its own open file description: making that non-blocking does not affect the app, whose standard output often
/// shares one with the shell.
final class TerminalDevice: Sendable {
    /// The path of the process's controlling terminal.
    static let controllingTerminal = "/dev/tty"

    /// The time limit for updates of terminal backends: none, so that a terminal that the user has stopped (Ctrl-S)
    /// does not count as stalled. A warning would be written to the same terminal.
    static let updateTimeLimit = TimeSource.longest

    /// Identifies the terminal, independent of the path that it was opened by.
    let number: dev_t

    private let descriptor: CInt

    /// Opens a terminal; throws if the path is something else.
    init(path: String) throws(TerminalTitleError) {
        let descriptor = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            let number = errno
            // ENXIO means that the process has no controlling terminal (tty(4)); a container may lack the device.
            let isAbsent = number == ENXIO || number == ENOENT || number == EIO
            throw path == Self.controllingTerminal && isAbsent
                ? .noControllingTerminal : .cannotOpen(path: path, errorNumber: number)
        }
        guard isatty(descriptor) == 1 else {
            close(descriptor)
            throw .notATerminal(path: path)
        }
        self.descriptor = descriptor
        number = Self.number(of: descriptor)
    }

    deinit {
        close(descriptor)
    }

    /// The path of the terminal itself, such as `/dev/pts/3`; `/dev/tty` if its name is unknown.
    var name: String {
        let major = (number >> 8) & 0xFFF
        let minor = (number & 0xFF) | ((number >> 12) & 0xFFF00)
        // Documentation/admin-guide/devices.txt of the kernel.
        return switch major {
        case 136...143: "/dev/pts/\((major - 136) << 8 | minor)"
        case 4 where minor < 64: "/dev/tty\(minor)"
        case 4: "/dev/ttyS\(minor - 64)"
        default: Self.controllingTerminal
        }
    }

    /// The size of a window in columns and rows.
    struct Size: Sendable, Hashable {
        var columns = 80
        var rows = 24
    }

    /// The current size of its window; 80 by 24 if unknown.
    var size: Size {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return Size() }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Its modes; `nil` if the terminal was closed.
    var modes: TerminalModes? { TerminalModes(of: descriptor) }

    /// Whether the process is in the terminal's foreground, or the terminal is not its controlling terminal.
    var isInForeground: Bool {
        let group = tcgetpgrp(descriptor)
        return group < 0 || group == getpgrp()
    }

    /// Whether the process has a controlling terminal.
    static var hasControlling: Bool { (try? TerminalDevice(path: controllingTerminal)) != nil }

    /// The path to open the terminal that a descriptor refers to.
    ///
    /// For the controlling terminal not the descriptor's own path: after `su`, that belongs to another user.
    static func path(of descriptor: CInt) -> String {
        let terminal = open(controllingTerminal, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        defer { if terminal >= 0 { close(terminal) } }
        let isControlling = terminal >= 0 && number(of: terminal) == number(of: descriptor)
        return isControlling ? controllingTerminal : "/proc/self/fd/\(descriptor)"
    }

    /// The result of a write.
    enum Outcome: Sendable, Hashable {
        /// The terminal accepted this many bytes, at least one.
        case wrote(Int)
        /// The terminal accepts no bytes now.
        case wouldBlock
    }

    /// Writes what the terminal accepts now, with a single system call: no other process can write in between.
    func write(_ bytes: ArraySlice<UInt8>) throws(TerminalTitleError) -> Outcome {
        while true {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { return .wrote(count) }
            if count == 0 { return .wouldBlock }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            case EIO, ENXIO, ENODEV: throw .hungUp
            case let number: throw .cannotWrite(errorNumber: number)
            }
        }
    }

    /// Waits until the terminal accepts bytes or is closed, at most for `limit`.
    ///
    /// - Returns: `false` if the limit was reached.
    func waitUntilWritable(atMost limit: Duration?) -> Bool {
        let milliseconds = limit.map { CInt(clamping: $0.wholeMilliseconds) } ?? -1
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, milliseconds) != 0
    }

    static func number(of descriptor: CInt) -> dev_t {
        // TIOCGDEV, which Swift does not import: it returns the terminal's device number, `fstat` that of `/dev/tty`.
        var number: CUnsignedInt = 0
        if ioctl(descriptor, 0x8004_5432, &number) == 0 { return dev_t(number) }
        var status = stat()
        fstat(descriptor, &status)
        return status.st_rdev
    }
}

/// Runs `body` with every signal blocked on this thread.
///
/// Otherwise a write by a background process would stop the app (`SIGTTOU`, after `stty tostop`), and a handler that
/// calls `exit` could run while this thread holds a lock that the exit hook takes.
func withSignalsBlocked<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    return try body()
}

/// Why the terminal cannot be used.
package enum TerminalTitleError: BackendProblem, Sendable, Hashable {
    /// The process has no controlling terminal.
    case noControllingTerminal
    /// The path is a file, a pipe or a device, not a terminal.
    case notATerminal(path: String)
    /// The terminal does not support control sequences according to `TERM`, or `TERM` is not set.
    case dumbTerminal(type: String?)
    /// The terminal is not known to have a title, or would lose its own.
    case keepsTitle(terminal: String)
    /// The terminal could not be opened.
    case cannotOpen(path: String, errorNumber: Int32)
    /// The terminal was closed, or the connection to it was lost.
    case hungUp
    /// The terminal could not be written to.
    case cannotWrite(errorNumber: Int32)

    /// Whether opening a terminal fails because there is none that could show anything, as under cron.
    ///
    /// - Parameter open: opens the terminal.
    static func isAbsent(_ open: () throws -> SharedTerminal) -> Bool {
        do {
            _ = try open()
            return false
        } catch TerminalTitleError.noControllingTerminal, TerminalTitleError.dumbTerminal,
            TerminalTitleError.keepsTitle, is TerminalNotificationError
        {
            return true
        } catch {
            return false
        }
    }

    /// The problem.
    package var reason: String {
        switch self {
        case .noControllingTerminal: "the process has no controlling terminal"
        case .notATerminal(let path): "\(path) is not a terminal"
        case .dumbTerminal(let type?) where !type.isEmpty:
            "the terminal does not support control sequences (TERM is '\(DisplayText.singleLine(type, limit: 40))')"
        case .dumbTerminal: "the type of the terminal is unknown (TERM is not set)"
        case .keepsTitle(let terminal): "the title of this terminal (\(terminal)) cannot be set and restored"
        case .cannotOpen(let path, let number): "cannot open \(path): \(String(cString: strerror(number)))"
        case .hungUp: "the terminal was closed"
        case .cannotWrite(let number): "cannot write to the terminal: \(String(cString: strerror(number)))"
        }
    }

    /// What to do, if anything helps.
    package var help: String? {
        switch self {
        case .noControllingTerminal:
            "start the app in a terminal; a service, a cron job or a container without 'docker run -t' has none"
        case .notATerminal: "name a terminal, such as /dev/tty"
        case .dumbTerminal: "set TERM to the type of the terminal, such as xterm-256color"
        case .keepsTitle: "set 'title: on' to set it anyway"
        case .cannotOpen: "check the permissions of the terminal's device"
        case .hungUp, .cannotWrite: nil
        }
    }

    /// The problem, and what to do.
    package var description: String {
        help.map { "\(reason); \($0)" } ?? reason
    }
}
