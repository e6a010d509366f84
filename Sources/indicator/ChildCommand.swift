import CLinux
import Foundation
import IndicatorCommands
import IndicatorThreads

/// A child process that behaves as if the shell had started it directly.
///
/// It is in this process's group, so it receives the signals of the terminal and of job control. It inherits the
/// standard streams, the environment, and the ignored and blocked signals.
///
/// | signal | effect |
/// |---|---|
/// | from the terminal (Ctrl-C, Ctrl-\\, Ctrl-Z, resize) | the command receives it too, and handles it |
/// | from a closed terminal | the same; a session leader alone receives it, and forwards it |
/// | from a process (`kill`), or `alarm` | forwarded, unless it was sent to the group (``GroupWitness``) |
/// | that stops the command | this process stops by the same signal after the command has stopped |
///
/// With a ``CommandTerminal`` that has a session, the child is the process that leads it (``CommandSession``), and the
/// command is that one's child. The terminal's signals then reach only this process, which forwards them.
///
/// The signals are blocked, and the main thread waits for them (sigwaitinfo(2)), so nothing runs concurrently.
/// `SIGKILL` and `SIGSTOP` cannot be forwarded; signals of faults (`SIGSEGV` and others) are not.
///
/// A stop signal discards a `SIGCONT` that waits, and `SIGCONT` discards stop signals (signal(7)). So a stop signal is
/// forwarded, but left waiting until the command has stopped: then this process only lets it through, and the kernel
/// has discarded it if a `SIGCONT` came after it. A command that stops by itself (`SIGSTOP` from another process) makes
/// this process send itself the signal; until then, a signal handler notes a `SIGCONT`.
struct ChildCommand {
    /// The command could not be started.
    struct StartError: Error, CustomStringConvertible {
        let command: String
        let errorNumber: Int32

        init(_ arguments: Arguments, _ errorNumber: Int32) {
            command = arguments[0].map { String(cString: $0) } ?? ""
            self.errorNumber = errorNumber
        }

        /// The exit status, as of shells and env(1): 127 for a command that does not exist, 126 for one that cannot be
        /// run.
        var status: Int32 { errorNumber == ENOENT ? 127 : 126 }

        var description: String { "cannot run '\(command)': \(String(cString: strerror(errorNumber)))" }
    }

    /// How a command ended.
    enum Ending: Hashable {
        case exited(Int32)
        case killed(signal: Int32)

