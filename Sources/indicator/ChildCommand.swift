import CIndicatorLinux
import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorCore
import Synchronization

/// A child process that behaves as if the shell had started it directly.
///
/// It has this process's standard streams, terminal, group, environment, and ignored and blocked signals. Nothing is
/// between it and the user, and it receives the signals of the terminal and of job control itself.
///
/// | signal | effect |
/// |---|---|
/// | from the terminal (Ctrl-C, Ctrl-\\, Ctrl-Z, resize) | the command receives it too, and handles it |
/// | from a closed terminal | the same; a session leader alone receives it, and forwards it |
/// | from a process (`kill`), or `alarm` | forwarded, unless the command itself has sent it, to its group |
/// | that stops the command | this process stops by the same signal after the command has stopped |
/// | `SIGIO` from the kernel | ``Event/due``: the socket for reports asks for it |
///
/// The signals are blocked, and the main thread waits for them (sigtimedwait(2)), so nothing runs concurrently.
/// `SIGKILL` and `SIGSTOP` cannot be forwarded; signals of faults (`SIGSEGV` and others) are not.
struct ChildCommand {
    /// The command could not be started.
    struct StartError: Error, CustomStringConvertible {
        let description: String
        /// The exit status, as of shells and env(1): 127 for a command that does not exist, 126 for one that cannot be
        /// run.
        let status: Int32
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
        /// The time has come, or a report.
        case due
    }

    let identifier: pid_t
    private var hasInterrupt = false
    /// The signals that the main thread waits for.
    private let signals: sigset_t

    /// Whether SIGCONT has come since this process began to stop.
    private static let wasContinued = Atomic(false)

