/// A terminal without a window: bytes that are written to ``path`` can be read here.
package final class PseudoTerminal: Sendable {
    /// The path of the side that programs write to, such as `/dev/pts/3`.
    package let path: String

    private let master: CInt
    /// Keeps the terminal from being hung up when the program under test closes it.
    private let slave: CInt
    private let isHungUp = Locked(false)
    private let record = Locked<[UInt8]>([])

    package init() throws {
        // With ioctl(2), because Swift imports neither `posix_openpt` and its companions nor the kernel's numbers.
        let setLock: UInt = 0x4004_5431  // TIOCSPTLCK
        let getNumber: UInt = 0x8004_5430  // TIOCGPTN
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        var unlocked: CInt = 0
        var number: CUnsignedInt = 0
        guard master >= 0, ioctl(master, setLock, &unlocked) == 0, ioctl(master, getNumber, &number) == 0 else {
            throw FixtureError("no pseudo terminal: \(String(cString: strerror(errno))); mount devpts on /dev/pts")
        }
        path = "/dev/pts/\(number)"
        slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw FixtureError("cannot open \(path): \(String(cString: strerror(errno)))") }
        setSize(columns: 80, rows: 24)
    }

    /// Sets the size of the window; 0 by 0 is unknown.
    package func setSize(columns: UInt16, rows: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(slave, UInt(TIOCSWINSZ), &size)
    }

    deinit {
        if slave >= 0 { close(slave) }
        if !isHungUp.withLock({ $0 }) { close(master) }
    }

    /// The bytes that were written since the last call.
    package func read() -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Foundation.read(master, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// What was written since ``forget()``, as text. ``read()`` takes bytes away from it.
    package var transcript: String {
        let bytes = read()
        return record.withLock { record in
            record += bytes
            return String(decoding: record, as: UTF8.self)
        }
    }

    /// Lets ``transcript`` begin again.
    package func forget() { record.withLock { $0 = [] } }

    /// Waits until ``transcript`` contains a text.
    package func shows(_ text: String) async -> Bool { await eventually { transcript.contains(text) } }

    /// Types a text on its keyboard. Control characters are keys: `\u{03}` is Ctrl-C.
    package func type(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if count < 0, errno != EAGAIN, errno != EINTR {
                return
            }
        }
    }

    /// Stops accepting bytes, as after Ctrl-S.
    package func stopOutput() { tcflow(slave, TCOOFF) }

    /// Accepts bytes again, as after Ctrl-Q.
    package func startOutput() { tcflow(slave, TCOON) }

    /// Closes the terminal, as the user does with the window.
    package func hangUp() {
        let wasHungUp = isHungUp.withLock { isHungUp in
            defer { isHungUp = true }
            return isHungUp
        }
        if wasHungUp { return }
        close(master)
        // A child that another test has just forked may hold the terminal open until it runs its program.
        var status = pollfd(fd: slave, events: 0, revents: 0)
        for _ in 0..<10_000 where poll(&status, 1, 0) == 0 { poll(nil, 0, 1) }
    }

    /// Starts a command in a session of its own, whose controlling terminal this is, on its standard streams.
    ///
    /// - Parameter hasOutput: whether standard output is the terminal, too.
    package func session(_ command: [String], hasOutput: Bool = true, environment: [String: String]) throws -> Daemon {
        // `setsid --ctty` makes the terminal on standard input the controlling one.
        let start = #"terminal=$1; shift; exec setsid --ctty --wait "$@" <"$terminal" 2<>"$terminal""#
        let script = start + (hasOutput ? " >&2" : "")
        return try Daemon("sh", ["-c", script, "sh", path] + command, environment: environment)
    }

    /// Runs a program with this terminal as its controlling terminal, and with standard streams that are not terminals.
    /// Its status is 124 if it has not ended after 300 seconds.
    ///
    /// - Parameter type: the variable `TERM`.
    package func run(
        _ program: String,
        _ arguments: [String],
        type: String = "xterm-256color"
    ) async throws -> Command.Result {
        // The program gets /dev/null in place of the terminal.
        let script = #"""
            terminal=$1; shift
            exec setsid --ctty --wait sh -c 'exec timeout --foreground 300 "$@" < /dev/null' sh "$@" < "$terminal"
            """#
        let environment = ["TERM": type, "TMUX": "", "LC_ALL": "C.UTF-8"]
        return try await Command.run("sh", ["-c", script, "sh", path, program] + arguments, environment: environment)
    }
}
