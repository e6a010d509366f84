import IndicatorCore
import Foundation
import Synchronization

/// A terminal, opened for non-blocking writes.
///
/// It has its own open file description: making that non-blocking does not affect the app, whose standard output often
/// shares one with the shell.
package final class TerminalDevice: Sendable {
    /// The path of the process's controlling terminal.
    static let controllingTerminal = "/dev/tty"

    /// The time limit for updates of terminal backends: none, so that a terminal that the user has stopped (Ctrl-S)
    /// does not count as stalled. A warning would be written to the same terminal.
    static let updateTimeLimit = TimeSource.longest

    /// Identifies the terminal, independent of the path that it was opened by.
    let number: dev_t

    private let descriptor: CInt
    private let path: String

    /// Opens a terminal; throws if the path is something else.
    init(path: String) throws(TerminalError) {
        let descriptor = StandardStreams.excluding(open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC))
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
        (self.descriptor, self.path) = (descriptor, path)
        number = Self.number(of: descriptor)
    }

    deinit { close(descriptor) }

    /// The path of the terminal, such as `/dev/tty` or `/dev/pts/3`.
    var name: String {
        let stream = [0, 1, 2].first { Self.number(of: $0) == number }.map { "/proc/self/fd/\($0)" }
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: stream ?? path)) ?? path
    }

    /// The size of a window in columns and rows; 0 by 0 if it is unknown, as on a serial line.
    package struct Size: Sendable, Hashable {
        package var columns = 0
        package var rows = 0

        package init(columns: Int = 0, rows: Int = 0) { (self.columns, self.rows) = (columns, rows) }

        package var isKnown: Bool { columns > 0 && rows > 0 }
    }

    /// The current size of its window.
    var size: Size { Self.size(of: descriptor) }

    /// The current size of the window of the terminal that a descriptor refers to; unknown if it is something else.
    package static func size(of descriptor: CInt) -> Size {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return Size() }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Whether others write lines and read lines, with echo: not while an editor, a pager, a full-screen program or a
    /// question for a password uses the terminal.
    var isInLineMode: Bool {
        var modes = termios()
        guard tcgetattr(descriptor, &modes) == 0 else { return true }
        return modes.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
    }

    /// Whether the process is in the terminal's foreground, or the terminal is not its controlling terminal.
    var isInForeground: Bool {
        let group = tcgetpgrp(descriptor)
        return group < 0 || group == getpgrp()
    }

    /// The process's controlling terminal, if it has one.
    static var controlling: TerminalDevice? { try? TerminalDevice(path: controllingTerminal) }

    /// The path to open the terminal that a descriptor refers to.
    ///
    /// For the controlling terminal not the descriptor's own path: after `su`, that belongs to another user.
    static func path(of descriptor: CInt) -> String {
        controlling?.number == number(of: descriptor) ? controllingTerminal : "/proc/self/fd/\(descriptor)"
    }

    /// Writes what the terminal accepts now, with a single system call: no other process can write in between.
    ///
    /// - Returns: how many bytes it accepted.
    func write(_ bytes: ArraySlice<UInt8>) throws(TerminalError) -> Int {
        while true {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return 0
            default: throw .hungUp
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

    /// The rows below the cursor on which this process draws.
    struct Rows: Sendable, Hashable {
        /// How many rows of other processes are above them.
        var offset = 0
        var count = 0
        /// Whether another process has rows, too.
        var isShared = false
    }

    /// Claims rows below those that other processes have claimed, such as several `indicator exec` of a script.
    ///
    /// Each row is a byte of `/dev/tty`, at a place of its own for each terminal, and locked by the process that draws
    /// on it (F_OFD_SETLK of fcntl(2)). So a claim ends with its process.
    func claim(_ count: Int, insteadOf rows: Rows) -> Rows {
        if count == 0, rows.count == 0 { return rows }
        func request(_ command: CInt, _ type: CInt, at row: Int, _ count: Int) -> flock? {
            let start = Int(number) << 16 + row
            let whence = Int16(SEEK_SET)
            var lock = flock(l_type: Int16(type), l_whence: whence, l_start: start, l_len: count, l_pid: 0)
            return fcntl(descriptor, command, &lock) == 0 ? lock : nil
        }
        // Swift does not import these two.
        let (get, set): (CInt, CInt) = (36, 37)
        var claimed = rows
        if count > rows.count || count == 0 {
            _ = request(set, CInt(F_UNLCK), at: 0, 1 << 16)
            claimed = Rows(count: count)
            while count > 0, request(set, CInt(F_WRLCK), at: claimed.offset, count) == nil {
                // A lock without an end, of a program that is none of ours, leaves no row of its own.
                guard let other = request(get, CInt(F_WRLCK), at: claimed.offset, count), claimed.offset < 1000,
                    other.l_type != Int16(F_UNLCK), other.l_len > 0, case let next = other.l_start + other.l_len,
                    (next & 0xFFFF) > claimed.offset
                else { break }
                claimed.offset = next & 0xFFFF
            }
        }
        let other = request(get, CInt(F_WRLCK), at: 0, 1 << 16)
        claimed.isShared = other.map { $0.l_type != Int16(F_UNLCK) } ?? false
        return claimed
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

/// The command that the terminal belongs to, if this process runs one, as `indicator exec` does.
///
/// What it writes is not seen here. So the title is set once and never animated, and nothing is repeated beside what
/// the command itself may have set; and bars are drawn only where the command cannot write to the terminal.
package enum CommandOnTerminal {
    private static let exists = Atomic(false)

    /// Notes that there is one, before the backends are made.
    package static func begin() { exists.store(true, ordering: .relaxed) }

    /// Whether there is one.
    static var isPresent: Bool { exists.load(ordering: .relaxed) }

    /// Whether its standard output and standard error, which are those of this process, are files or `/dev/null`. What
    /// reads a pipe or a socket may print it on the terminal.
    static var writesElsewhere: Bool {
        var null = stat()
        stat("/dev/null", &null)
        return [STDOUT_FILENO, STDERR_FILENO].allSatisfy { descriptor in
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return false }
            let kind = status.st_mode & S_IFMT
            return kind == S_IFREG || kind == S_IFCHR && status.st_rdev == null.st_rdev
        }
    }
}
