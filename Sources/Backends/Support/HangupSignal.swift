import Foundation
import IndicatorCore
import Synchronization

/// Turns `SIGHUP` into calls, for all configured indicators of the process.
///
/// A handler, not `SIG_IGN` or a blocked signal: child processes inherit those, and would not end with their terminal
/// any more. It is there only while somebody listens, and only if nobody else handled the signal when the first one
/// began to.
final class HangupSignal: Sendable {
    static let shared = HangupSignal()

    /// Somebody who listens, until they end it.
    struct Subscription: Sendable {
        fileprivate var id: Int
        /// Whether the signal leads here; it does not when the app handles or ignores it.
        var isEffective: Bool
    }

    private struct State {
        var listeners: [Int: @Sendable () -> Void] = [:]
        var nextID = 0
        var isInstalled = false
        /// Whether the process had a terminal when it began to listen.
        var hadTerminal = false
    }

    private let state = Locked(State())

    private init() {}

    /// Calls `action` at every `SIGHUP`, on a thread of this class.
    func subscribe(_ action: @escaping @Sendable () -> Void) -> Subscription {
        state.withLock { state in
            if !state.isInstalled { state.isInstalled = install(&state) }
            state.nextID += 1
            state.listeners[state.nextID] = action
            return Subscription(id: state.nextID, isEffective: state.isInstalled)
        }
    }

    /// Stops calling. The handler is removed with the last listener.
    func cancel(_ subscription: Subscription) {
        state.withLock { state in
            state.listeners[subscription.id] = nil
            guard state.listeners.isEmpty, state.isInstalled else { return }
            state.isInstalled = false
            // A handler that the app has installed meanwhile stays.
            if Self.currentHandler == Self.address(of: hangupHandler) { Self.restoreDefault() }
        }
    }

    // MARK: - The handler

    private func install(_ state: inout State) -> Bool {
        guard Self.currentHandler == nil, prepareDescriptor() else { return false }
        state.hadTerminal = Self.hasTerminal
        var action = sigaction()
        action.__sigaction_handler.sa_handler = hangupHandler
        // The app's system calls are not to fail because of a reload.
        action.sa_flags = SA_RESTART
        return sigaction(SIGHUP, &action, nil) == 0
    }

    /// Makes the descriptors and their reader, once. They stay: the handler may be running on any thread while it is
    /// being removed.
    private func prepareDescriptor() -> Bool {
        guard hangupDescriptor.load(ordering: .acquiring) < 0 else { return true }
        guard let wakeUp = WakeUpDescriptors() else { return false }
        // A handler must not block, whatever the reader does.
        _ = fcntl(wakeUp.write, F_SETFL, O_NONBLOCK)
        guard OwnThread.start(named: "sighup", { self.read(from: wakeUp.read) }) else {
            close(wakeUp.read)
            close(wakeUp.write)
            return false
        }
        hangupDescriptor.store(wakeUp.write, ordering: .releasing)
        return true
    }

    private func read(from descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 64)
        while true {
            let count = Foundation.read(descriptor, &buffer, buffer.count)
            if count > 0 { hangup() } else if count == 0 || errno != EINTR { return }
        }
    }

    private func hangup() {
        let (listeners, hadTerminal) = state.withLock { (Array($0.listeners.values), $0.hadTerminal) }
        if hadTerminal, !Self.hasTerminal { Self.endProcess() }
        for listener in listeners { listener() }
    }

    /// The terminal was closed, which ends a program that does not handle the signal.
    private static func endProcess() {
        restoreDefault()
        var hangup = sigset_t()
        sigemptyset(&hangup)
        sigaddset(&hangup, SIGHUP)
        pthread_sigmask(SIG_UNBLOCK, &hangup, nil)
        kill(getpid(), SIGHUP)
    }

    /// The address of the present handler, `nil` for the default action.
    private static var currentHandler: UInt? {
        var action = sigaction()
        guard sigaction(SIGHUP, nil, &action) == 0 else { return 0 }
        return address(of: action.__sigaction_handler.sa_handler)
    }

    private static func address(of handler: (@convention(c) (Int32) -> Void)?) -> UInt? {
        handler.map { UInt(bitPattern: unsafeBitCast($0, to: Int.self)) }
    }

    private static func restoreDefault() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = nil
        sigaction(SIGHUP, &action, nil)
    }

    /// Whether the process has a controlling terminal: without one, /dev/tty cannot be opened, tty(4).
    private static var hasTerminal: Bool {
        let descriptor = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return errno != ENXIO && errno != ENOENT && errno != EIO }
        close(descriptor)
        return true
    }
}

/// Where the handler writes; negative before the first listener.
private let hangupDescriptor = Atomic<Int32>(-1)

/// Does what a signal handler may: one `write`.
private let hangupHandler: @convention(c) (Int32) -> Void = { _ in
    let code = errno
    var byte: UInt8 = 1
    _ = write(hangupDescriptor.load(ordering: .acquiring), &byte, 1)
    errno = code
}

/// Two connected descriptors by which one thread, or a signal handler, wakes another.
///
/// A pair of sockets rather than a pipe: it is closed on `exec` from the first moment, so that no child process that is
/// started meanwhile keeps it.
struct WakeUpDescriptors {
    var read: Int32
    var write: Int32

    /// Makes them; `nil` when that fails, with the reason in `errno`.
    init?() {
        var descriptors: [Int32] = [-1, -1]
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &descriptors) == 0 else { return nil }
        (read, write) = (descriptors[0], descriptors[1])
    }
}
