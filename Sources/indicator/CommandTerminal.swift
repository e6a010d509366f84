import Foundation
import IndicatorBackends
import IndicatorThreads
import Synchronization

/// The pseudo terminal of a command while bars are shown: its output appears above them.
///
/// If the three standard streams are the terminal, the command gets a session on the pseudo terminal. This program's
/// terminal is in raw mode meanwhile: keys are passed on, and the pseudo terminal, which has the modes of the terminal,
/// interprets them. A key that sends a signal also sends it to this program's process group, as the terminal would.
/// ``CommandSession`` describes job control.
///
/// If a stream is redirected, the others are replaced by the pseudo terminal, but only for their output: the command
/// stays in this process's group and keeps its controlling terminal.
final class CommandTerminal: Sendable {
    /// The standard streams that the command gets from the pseudo terminal.
    let streams: [CInt]
    private let relay: TerminalRelay
    /// The terminal of this program.
    private let outer: CInt
    private let modes: Locked<TerminalModes>
    /// What the process that leads the session reports to this one, in memory that both share.
    // Unsafe: after `init`, only that process writes what is not atomic: the command, one word, when it starts it, and
    // the modes before it ends, after which this process reads them.
    nonisolated(unsafe) let report: UnsafeMutablePointer<Report>
    /// The modes of the pseudo terminal at the start of the command.
    private let initialModes: TerminalModes?
    /// Whether the thread for the keys was started.
    private let hasKeys = Atomic(false)
    private let isPassingKeys = Atomic(false)
    private let keysChanged: WakeUp
    /// The last stop signal of a key, until this process has received it.
    private let stopOfKey = Atomic<CInt>(0)

    struct Report: ~Copyable {
        /// The process ID and the process group of the command; 0 before it was started.
        var command: pid_t = 0
        /// How often this process has continued the command.
        let continuations = Atomic(0)
        /// The number of continuations before the command's last stop; negative if it runs.
        let stop = Atomic(-1)
        /// Whether this process was in the foreground at the last continuation.
        let isInForeground = Atomic(true)
        /// The modes that the command has left, if it has exited.
        var modes: TerminalModes?
    }

    /// Opens a pseudo terminal if the app's configuration shows bars on this terminal; otherwise the command needs
    /// none. Also `nil` in the background, where no bars are drawn.
    init?(app: String) {
        let standard = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        guard Self.canStartThreads, TerminalRelay.isControllingTerminal(STDERR_FILENO),
            standard.allSatisfy({ fcntl($0, F_GETFD) >= 0 }),
            IndicatorConfiguration.showsBars(for: app)
        else { return nil }
        outer = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        let terminals = standard.filter { TerminalRelay.isControllingTerminal($0) }
        streams = terminals.count == 3 ? standard : terminals.filter { $0 != STDIN_FILENO }
        guard let modes = TerminalModes(of: outer), tcgetpgrp(outer) == getpgrp(), let keysChanged = WakeUp(),
            let relay = try? TerminalRelay(above: STDERR_FILENO, isOutputOnly: terminals.count < 3),
            let memory = Self.sharedMemory(of: MemoryLayout<Report>.size)
        else {
            if outer >= 0 { close(outer) }
            return nil
        }
        (self.relay, self.keysChanged) = (relay, keysChanged)
        self.modes = Locked(modes)
        initialModes = TerminalModes(of: relay.master)
        report = memory.bindMemory(to: Report.self, capacity: 1)
        report.initialize(to: Report())
        // gpg(1) has the terminal that its variable names opened by pinentry(1), which changes nothing but the echo.
        if hasSession, let name = ttyname(STDERR_FILENO), let old = getenv("GPG_TTY"), strcmp(old, name) == 0 {
            setenv("GPG_TTY", relay.path, 1)
        }
    }