    /// Starts a command.
    ///
    /// Call this on the main thread before starting others: they inherit the blocked signals.
    ///
    /// - Parameters:
    ///   - arguments: the unmodified command and its arguments, terminated by a null pointer.
    ///   - prepare: called when the signals are blocked, before the command starts.
    init(_ arguments: ProgramArguments, prepare: () -> Void) throws(StartError) {
        var signals = sigset_t()
        sigfillset(&signals)
        // Those of a fault of the process itself.
        for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL] { sigdelset(&signals, signal) }
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        prepare()
        // If it were ignored, the exit status of the command would be lost (waitpid(2)).
        signal(SIGCHLD, SIG_DFL)
        identifier = startProgram(arguments, blocking: before)
        // After the start of the command, which must have the same closed streams.
        StandardStreams.openMissing()
        self.signals = signals
        if identifier < 0 {
            pthread_sigmask(SIG_SETMASK, &before, nil)
            let name = arguments[0].map { String(cString: $0) } ?? ""
            let reason = String(cString: strerror(-identifier))
            throw StartError(description: "cannot run '\(name)': \(reason)", status: identifier == -ENOENT ? 127 : 126)
        }
    }

    // MARK: - Waiting

    /// Waits for an event of the command, and forwards signals.
    mutating func wait(until deadline: ContinuousClock.Instant? = nil) -> Event {
        while true {
            if let event = nextEvent() { return event }
            guard let info = Self.next(of: signals, until: deadline), info.si_signo != SIGIO || info.si_code <= 0
            else { return .due }
            if info.si_signo == SIGINT { hasInterrupt = true }
            if mustForward(info) { kill(identifier, info.si_signo) }
        }
    }

    /// Whether SIGINT has come, from the terminal or from a process. It may still be pending.
    var wasInterrupted: Bool { hasInterrupt || Self.next(of: Self.set(of: SIGINT), until: .now) != nil }

    /// Waits for one of the signals; `nil` if none came until the deadline.
    private static func next(of signals: sigset_t, until deadline: ContinuousClock.Instant?) -> siginfo_t? {
        var (signals, info) = (signals, siginfo_t())
        let deadline = deadline ?? .now + .seconds(1 << 30)
        while true {
            let (seconds, attoseconds) = max(ContinuousClock.now.duration(to: deadline), .zero).components
            var limit = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
            if sigtimedwait(&signals, &info, &limit) > 0 { return info }
            if errno == EAGAIN { return nil }
        }
    }

    private func nextEvent() -> Event? {
        var status: Int32 = 0
        while true {
            // Process 1 of a container is the parent of every process whose own parent has ended.
            let process = waitpid(getpid() == 1 ? -1 : identifier, &status, WNOHANG | WUNTRACED)
            guard process > 0 else { return nil }
            guard process == identifier else { continue }
            // wait(2): the signal that ended it, 0 if it exited, 0x7F if it has stopped; the status, or that signal.
            switch (status & 0x7F, status >> 8 & 0xFF) {
            case (0, let status): return .ended(.exited(status))
            // Who stops the command alone (`kill -STOP`) continues it alone. But a shell waits for its foreground job,
            // so that must stop, too.
            case (0x7F, let signal): if signal != SIGSTOP || isInForeground { return .stopped(signal: signal) }
            case (let signal, _): return .ended(.killed(signal: signal))
            }
        }
    }

    /// Whether the command has not received a signal that this process has.
    private func mustForward(_ info: siginfo_t) -> Bool {
        // The kernel's codes are positive, those of processes are not (sigaction(2)).
        if info.si_code <= 0 {
            let sender = info._sifields._kill.si_pid
            // This process itself sends SIGPIPE, for a closed pipe. The command would otherwise receive what it sends
            // to its group twice, as with `kill 0`; sudo(8) has the same rule.
            return sender != getpid() && !Self.ancestors(of: sender).contains(identifier)
        }
        return switch info.si_signo {
        case SIGCHLD: false
        // To the group that is in the terminal's foreground.
        case SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH: getpgid(identifier) != getpgrp()
        // When a terminal is closed, to the session leader only; when the leader ends, to the group.
        case SIGHUP, SIGCONT: getsid(0) == getpid()
        default: true
        }
    }

    /// A process, and those that have started it.
    static func ancestors(of process: pid_t) -> [pid_t] {
        var (process, found): (pid_t, [pid_t]) = (process, [])
        while process > 1, found.count < 100 {
            found.append(process)
            process = fields(of: "\(process)")?.dropFirst().first.flatMap { pid_t($0) } ?? 0
        }
        return found
    }

    /// The fields of a process's `stat` (proc(5)) after the name in parentheses: the state, the parent, the group.
    static func fields(of process: String) -> [Substring]? {
        guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .isoLatin1) else { return nil }
        return stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].dropFirst().split(separator: " ")
    }

    /// Whether the terminal is this process's or the command's: a shell with job control has a group of its own.
    private var isInForeground: Bool {
        let group = Self.withTerminal { tcgetpgrp($0) }
        return group == getpgrp() || group == getpgid(identifier)
    }

    /// Without a controlling terminal, the descriptor is negative.
    private static func withTerminal<Result>(_ body: (CInt) -> Result) -> Result {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        defer { if terminal >= 0 { close(terminal) } }
        return body(terminal)
    }

    // MARK: - Stopping and ending like the command

    /// Stops this process by the signal that has stopped the command. Returns when this process is continued, after it
    /// has continued the command.
    ///
    /// - Parameter prepare: called before this process stops.
    func stop(by number: Int32, after prepare: () -> Void) {
        let foreground = Self.withTerminal { tcgetpgrp($0) }
        signal(number, SIG_DFL)
        // A stop signal discards a SIGCONT that waits, and SIGCONT a stop signal that waits (signal(7)). So this one
        // does not wait, but is noted.
        Self.wasContinued.store(false, ordering: .relaxed)
        signal(SIGCONT) { _ in ChildCommand.wasContinued.store(true, ordering: .relaxed) }
        Self.mask(SIG_UNBLOCK, SIGCONT)
        var mayStop: Bool { !Self.wasContinued.load(ordering: .relaxed) }
        // Before the preparation, which may take longer than the user does to continue the job.
        if mayStop, number != SIGSTOP { kill(getpid(), number) }
        if mayStop { prepare() }
        if mayStop {
            if number == SIGSTOP { kill(getpid(), number) } else { Self.letThrough(number) }
        }
        _ = Self.next(of: Self.set(of: number), until: .now)
        Self.mask(SIG_BLOCK, SIGCONT)
        // A shell with job control has left the terminal to its own group, which the shell of this process has
        // replaced.
        if foreground > 0, foreground == getpgid(identifier) {
            Self.withTerminal { if tcgetpgrp($0) == getpgrp() { _ = tcsetpgrp($0, foreground) } }
        }
        // Also without SIGCONT: the kernel does not stop an orphaned process group, such as that of a terminal's only
        // program.
        kill(identifier, SIGCONT)
    }

    /// Ends this process with the command's exit status or signal.
    static func end(_ ending: Ending) -> Never {
        switch ending {
        case .exited(let status): exit(status)
        case .killed(let number):
            // A core dump of this process would be of the wrong program.
            linux_disable_core_dumps()
            signal(number, SIG_DFL)
            kill(getpid(), number)
            letThrough(number)
            // Process 1 of a container is not ended by signals.
            exit(128 + number)
        }
    }

    /// Delivers a pending signal that is blocked.
    private static func letThrough(_ number: Int32) {
        mask(SIG_UNBLOCK, number)
        mask(SIG_BLOCK, number)
    }

    private static func mask(_ change: Int32, _ number: Int32) {
        var set = set(of: number)
        pthread_sigmask(change, &set, nil)
    }

    private static func set(of number: Int32) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        return set
    }
}
