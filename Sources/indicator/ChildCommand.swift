import CLinux
import Foundation

/// A child process that behaves as if the shell had started it directly.
///
/// It is in this process's group, so it receives the signals of the terminal and of job control. It inherits the
/// standard streams, the environment, and the ignored and blocked signals.
///
/// | signal | effect |
/// |---|---|
/// | from the terminal (Ctrl-C, Ctrl-\\, Ctrl-Z, resize) | the command receives it too, and handles it |
/// | from a closed terminal | the same; a session leader alone receives it, and forwards it |
/// | from a process (`kill`), or `alarm` | forwarded |
/// | that stops the command | this process stops by the same signal after the command has stopped |
/// | `SIGCONT` | forwarded to a command that is still stopped |
///
/// There are no signal handlers: the signals are blocked, and the main thread waits for them (sigwaitinfo(2)), so
/// nothing runs concurrently. `SIGKILL` and `SIGSTOP` cannot be forwarded; signals of faults (`SIGSEGV` and others) are
/// not.
struct ChildCommand {
    /// The command could not be started.
    struct StartError: Error, CustomStringConvertible {
        let command: String
        let errorNumber: Int32

        /// The exit status, as of shells and env(1): 127 for a command that does not exist, 126 for one that cannot be
        /// run.
        var status: Int32 { errorNumber == ENOENT ? 127 : 126 }

        var description: String { "cannot run '\(command)': \(String(cString: strerror(errorNumber)))" }
    }

    /// How a command ended.
    enum Ending: Hashable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    /// A result of ``wait(until:)``.
    enum Event: Hashable {
        case ended(Ending)
        /// The command has stopped. The caller must call ``stop(by:after:)``.
        case stopped(signal: Int32)
        case deadline
    }

    let identifier: pid_t

    private let maskBefore: sigset_t
    /// The signals that the main thread waits for.
    private let signals: sigset_t
    /// The signal that has stopped the command; `nil` while it runs.
    private var stoppedBy: Int32?
    /// Whether this process has received a stop signal too since the command last ran.
    private var wasAskedToStop = false

    /// The signals of a fault of the process itself.
    private static let faults = [SIGSEGV, SIGBUS, SIGFPE, SIGILL]
    /// The signals that the kernel sends to the terminal's foreground process group.
    private static let groupSignals = [SIGINT, SIGQUIT, SIGWINCH] + stopSignals
    private static let stopSignals = [SIGTSTP, SIGTTIN, SIGTTOU]

    /// Starts a command.
    ///
    /// Call this on the main thread before starting others: they inherit the blocked signals.
    ///
    /// - Parameter arguments: the unmodified command and its arguments, terminated by a null pointer.
    init(_ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) throws(StartError) {
        var signals = sigset_t()
        sigfillset(&signals)
        for signal in Self.faults { sigdelset(&signals, signal) }
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        // If it were ignored, the exit status of the command would be lost (waitpid(2)).
        signal(SIGCHLD, SIG_DFL)
        let (result, identifier) = Self.spawn(arguments, mask: before)
        guard result == 0 else {
            pthread_sigmask(SIG_SETMASK, &before, nil)
            throw StartError(command: arguments[0].map { String(cString: $0) } ?? "", errorNumber: result)
        }
        (self.identifier, self.signals, maskBefore) = (identifier, signals, before)
    }

    // MARK: - Waiting

    /// Waits for an event of the command, and forwards signals.
    mutating func wait(until deadline: ContinuousClock.Instant? = nil) -> Event {
        while true {
            if let event = nextEvent() { return event }
            var info = siginfo_t()
            var signals = signals
            let number: Int32
            if let deadline {
                let (seconds, attoseconds) = max(ContinuousClock.now.duration(to: deadline), .zero).components
                var limit = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
                number = sigtimedwait(&signals, &info, &limit)
                if number < 0, errno == EAGAIN { return .deadline }
            } else {
                number = sigwaitinfo(&signals, &info)
            }
            if number > 0 { received(number, info) }
        }
    }

    private mutating func nextEvent() -> Event? {
        var status: Int32 = 0
        while waitpid(identifier, &status, WNOHANG | WUNTRACED | WCONTINUED) == identifier {
            // wait(2): the low seven bits are the signal that ended the command, 0 if it exited, 0x7F if it stopped.
            switch status & 0x7F {
            case _ where status == 0xFFFF: (stoppedBy, wasAskedToStop) = (nil, false)
            case 0x7F: stoppedBy = status >> 8
            case 0: return .ended(.exited(status >> 8 & 0xFF))
            case let signal: return .ended(.killed(signal: signal))
            }
        }
        // If only the command was stopped (`kill -STOP`), only the command will be continued. But a shell waits for its
        // foreground job, so that must stop too.
        guard let signal = stoppedBy, wasAskedToStop || Self.isInForeground else { return nil }
        return .stopped(signal: signal)
    }