    /// Whether the process may have the threads and processes of a pseudo terminal, without which nothing would pass
    /// through it. They are started after the command, since fork(2) needs a process with one thread.
    private static var canStartThreads: Bool {
        var threads: [pthread_t] = []
        let mayEnd = DispatchSemaphore(value: 0)
        let context = Unmanaged.passUnretained(mayEnd).toOpaque()
        guard ThreadStarter.hasMemory(forThreads: 6) else { return false }
        for _ in 0..<6 {
            var thread = pthread_t()
            let status = pthread_create(
                &thread,
                nil,
                { context in
                    if let context { Unmanaged<DispatchSemaphore>.fromOpaque(context).takeUnretainedValue().wait() }
                    return nil
                },
                context
            )
            if status == 0 { threads.append(thread) }
        }
        for _ in threads { mayEnd.signal() }
        for thread in threads { pthread_join(thread, nil) }
        return threads.count == 6
    }

    deinit {
        close(outer)
        munmap(report, MemoryLayout<Report>.size)
    }

    /// Memory that this process shares with those that it forks.
    private static func sharedMemory(of size: Int) -> UnsafeMutableRawPointer? {
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        return memory == MAP_FAILED ? nil : memory
    }

    /// Whether the command has a session on the pseudo terminal.
    var hasSession: Bool { streams.count == 3 }
    /// The path of the pseudo terminal.
    var path: String { relay.path }
    /// Whether this process is in the foreground of its terminal.
    var isInForeground: Bool { tcgetpgrp(outer) == getpgrp() }

    /// Connects the terminals after the start of the command.
    func start() {
        if hasSession { relay.isOnlyWriter() }
        _ = startThreads()
    }

    /// Starts the threads that pass on the keys and the output, unless they run.
    ///
    /// - Returns: whether both run.
    func startThreads() -> Bool {
        if hasSession, !hasKeys.load(ordering: .relaxed) {
            guard ThreadStarter.start(named: "exec-keys", { self.passKeys() }) else { return false }
            hasKeys.store(true, ordering: .relaxed)
            resume()
        }
        return relay.start()
    }

    /// Passes on the rest of the command's output.
    ///
    /// - Returns: whether everything was written within the limit.
    func finish(within limit: Duration) -> Bool { relay.finish(within: limit) }

    /// Follows the size of the window. The kernel notifies the command.
    func copySize() { relay.copySize() }

    /// Passes on what the stopped command has written, if the terminal accepts it.
    ///
    /// - Parameter isContinued: whether there is no more reason to wait.
    func catchUp(unless isContinued: () -> Bool) {
        // Other processes of its group, such as a pager that a script runs, may still have to restore the screen.
        let group = report.pointee.command
        for _ in 0..<100 where group > 0 && !isContinued() && ChildCommand.isRunning(group: group) { usleep(10_000) }
        relay.catchUp(within: .milliseconds(100))
    }

    /// Restores the modes of this program's terminal after the end of the command, with the changes of one that has
    /// exited.
    func end() {
        if let changed = report.pointee.modes, changed != initialModes { modes.withLock { $0 = changed } }
        suspend()
    }

    /// Restores the modes of this program's terminal.
    func suspend() {
        guard isPassingKeys.exchange(false, ordering: .relaxed) else { return }
        keysChanged.wake()
        if isInForeground { modes.withLock { $0 }.set(on: outer) }
    }

    /// Whether the command has stopped, and was not continued since.
    var isCommandStopped: Bool {
        report.pointee.stop.load(ordering: .acquiring) == report.pointee.continuations.load(ordering: .relaxed)
    }

    /// Continues the command, in the foreground of its session if this process is in that of the terminal.
    func continueCommand(of leader: pid_t) {
        // The kernel has discarded it, if it still waited.
        stopOfKey.store(0, ordering: .relaxed)
        resume()
        report.pointee.isInForeground.store(isInForeground, ordering: .relaxed)
        // Discards the stop signals that the leader has not forwarded. First: it could otherwise forward one after it
        // has seen the continuation, and the command would stay stopped.
        kill(leader, SIGCONT)
        report.pointee.continuations.add(1, ordering: .releasing)
        // This signal cannot be discarded by a later one.
        kill(leader, SIGCHLD)
    }

