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
    private let isPassingKeys = Atomic(false)
    private let keysChanged: WakeUp

    /// Opens a pseudo terminal if the app's configuration shows bars on this terminal; otherwise the command needs
    /// none. Also `nil` in the background, where no bars are drawn.
    init?(app: String) {
        let standard = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        guard TerminalRelay.isControllingTerminal(STDERR_FILENO), standard.allSatisfy({ fcntl($0, F_GETFD) >= 0 }),
            IndicatorConfiguration.showsBars(for: app)
        else { return nil }
        outer = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        let terminals = standard.filter { TerminalRelay.isControllingTerminal($0) }
        streams = terminals.count == 3 ? standard : terminals.filter { $0 != STDIN_FILENO }
        guard let modes = TerminalModes(of: outer), tcgetpgrp(outer) == getpgrp(), let keysChanged = WakeUp(),
            let relay = try? TerminalRelay(above: STDERR_FILENO, isOutputOnly: terminals.count < 3)
        else {
            if outer >= 0 { close(outer) }
            return nil
        }
        (self.relay, self.keysChanged) = (relay, keysChanged)
        self.modes = Locked(modes)
    }

    deinit {
        close(outer)
    }

    /// Whether the command has a session on the pseudo terminal.
    var hasSession: Bool { streams.count == 3 }
    /// The path of the pseudo terminal.
    var path: String { relay.path }
    /// Whether this process is in the foreground of its terminal.
    var isInForeground: Bool { tcgetpgrp(outer) == getpgrp() }

    /// Connects the terminals after the start of the command.
    func start() {
        if hasSession {
            relay.isOnlyWriter()
            // Without it, keys have no effect, but the command runs.
            _ = ThreadStarter.start(named: "exec-keys") { self.passKeys() }
            resume()
        }
        _ = relay.start()
    }

    /// Passes on the rest of the command's output.
    ///
    /// - Returns: whether everything was written within the limit.
    func finish(within limit: Duration) -> Bool { relay.finish(within: limit) }

    /// Follows the size of the window. The kernel notifies the command.
    func copySize() { relay.copySize() }

    /// Passes on what the stopped command has written, if the terminal accepts it.
    func catchUp() { relay.catchUp(within: .milliseconds(100)) }

    /// Restores the modes of this program's terminal.
    func suspend() {
        guard isPassingKeys.exchange(false, ordering: .relaxed) else { return }
        keysChanged.wake()
        if isInForeground { modes.withLock { $0 }.set(on: outer) }
    }

    /// Sets this program's terminal to raw mode if this process is in its foreground.
    func resume() {
        copySize()
        guard hasSession, isInForeground, !isPassingKeys.load(ordering: .relaxed),
            let current = TerminalModes(of: outer)
        else { return }
        modes.withLock { $0 = current }
        current.raw.set(on: outer)
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
        while true {
            let isReading = pending.isEmpty && !isClosed && isPassingKeys.load(ordering: .relaxed)
            var waited = [
                pollfd(fd: keysChanged.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isReading ? outer : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: pending.isEmpty ? -1 : relay.master, events: Int16(POLLOUT), revents: 0),
            ]
            poll(&waited, 3, -1)
            if waited[0].revents != 0 { keysChanged.clear() }
            if waited[1].revents != 0, isPassingKeys.load(ordering: .relaxed) {
                let count = read(outer, &keys, keys.count)
                if count > 0 { pending = keys[..<count] }
                isClosed = count == 0 || count < 0 && errno != EAGAIN && errno != EINTR && isInForeground
            }
            guard !pending.isEmpty else { continue }
            let modes = TerminalModes(of: relay.master)
            let count = pending.withUnsafeBytes { write(relay.master, $0.baseAddress, $0.count) }
            if count < 0, errno != EAGAIN, errno != EINTR { return }
            let written = pending.prefix(max(count, 0))
            pending = pending.dropFirst(written.count)
            // The command has received the signal from its terminal; this process ignores its own.
            for key in written { if let signal = modes?.signal(ofKey: key) { kill(0, signal) } }
        }
    }
}
