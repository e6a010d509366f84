import CLinux
import Foundation

/// A command that runs as if the shell had started it instead of this program.
///
/// It is in this process's group, so that the terminal and the shell's job control reach it as they reach this process,
/// and inherits the standard streams, the environment, and the signals that are ignored and blocked.
///
/// | signal | what happens |
/// |---|---|
/// | from the terminal (Ctrl-C, Ctrl-\\, Ctrl-Z, its size) | the command got it too, and decides what it does |
/// | from a closed terminal | the same, but where this process leads the session it alone got it: it is passed on |
/// | from a process (`kill`), or by `alarm` | it is passed on |
/// | that stops the command | this process stops by the same signal, once the command has stopped |
/// | `SIGCONT` | passed on to a command that is still stopped |
///
/// No handlers: the signals are blocked, and the main thread waits for them (sigwaitinfo(2)), so nothing runs while
/// anything else does. `SIGKILL` and `SIGSTOP` cannot be passed on, and those of a fault (`SIGSEGV` and the like) are
/// not.
struct ChildCommand {
    /// A command could not be run.
    struct StartError: Error, CustomStringConvertible {
        let command: String
        let errorNumber: Int32

        /// As a shell and env(1) have it: 127 for a command that does not exist, 126 for one that cannot be run.
        var status: Int32 { errorNumber == ENOENT ? 127 : 126 }

        var description: String { "cannot run '\(command)': \(String(cString: strerror(errorNumber)))" }
    }

    /// How a command ended.
    enum Ending: Hashable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    /// What ``wait(until:)`` returns for.
    enum Event: Hashable {
        case ended(Ending)
        /// It has stopped, and this process is to do the same by ``stop(by:)``.
        case stopped(signal: Int32)
        case deadline
    }

    let identifier: pid_t

    private let maskBefore: sigset_t
    /// The signals that are waited for.
    private let signals: sigset_t
    /// The signal by which the command is stopped; `nil` while it runs.
    private var stoppedBy: Int32?
    /// Whether this process got a stop signal as well since the command last ran.
    private var wasAskedToStop = false

    /// Those that tell a process of a fault of its own.
    private static let faults = [SIGSEGV, SIGBUS, SIGFPE, SIGILL]
    /// Those that the kernel sends to the group of the terminal's foreground.
    private static let groupSignals = [SIGINT, SIGQUIT, SIGWINCH] + stopSignals
    private static let stopSignals = [SIGTSTP, SIGTTIN, SIGTTOU]

    /// Starts a command.
    ///
    /// Called on the main thread, before there are others: they inherit that the signals are blocked.
    ///
    /// - Parameter arguments: the command and its arguments as the program got them, then a null pointer.
    init(_ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) throws(StartError) {
        var signals = sigset_t()
        sigfillset(&signals)
        for signal in Self.faults { sigdelset(&signals, signal) }
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        // An ignored one would hide how the command ends (waitpid(2)).
        signal(SIGCHLD, SIG_DFL)
        let (result, identifier) = Self.spawn(arguments, mask: before)
        guard result == 0 else {
            pthread_sigmask(SIG_SETMASK, &before, nil)
            throw StartError(command: arguments[0].map { String(cString: $0) } ?? "", errorNumber: result)
        }
        (self.identifier, self.signals, maskBefore) = (identifier, signals, before)
    }

    // MARK: - Waiting

    /// Waits until something has happened to the command, and passes signals on meanwhile.
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
            // wait(2): the low seven bits are the signal that ended it, 0 if it exited, 0x7F if it stopped.
            switch status & 0x7F {
            case _ where status == 0xFFFF: (stoppedBy, wasAskedToStop) = (nil, false)
            case 0x7F: stoppedBy = status >> 8
            case 0: return .ended(.exited(status >> 8 & 0xFF))
            case let signal: return .ended(.killed(signal: signal))
            }
        }
        // Who stops only the command (`kill -STOP`) continues only the command; but a shell waits for its foreground
        // job.
        guard let signal = stoppedBy, wasAskedToStop || Self.isInForeground else { return nil }
        return .stopped(signal: signal)
    }

    private mutating func received(_ number: Int32, _ info: siginfo_t) {
        if Self.stopSignals.contains(number) { wasAskedToStop = true }
        guard number != SIGCHLD, !Self.hasReachedCommand(number, info) else { return }
        // The shell's SIGCONT goes to the group as well, and a command that has run on need not get it twice.
        if number == SIGCONT, !isStopped { return }
        kill(identifier, number)
    }

    /// Whether the command got the signal as well, or it is only for this process.
    private static func hasReachedCommand(_ number: Int32, _ info: siginfo_t) -> Bool {
        // From a process: SI_USER is 0, the others are negative. One of our own is SIGPIPE, of a closed pipe.
        guard info.si_code > 0 else { return info._sifields._kill.si_pid == getpid() }
        // A closed terminal sends these two to the leader of the session alone; its end sends them to the group.
        if number == SIGHUP || number == SIGCONT { return getsid(0) != getpid() }
        return groupSignals.contains(number)
    }

    /// Whether the command is stopped now: the third field of proc(5)'s `stat`, after the name in parentheses.
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

    // MARK: - Doing the same

    /// Stops this process by the signal that has stopped the command. Returns when it is continued, at once if that has
    /// happened meanwhile.
    ///
    /// - Parameter prepare: what is done before.
    mutating func stop(by number: Int32, after prepare: () -> Void) {
        // Until it is let through it waits, and SIGCONT takes it back (signal(7)). SIGSTOP would not wait.
        let waiting = number == SIGSTOP ? SIGTSTP : number
        signal(waiting, SIG_DFL)
        kill(getpid(), waiting)
        prepare()
        // A SIGCONT that came earlier has continued the command.
        if isStopped, number != SIGSTOP {
            Self.letThrough(number)
        } else {
            var set = Self.set(of: waiting)
            var none = timespec()
            let isStillWaiting = sigtimedwait(&set, nil, &none) == waiting
            if number == SIGSTOP, isStillWaiting, isStopped { kill(getpid(), SIGSTOP) }
        }
        // Unless the command has been stopped anew, it runs again, or SIGCONT, which is waited for, continues it.
        (stoppedBy, wasAskedToStop) = (nil, false)
    }

    /// Ends this process as the command has ended.
    func end(_ ending: Ending) -> Never {
        switch ending {
        case .exited(let status): exit(status)
        case .killed(let signal):
            // The command has left a core dump, if any; another one would be of the wrong program.
            linux_disable_core_dumps()
            Self.takeByDefault(signal)
            // Process 1 of a container does not die by signals.
            exit(128 + signal)
        }
    }

    /// Has a signal do to this process what it does by default.
    private static func takeByDefault(_ number: Int32) {
        signal(number, SIG_DFL)
        kill(getpid(), number)
        letThrough(number)
    }

    /// Lets a signal through that waits because it is blocked.
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
        // A script without `#!`, which shells and execvp(3) run with sh.
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

    /// Where a command is: its name if that is a path, else the first such file on the `PATH`.
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