    /// Sets this program's terminal to raw mode if this process is in its foreground.
    func resume() {
        copySize()
        guard hasKeys.load(ordering: .relaxed), isInForeground, let current = TerminalModes(of: outer) else { return }
        // Not what ``isPassingKeys`` says: `kill -STOP` stops this process without ``suspend()``.
        if !current.isRaw {
            modes.withLock { $0 = current }
            current.raw.set(on: outer)
        }
        isPassingKeys.store(true, ordering: .relaxed)
        keysChanged.wake()
    }

    /// Closes what only the parent needs, in the process that leads the command's session.
    func closeParentSide() { close(relay.master) }

    /// Repairs the terminal after this program was killed: removes its lines, and ends raw mode unless the shell has.
    func repair() {
        TerminalRelay.repair(outer)
        if TerminalModes(of: outer)?.isRaw == true { modes.withLock { $0 }.set(on: outer) }
    }

    // MARK: - Keys

    private func passKeys() {
        var keys = [UInt8](repeating: 0, count: 4096)
        var pending: ArraySlice<UInt8> = []
        var isClosed = false
        // Whether keys are for a program that has opened this program's terminal by name, such as pinentry(1): it has
        // changed the modes, and restores them.
        var isInUse = false
        while true {
            let isReading = pending.isEmpty && !isClosed && !isInUse && isPassingKeys.load(ordering: .relaxed)
            var waited = [
                pollfd(fd: keysChanged.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isReading ? outer : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: pending.isEmpty ? -1 : relay.master, events: Int16(POLLOUT), revents: 0),
            ]
            poll(&waited, 3, isInUse ? 50 : -1)
            if waited[0].revents != 0 { keysChanged.clear() }
            if isInUse || waited[1].revents != 0 {
                // Reading fails outside the foreground, where `kill -STOP` may have left this process.
                if !isInForeground {
                    isPassingKeys.store(false, ordering: .relaxed)
                    // ``resume()`` may have been called meanwhile.
                    if isInForeground { isPassingKeys.store(true, ordering: .relaxed) }
                }
                isInUse = isPassingKeys.load(ordering: .relaxed) && TerminalModes(of: outer)?.isRaw == false
            }
            if waited[1].revents != 0, !isInUse, isPassingKeys.load(ordering: .relaxed) {
                let count = read(outer, &keys, keys.count)
                if count > 0 {
                    pending = keys[..<count]
                    signalGroup(pending)
                }
                isClosed = count <= 0 && waited[1].revents & Int16(POLLHUP | POLLERR) != 0
            }
            guard !pending.isEmpty else { continue }
            let count = pending.withUnsafeBytes { write(relay.master, $0.baseAddress, $0.count) }
            if count < 0, errno != EAGAIN, errno != EINTR { return }
            pending = pending.dropFirst(max(count, 0))
        }
    }

    /// Sends the signals of keys to this process's group, which must get them before the command can end. This process
    /// ignores its own.
    private func signalGroup(_ keys: ArraySlice<UInt8>) {
        // Otherwise, a shell has another job in the foreground of the session.
        guard tcgetpgrp(relay.master) == report.pointee.command, let modes = TerminalModes(of: relay.master) else {
            return
        }
        for key in keys {
            guard let signal = modes.signal(ofKey: key) else { continue }
            if signal == SIGTSTP { stopOfKey.store(signal, ordering: .relaxed) }
            kill(0, signal)
        }
    }

    /// Whether a stop signal that this process has received is that of a key, which the command has received, too.
    func isOfKey(_ number: CInt) -> Bool { stopOfKey.exchange(0, ordering: .relaxed) == number }
}