    private mutating func received(_ number: Int32, _ info: siginfo_t) {
        if Self.stopSignals.contains(number) { wasAskedToStop = true }
        guard number != SIGCHLD, !Self.hasReachedCommand(number, info) else { return }
        // The shell sends SIGCONT to the whole group: a running command does not need it again.
        if number == SIGCONT, !isStopped { return }
        kill(identifier, number)
    }

    /// Whether the command has received the signal too.
    private static func hasReachedCommand(_ number: Int32, _ info: siginfo_t) -> Bool {
        // Sent by a process: SI_USER is 0, the others are negative. This process itself sends SIGPIPE, for a closed
        // pipe.
        guard info.si_code > 0 else { return info._sifields._kill.si_pid == getpid() }
        // When a terminal is closed, the kernel sends these two to the session leader only; when the leader ends, to
        // the group.
        if number == SIGHUP || number == SIGCONT { return getsid(0) != getpid() }
        return groupSignals.contains(number)
    }

    /// Whether the command is stopped: the third field of `stat` (proc(5)), after the name in parentheses.
    private var isStopped: Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .isoLatin1) else {
            return true
        }
        return stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].dropFirst(2).first == "T"
    }

    private static var isInForeground: Bool {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard terminal >= 0 else { return false }
        defer { close(terminal) }
        return tcgetpgrp(terminal) == getpgrp()
    }

    // MARK: - Stopping and ending like the command

    /// Stops this process by the signal that has stopped the command. Returns when this process is continued, or
    /// immediately if the command already was.
    ///
    /// - Parameter prepare: called before this process stops.
    mutating func stop(by number: Int32, after prepare: () -> Void) {
        // The signal stays pending until it is unblocked, and SIGCONT discards it (signal(7)). SIGSTOP cannot be
        // blocked.
        let waiting = number == SIGSTOP ? SIGTSTP : number
        signal(waiting, SIG_DFL)
        kill(getpid(), waiting)
        prepare()
        // An earlier SIGCONT has continued the command.
        if isStopped, number != SIGSTOP {
            Self.letThrough(number)
        } else {
            var set = Self.set(of: waiting)
            var none = timespec()
            let isStillWaiting = sigtimedwait(&set, nil, &none) == waiting
            if number == SIGSTOP, isStillWaiting, isStopped { kill(getpid(), SIGSTOP) }
        }
        // Unless the command was stopped again, it runs, or ``wait(until:)`` forwards the SIGCONT that continues it.
        (stoppedBy, wasAskedToStop) = (nil, false)
    }

    /// Ends this process with the command's exit status or signal.
    func end(_ ending: Ending) -> Never {
        switch ending {
        case .exited(let status): exit(status)
        case .killed(let signal):
            // A core dump of this process would be of the wrong program.
            linux_disable_core_dumps()
            Self.takeByDefault(signal)
            // Process 1 of a container is not ended by signals.
            exit(128 + signal)
        }
    }

    /// Sends a signal to this process with its default action.
    private static func takeByDefault(_ number: Int32) {
        signal(number, SIG_DFL)
        kill(getpid(), number)
        letThrough(number)
    }

    /// Delivers a pending signal that is blocked.
    private static func letThrough(_ number: Int32) {
        var set = set(of: number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private static func set(of number: Int32) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        return set
    }

    // MARK: - Starting

    private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    private static func spawn(_ arguments: Arguments, mask: sigset_t) -> (result: Int32, identifier: pid_t) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = mask
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var identifier: pid_t = 0
        guard let name = arguments[0] else { return (ENOENT, 0) }
        let result = posix_spawnp(&identifier, name, nil, &attributes, arguments, linux_environment())
        guard result == ENOEXEC, let script = path(of: name) else { return (result, identifier) }
        // A script without `#!`: shells and execvp(3) run it with sh.
        var count = 0
        while arguments[count] != nil { count += 1 }
        let shell = Arguments.allocate(capacity: count + 2)
        defer { shell.deallocate() }
        (shell + 2).update(from: arguments + 1, count: count)
        let shellPath = strdup("/bin/sh")
        defer {
            free(shellPath)
            free(script)
        }
        (shell[0], shell[1]) = (shellPath, script)
        return (posix_spawn(&identifier, "/bin/sh", nil, &attributes, shell, linux_environment()), identifier)
    }

    /// The path of a command: its name if that is a path, otherwise the first executable file on the `PATH`.
    private static func path(of name: UnsafeMutablePointer<CChar>) -> UnsafeMutablePointer<CChar>? {
        if strchr(name, CInt(UInt8(ascii: "/"))) != nil { return strdup(name) }
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        for folder in folders.split(separator: ":", omittingEmptySubsequences: false) {
            let path = "\(folder.isEmpty ? "." : folder)/\(String(cString: name))"
            if access(path, X_OK) == 0 { return strdup(path) }
        }
        return nil
    }
}
