import Foundation
import IndicatorCore
import IndicatorThreads

/// A terminal, opened for writing without ever waiting in the kernel.
///
/// It is an open file description of our own: making it non-blocking changes nothing for the app, whose standard output
/// often shares one with the shell.
final class TerminalDevice: Sendable {
    /// The controlling terminal of the process, whichever it is.
    static let controllingTerminal = "/dev/tty"

    /// After which a backend that waits for its terminal counts as stalled: a year. A terminal that the user has
    /// stopped (Ctrl-S) is no fault, and a warning would be written to the same terminal.
    static let updateTimeLimit: Duration = .seconds(31_536_000)

    /// Identifies the terminal, whatever path it was opened by.
    let number: dev_t

    private let descriptor: CInt

    /// Opens a terminal, and nothing but a terminal.
    init(path: String) throws(TerminalTitleError) {
        let descriptor = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            let number = errno
            // ENXIO is what `tty(4)` says of a process without a controlling terminal; a container may lack the device.
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

    /// The path of the terminal itself, such as `/dev/pts/3`; `/dev/tty` where it has a name that is not known here.
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

    /// The columns and rows of a window.
    struct Size: Sendable, Hashable {
        var columns = 80
        var rows = 24
    }

    /// The size of its window now; 80 by 24 where it does not say.
    var size: Size {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return Size() }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Whether the process is in the terminal's foreground; also if it is not the process's controlling terminal.
    var isInForeground: Bool {
        let group = tcgetpgrp(descriptor)
        return group < 0 || group == getpgrp()
    }

    /// The path to open the terminal by that a descriptor leads to.
    ///
    /// Not the descriptor's own path where it is the controlling terminal: after `su`, that belongs to another user.
    static func path(of descriptor: CInt) -> String {
        let terminal = open(controllingTerminal, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        defer { if terminal >= 0 { close(terminal) } }
        let isControlling = terminal >= 0 && number(of: terminal) == number(of: descriptor)
        return isControlling ? controllingTerminal : "/proc/self/fd/\(descriptor)"
    }

    /// What came of an attempt to write.
    enum Outcome: Sendable, Hashable {
        /// So many bytes were taken, at least one.
        case wrote(Int)
        /// The terminal takes none now.
        case wouldBlock
    }

    /// Writes what the terminal takes now, with a single system call: the kernel lets no other writer in between.
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

    /// Sleeps until the terminal takes bytes or is gone, at most for `limit`.
    ///
    /// - Returns: whether it is worth trying again before the limit.
    func waitUntilWritable(atMost limit: Duration?) -> Bool {
        let milliseconds = limit.map { CInt(clamping: $0.wholeMilliseconds) } ?? -1
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, milliseconds) != 0
    }

    static func number(of descriptor: CInt) -> dev_t {
        // TIOCGDEV, which Swift does not import: `/dev/tty` has a device number of its own, and this asks for the
        // terminal's.
        var number: CUnsignedInt = 0
        if ioctl(descriptor, 0x8004_5432, &number) == 0 { return dev_t(number) }
        var status = stat()
        fstat(descriptor, &status)
        return status.st_rdev
    }
}

/// Runs `body` with every signal held back on this thread.
///
/// A write by a background process would otherwise stop the app (`SIGTTOU`, after `stty tostop`), and a handler that
/// calls `exit` could run inside the critical section that the exit hook enters.
func withSignalsBlocked<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    return try body()
}

/// Why nothing can be shown on the terminal.
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