        /// The ending of a process with this status of waitpid(2): the low seven bits are the signal that ended it, 0
        /// if it exited.
        init(status: Int32) {
            let signal = status & 0x7F
            self = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal)
        }
    }

    /// A result of ``wait(until:)``.
    enum Event: Hashable {
        case ended(Ending)
        /// The command has stopped. The caller must call ``stop(by:after:)``.
        case stopped(signal: Int32)
        case deadline
    }

    let identifier: pid_t

    private let terminal: CommandTerminal?
    /// `nil` if the command has a group of its own, or if there can be none.
    private let witness: GroupWitness?
    /// The signals that the main thread waits for.
    private let signals: sigset_t
    /// The signal that has stopped the command; `nil` while it runs.
    private var stoppedBy: Int32?
    /// Whether this process has received a stop signal too since the command last ran.
    private var wasAskedToStop = false
    /// Readable while one of the signals waits; negative if what the kernel says of a signal is needed to tell who
    /// received it, or if there can be no further descriptor.
    private let arrivals: Int32
    /// A stop signal that was forwarded, but left waiting, and until when; `nil` if there is none.
    private var waitingStop: (number: Int32, limit: ContinuousClock.Instant)?

    /// How long a stop signal waits for the command to stop. Until then, the same signal cannot be received again, as
    /// by a command that handles it slowly.
    private static let stopLimit = Duration.milliseconds(500)

    /// The signals of a fault of the process itself.
    private static let faults = [SIGSEGV, SIGBUS, SIGFPE, SIGILL]
    /// The signals that the kernel sends to the terminal's foreground process group.
    private static let groupSignals = [SIGINT, SIGQUIT, SIGWINCH] + stopSignals
    private static let stopSignals = [SIGTSTP, SIGTTIN, SIGTTOU]

    /// Starts a command.
    ///
    /// Call this on the main thread before starting others: they inherit the blocked signals.
    ///
    /// - Parameters:
    ///   - arguments: the unmodified command and its arguments, terminated by a null pointer.
    ///   - terminal: the terminal of the command; by default that of this process.
    init(_ arguments: Arguments, on terminal: CommandTerminal? = nil) throws(StartError) {
        var signals = sigset_t()
        sigfillset(&signals)
        for signal in Self.faults { sigdelset(&signals, signal) }
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        // If it were ignored, the exit status of the command would be lost (waitpid(2)).
        signal(SIGCHLD, SIG_DFL)
        if let terminal, terminal.hasSession {
            let parent = getpid()
            identifier = linux_fork()
            if identifier == 0 {
                CommandSession.run(arguments, on: terminal, of: parent, signals: signals, mask: before)
            }
            guard identifier > 0 else { throw StartError(arguments, errno) }
            witness = nil
        } else {
            let spawn = CommandSpawn(mask: before)
            for stream in terminal?.streams ?? [] { spawn.open(terminal?.path ?? "", as: stream) }
            do throws(StartError) {
                identifier = try spawn(arguments)
            } catch {
                pthread_sigmask(SIG_SETMASK, &before, nil)
                throw error
            }
            // After the start of the command, which must have the same closed streams, and the last process.
            StandardStreams.openMissing()
            witness = GroupWitness()
        }
        (self.terminal, self.signals) = (terminal, signals)
        arrivals = witness != nil || terminal?.hasSession == true ? linux_make_signal_descriptor(&signals) : -1
        Self.noteContinuations()
        terminal?.start()
    }

    /// Lets `SIGCONT` set ``lastContinuation`` while it is not blocked.
    private static func noteContinuations() {
        lastContinuation.initialize(to: siginfo_t())
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { _, information, _ in
            if let information { lastContinuation.pointee = information.pointee }
        }
        action.sa_flags = SA_SIGINFO | SA_RESTART
        sigaction(SIGCONT, &action, nil)
    }

    private var hasSession: Bool { terminal?.hasSession == true }

    // MARK: - Waiting

    /// Waits for an event of the command, and forwards signals.
    mutating func wait(until deadline: ContinuousClock.Instant? = nil) -> Event {
        while true {
            if let event = nextEvent() { return event }
            var signals = signals
            if let (number, limit) = waitingStop {
                sigdelset(&signals, number)
                if let info = Self.next(of: signals, until: min(limit, deadline ?? limit)) {
                    received(info.si_signo, info)
                } else if .now >= limit {
                    if isStopped { waitingStop?.limit = .now + Self.stopLimit } else { endWaitingStop() }
                } else {
                    return .deadline
                }
            } else if arrivals < 0 {
                guard let info = Self.next(of: signals, until: deadline) else { return .deadline }
                received(info.si_signo, info)
            } else {
                var arrival = pollfd(fd: arrivals, events: Int16(POLLIN), revents: 0)
                let limit = deadline.map { max(ContinuousClock.now.duration(to: $0), .zero).wholeMilliseconds + 1 }
                guard poll(&arrival, 1, limit.map { CInt(clamping: $0) } ?? -1) != 0 else { return .deadline }
                if let number = Self.stopSignals.first(where: Self.isPending) {
                    waitingStop = (number, .now + Self.stopLimit)
                    received(number, siginfo_t())
                } else if let info = Self.next(of: signals, until: .now) {
                    received(info.si_signo, info)
                }
            }
        }
    }

    /// Waits for one of the signals; `nil` if none came until the deadline.
    private static func next(of signals: sigset_t, until deadline: ContinuousClock.Instant?) -> siginfo_t? {
        var (signals, info) = (signals, siginfo_t())
        while true {
            var limit = timespec()
            if let deadline {
                let (seconds, attoseconds) = max(ContinuousClock.now.duration(to: deadline), .zero).components
                limit = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
            }
            let number = deadline == nil ? sigwaitinfo(&signals, &info) : sigtimedwait(&signals, &info, &limit)
            if number > 0 { return info }
            if errno == EAGAIN { return nil }
        }
    }

    /// Discards the stop signal that waits.
    private mutating func endWaitingStop() {
        if let number = waitingStop?.number { _ = Self.next(of: Self.set(of: number), until: .now) }
        waitingStop = nil
    }

    private mutating func nextEvent() -> Event? {
        var status: Int32 = 0
        // The leader of a session does not stop.
        let changes = hasSession ? 0 : WUNTRACED | WCONTINUED
        while waitpid(identifier, &status, WNOHANG | changes) == identifier {
            // wait(2): the low seven bits are 0x7F if the command has stopped.
            switch status & 0x7F {
            case _ where status == 0xFFFF: (stoppedBy, wasAskedToStop) = (nil, false)
            case 0x7F: stoppedBy = status >> 8
            default:
                witness?.end()
                return .ended(Ending(status: status))
            }
        }
        if let terminal, terminal.isCommandStopped {
            return .stopped(signal: terminal.isInForeground ? SIGTSTP : SIGTTIN)
        }
        // If only the command was stopped (`kill -STOP`), only the command will be continued. But a shell waits for its
        // foreground job, so that must stop too.
        guard let signal = stoppedBy, wasAskedToStop || Self.isInForeground else { return nil }
        return .stopped(signal: signal)
    }

    private mutating func received(_ number: Int32, _ info: siginfo_t) {
        if number == SIGCHLD { return }
        let hasReachedCommand = hasReachedCommand(number, info)
        if Self.stopSignals.contains(number) { wasAskedToStop = true }
        // The kernel has discarded the stop signal.
        if number == SIGCONT { (wasAskedToStop, waitingStop) = (false, nil) }
        if number == SIGWINCH, info.si_code > 0 { return sizeHasChanged() }
        // A stop signal that was forwarded after the SIGCONT of the group has stopped the command again.
        if hasReachedCommand, number != SIGCONT || !isStopped { return }
        if number == SIGCONT, hasSession { terminal?.continueCommand(of: identifier) } else { kill(identifier, number) }
    }

    private func sizeHasChanged() {
        guard let terminal else { return }
        terminal.copySize()
        // The kernel notifies the command only of a change of its controlling terminal, and has done so before.
        if !hasSession { kill(identifier, SIGWINCH) }
    }

    /// Whether the command has received the signal too.
    private func hasReachedCommand(_ number: Int32, _ info: siginfo_t) -> Bool {
        // First, because what the kernel says of it is not known if it was left waiting.
        if hasSession, Self.stopSignals.contains(number) { return terminal?.isOfKey(number) == true }
        // This process itself sends SIGPIPE, for a closed pipe. SI_USER is 0, the others of processes are negative.
        if info.si_code <= 0, info._sifields._kill.si_pid == getpid() { return true }
        // The command may have left the group.
        if witness?.hasReceived(number) == true { return getpgid(identifier) == getpgrp() }
        // Without the witness, the same for what the kernel sends.
        if hasSession || info.si_code <= 0 { return false }
        // When a terminal is closed, the kernel sends these two to the session leader only; when the leader ends, to
        // the group.
        if number == SIGHUP || number == SIGCONT { return getsid(0) != getpid() }
        return Self.groupSignals.contains(number)
    }

    /// Whether the command is stopped, or a signal that stops it waits.
    private var isStopped: Bool {
        if let terminal, hasSession { return terminal.isCommandStopped }
        // Twice: the state is read before the signals, and a signal may take effect in between.
        return appearsStopped || appearsStopped
    }

    private var appearsStopped: Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .isoLatin1) else {
            return true
        }
        func field(_ name: String) -> Substring? {
            status.split(separator: "\n").first { $0.hasPrefix(name) }?.dropFirst(name.count)
        }
        if field("State:\t")?.first == "T" { return true }
        // A set of bits, of which the lowest is signal 1 (proc(5)).
        let pending = field("ShdPnd:\t").flatMap { UInt64($0, radix: 16) } ?? 0
        return ([SIGSTOP] + Self.stopSignals).contains { pending >> UInt64($0 - 1) & 1 == 1 }
    }

    /// Whether a process of a group is neither stopped nor has ended.
    static func isRunning(group: pid_t) -> Bool {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.contains { name in
            guard name.first?.isNumber == true, let fields = fields(of: name), fields.count > 2 else { return false }
            return fields[2] == String(group) && !["T", "Z", "X"].contains(fields[0])
        }
    }

    /// The fields of a process's `stat` (proc(5)) after the name in parentheses: the state, the parent, the group.
    static func fields(of process: String) -> [Substring]? {
        guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .isoLatin1) else { return nil }
        return stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].dropFirst().split(separator: " ")
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
        let stopping = waitingStop?.number ?? (number == SIGSTOP ? SIGTSTP : number)
        signal(stopping, SIG_DFL)
        var continuation = Self.set(of: SIGCONT)
        lastContinuation.pointee.si_signo = 0
        // Also delivers one that waits.
        pthread_sigmask(SIG_UNBLOCK, &continuation, nil)
        if lastContinuation.pointee.si_signo == 0 {
            // A command that stops its own group, as editors do, would stop this one without a session.
            if waitingStop == nil { kill(hasSession && !wasAskedToStop ? 0 : getpid(), stopping) }
            terminal?.catchUp { lastContinuation.pointee.si_signo != 0 }
            prepare()
            terminal?.suspend()
            let isContinued = lastContinuation.pointee.si_signo != 0
            if !isContinued, isStopped {
                Self.letThrough(stopping)
            } else if !isContinued || waitingStop == nil {
                // The command was continued, perhaps before the signal above was sent.
                _ = Self.next(of: Self.set(of: stopping), until: .now)
            }
        }
        pthread_sigmask(SIG_BLOCK, &continuation, nil)
        waitingStop = nil
        (stoppedBy, wasAskedToStop) = (nil, false)
        if hasSession {
            // Also without SIGCONT: the kernel does not stop an orphaned process group, such as that of a terminal's
            // only program.
            terminal?.continueCommand(of: identifier)
        } else if lastContinuation.pointee.si_signo != 0 {
            received(SIGCONT, lastContinuation.pointee)
        }
    }

    /// Ends this process with the command's exit status or signal.
    static func end(_ ending: Ending) -> Never {
        switch ending {
        case .exited(let status): exit(status)
        case .killed(let signal):
            // A core dump of this process would be of the wrong program.
            linux_disable_core_dumps()
            takeByDefault(signal)
            // Process 1 of a container is not ended by signals.
            exit(128 + signal)
        }
    }

    /// Whether a signal that ends programs waits.
    var wasAskedToEnd: Bool { [SIGINT, SIGQUIT, SIGTERM, SIGHUP].contains(where: Self.isPending) }

    private static func isPending(_ number: Int32) -> Bool {
        var set = sigset_t()
        return sigpending(&set) == 0 && sigismember(&set, number) == 1
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

    static func set(of number: Int32) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        return set
    }
}

/// The last `SIGCONT` that was not blocked; its number is 0 if there was none.
// Unsafe: only the main thread uses it, and the signal handler on that thread; the others block all signals.
private nonisolated(unsafe) let lastContinuation = UnsafeMutablePointer<siginfo_t>.allocate(capacity: 1)
