import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
import IndicatorThreads
import Synchronization

/// A pseudo terminal whose output appears above the lines of another terminal.
///
/// Programs that write to it see a terminal with the size of that one. A thread passes on what they write, unchanged
/// and in order, and waits while the terminal accepts no bytes, so that they wait, too.
package final class TerminalRelay: Sendable {
    /// The path of the side for programs, such as `/dev/pts/3`.
    package let path: String
    /// The descriptor of the other side. It does not block, and child processes do not inherit it.
    package let master: CInt

    private let terminal: SharedTerminal
    /// Asks the thread to pass on the rest, and to end.
    private let end: WakeUp
    private let hasEnded: WakeUp
    private let isStarted = Atomic(false)

    /// Creates a pseudo terminal; ``start()`` begins to pass its output on.
    ///
    /// - Parameters:
    ///   - descriptor: a descriptor of the terminal above whose lines the output appears.
    ///   - isOutputOnly: whether programs only write to it, so that the other terminal, which is not in raw mode, adds
    ///     a carriage return to each line feed.
    ///   - environment: the environment variables, which identify that terminal.
    package convenience init(
        above descriptor: CInt,
        isOutputOnly: Bool,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        try self.init(
            above: TerminalRegistry.open(path: TerminalDevice.path(of: descriptor), environment: environment),
            isOutputOnly
        )
    }

    private init(above terminal: SharedTerminal, _ isOutputOnly: Bool) throws(TerminalError) {
        let multiplexer = "/dev/ptmx"
        let master = open(multiplexer, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard master >= 0, let end = WakeUp(), let hasEnded = WakeUp() else {
            let number = errno
            if master >= 0 { close(master) }
            throw .cannotOpen(path: multiplexer, errorNumber: number)
        }
        (self.master, self.terminal, self.end, self.hasEnded) = (master, terminal, end, hasEnded)
        var unlocked: CInt = 0
        var number: CUnsignedInt = 0
        // TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)), because Swift imports neither them nor `posix_openpt`.
        let isReady = ioctl(master, 0x4004_5431, &unlocked) == 0 && ioctl(master, 0x8004_5430, &number) == 0
        path = "/dev/pts/\(number)"
        guard isReady else { throw .cannotOpen(path: path, errorNumber: errno) }
        let modes = terminal.device.modes
        (isOutputOnly ? modes?.withoutOutputProcessing : modes)?.set(on: master)
        copySize()
    }

    deinit {
        close(master)
    }

    /// Whether a descriptor refers to the controlling terminal of the process.
    package static func isControllingTerminal(_ descriptor: CInt) -> Bool {
        isatty(descriptor) == 1 && TerminalDevice.path(of: descriptor) == TerminalDevice.controllingTerminal
    }

    /// Makes this terminal the only one that writes to the other one, which is in raw mode meanwhile.
    package func isOnlyWriter() {
        terminal.show(commandTerminal: master)
    }

    /// Removes the lines of a process that was killed from a terminal.
    package static func repair(_ descriptor: CInt) {
        let sequences = Array(LiveLines.repair.utf8)
        _ = write(descriptor, sequences, sequences.count)
    }

    /// Follows the size of the other terminal's window.
    package func copySize() {
        let size = terminal.device.size
        var own = winsize()
        _ = ioctl(master, UInt(TIOCGWINSZ), &own)
        guard Int(own.ws_col) != size.columns || Int(own.ws_row) != size.rows else { return }
        (own.ws_col, own.ws_row) = (UInt16(clamping: size.columns), UInt16(clamping: size.rows))
        _ = ioctl(master, UInt(TIOCSWINSZ), &own)
    }

    /// Starts to pass the output on, unless that has begun.
    ///
    /// - Returns: whether the thread was started.
    package func start() -> Bool {
        if isStarted.exchange(true, ordering: .relaxed) { return true }
        let isStarted = ThreadStarter.start(named: "terminal-relay") { self.passOn() }
        if !isStarted { self.isStarted.store(false, ordering: .relaxed) }
        return isStarted
    }

    /// - Parameter deadline: when to stop in any case.
    /// - Returns: whether everything was passed on.
    @discardableResult
    private func passOn(until deadline: ContinuousClock.Instant? = nil) -> Bool {
        // Two reads, as the kernel returns at most 4095 bytes. With 64 KiB, `cat` of a large file in tmux took a tenth
        // longer.
        var buffer = [UInt8](repeating: 0, count: 1 << 13)
        var waited = [
            pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: master, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            if let deadline, .now >= deadline { return false }
            poll(&waited, 2, -1)
            // Before reading: what was written before that is passed on.
            let isEnding = end.isStopped
            var count = 0
            while count < buffer.count {
                let read = buffer.withUnsafeMutableBytes {
                    Foundation.read(master, $0.baseAddress.map { $0 + count }, $0.count - count)
                }
                if read <= 0 {
                    // EIO: no program has it open.
                    if read == 0 || errno != EAGAIN { waited[1].fd = -1 }
                    break
                }
                count += read
            }
            if count > 0 {
                copySize()
                terminal.changeLines { $0.write(Array(buffer[..<count])) }
                do {
                    _ = try terminal.settle(within: deadline.map { ContinuousClock.now.duration(to: $0) })
                } catch {
                    hangUp()
                }
            } else if isEnding {
                break
            }
        }
        hasEnded.stop()
        return true
    }

    /// Closes the pseudo terminal, because the other one was closed: programs get the same errors as on that one.
    private func hangUp() {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        // Without a descriptor, what programs write is read and dropped.
        guard null >= 0 else { return }
        // The number stays valid for other threads.
        dup2(null, master)
        close(null)
    }

    /// Waits until what was written so far is read, if the terminal accepts bytes.
    package func catchUp(within limit: Duration) {
        let deadline = ContinuousClock.now + limit
        var unread: CInt = 0
        while ioctl(master, UInt(FIONREAD), &unread) == 0, unread > 0, ContinuousClock.now < deadline { usleep(1000) }
    }

    /// Passes on what was written so far, and ends. Without a thread, this one does.
    ///
    /// - Parameter limit: how long to wait at most for a terminal that accepts no bytes.
    /// - Returns: whether everything was written.
    package func finish(within limit: Duration) -> Bool {
        end.stop()
        if !isStarted.exchange(true, ordering: .relaxed), !passOn(until: .now + limit) {
            isStarted.store(false, ordering: .relaxed)
            return false
        }
        var waited = pollfd(fd: hasEnded.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waited, 1, CInt(clamping: limit.wholeMilliseconds)) > 0
    }
}

/// The modes of a terminal (termios(3)).
package struct TerminalModes: Sendable, Equatable {
    private var value = termios()

    /// Reads the modes; `nil` if the descriptor is not a terminal. The master of a pseudo terminal has the modes of the
    /// other side.
    package init?(of descriptor: CInt) {
        guard tcgetattr(descriptor, &value) == 0 else { return nil }
    }

    /// Sets the modes, without waiting for the terminal.
    package func set(on descriptor: CInt) {
        var value = value
        tcsetattr(descriptor, TCSANOW, &value)
    }

    package static func == (first: TerminalModes, second: TerminalModes) -> Bool {
        let (first, second) = (first.value, second.value)
        return first.c_iflag == second.c_iflag && first.c_oflag == second.c_oflag && first.c_cflag == second.c_cflag
            && first.c_lflag == second.c_lflag && first.keys == second.keys
    }

    /// The modes in which every byte is passed on.
    ///
    /// After the first byte, a read waits a tenth of a second for a second one. Other programs that read keys do not
    /// want that, which distinguishes their modes from these.
    package var raw: TerminalModes {
        var copy = self
        cfmakeraw(&copy.value)
        withUnsafeMutableBytes(of: &copy.value.c_cc) { ($0[Int(VMIN)], $0[Int(VTIME)]) = (2, 1) }
        return copy
    }

    /// The same modes, in which output is passed on.
    var withoutOutputProcessing: TerminalModes {
        var copy = self
        copy.value.c_oflag &= ~tcflag_t(OPOST)
        return copy
    }

    /// Whether these are modes of ``raw``, which no other program has changed since.
    package var isRaw: Bool {
        value.c_lflag & tcflag_t(ICANON | ECHO | ISIG) == 0 && value.c_oflag & tcflag_t(OPOST) == 0
            && value.keys[Int(VMIN)] == 2 && value.keys[Int(VTIME)] == 1
    }

    /// Whether input is read by lines, with echo.
    package var isLineMode: Bool { value.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO) }

    /// The signal that a key sends to the processes in the foreground.
    package func signal(ofKey byte: UInt8) -> CInt? {
        // _POSIX_VDISABLE: no key.
        guard value.c_lflag & tcflag_t(ISIG) != 0, byte != 0 else { return nil }
        let keys = value.keys
        for (key, signal) in [(VINTR, SIGINT), (VQUIT, SIGQUIT), (VSUSP, SIGTSTP)] where keys[Int(key)] == byte {
            return signal
        }
        return nil
    }
}

extension termios {
    /// `c_cc` as an array.
    fileprivate var keys: [UInt8] { withUnsafeBytes(of: c_cc) { Array($0) } }
}
