import DisplayText
import Foundation
package import IndicatorCore
import IndicatorThreads
import Synchronization

/// Handles signals and `exit` for the configured indicators of the process.
///
/// | signal | effect |
/// |---|---|
/// | `SIGINT`, `SIGTERM`, `SIGPIPE`, … | the indicators are shut down within a second; then it ends the process |
/// | the first `SIGINT` or `SIGTERM`, while `run(_:)` of an indicator works | a request to cancel |
/// | `SIGHUP` | the configurations are reloaded; if the terminal was closed, as for `SIGTERM` |
/// | `SIGTSTP` (Ctrl-Z) | titles are restored and lines removed, the process stops, and `fg` shows them again |
/// | `exit` | as for `SIGTERM`, then the process exits: by the signal, if one that ends it has arrived |
///
/// The first row is for every signal whose default action ends the process, except `SIGKILL` and those of a crash.
///
/// A handler is installed only if the signal has its default action, and a handler that the app installs later replaces
/// it. (On machines with a Swift toolchain, Swift's runtime handles `SIGQUIT` in apps on a terminal: it prints a
/// backtrace.) It is a handler, not `SIG_IGN` or a blocked signal, because child processes inherit those. It notes the
/// signal, because the app goes on when it returns, a wait of its `main` ends by `EINTR`, and its `exit` must not win;
/// and it writes a byte to a socket. A thread that reads the other end does everything else. A forked child inherits
/// the handler, but the indicators belong to its parent: there the handler restores the default action and raises the
/// signal again.
///
/// Where `SIGPIPE` has its default action, nobody expects that a write to a closed pipe returns, nor with `SIGSYS` that
/// a forbidden system call does. So their handler does not return, either, until the process ends.
///
/// An app may close descriptors that it does not know (closefrom(3)). From then on, signals have their default action.
package final class ProcessSignals: Sendable {
    package static let shared = ProcessSignals()

    /// How long a signal that ends the process is delayed at most: this long for the indicators, then
    /// for the hook.
    static let shutdownLimit: Duration = .milliseconds(800)

    /// What happens to a surface that outlives the indicators, such as a terminal, on the thread of this class: after
    /// the indicators were shut down, before the process is stopped, and after it was continued.
    package typealias Hooks = (
        didShutDown: @Sendable () -> Void, willStop: @Sendable () -> Void, didContinue: @Sendable () -> Void
    )

    private struct State {
        var reloads: [ObjectIdentifier: @Sendable () -> Void] = [:]
        /// The indicators whose backends have not stopped.
        var engines: [ObjectIdentifier: IndicatorEngine] = [:]
        /// Those whose work the next `SIGINT` or `SIGTERM` cancels.
        var cancellable: Set<ObjectIdentifier> = []
        var installed: Set<CInt> = []
        var hooks: Hooks?
    }

    private let state = Locked(State())

    private init() {}

    // MARK: - Subscribing

    /// Calls `action` for every `SIGHUP`, on the thread of this class, until the subscription is cancelled. Without
    /// effect if the app handles or ignores the signal.
    func subscribe(_ subscriber: ObjectIdentifier, _ action: @escaping @Sendable () -> Void) {
        change { state in
            state.reloads[subscriber] = action
            handlerState.reloads.store(true, ordering: .relaxed)
            _ = install(SIGHUP, &state)
        }
    }

    /// Ends a subscription. After the last one, `SIGHUP` ends the process.
    func cancel(_ subscriber: ObjectIdentifier) {
        // Returned, so that it is not released while the lock is held.
        _ = change { state in
            let reload = state.reloads.removeValue(forKey: subscriber)
            handlerState.reloads.store(!state.reloads.isEmpty, ordering: .relaxed)
            return reload
        }
    }

    /// Shuts an indicator down when a signal or `exit` ends the process, or waits for its shutdown if that has begun.
    ///
    /// The handlers remain after the last indicator has ended: they then only raise the signal again.
    package func shutDownWithProcess(_ manager: IndicatorManager) {
        let engine = manager.engine
        change { state in
            state.engines[ObjectIdentifier(engine)] = engine
            Self.observeExit()
            // Process 1 of a container ignores signals that it does not handle, so they must not end its indicator.
            if getpid() != 1 { for signal in Self.endingSignals + [SIGTSTP] { _ = install(signal, &state) } }
        }
        manager.engine.keep(EndOfIndicator(engine: engine))
    }

    /// The signals whose default action ends the process (signal(7)), except `SIGKILL` and those of a crash.
    private static let endingSignals: [CInt] = {
        let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
        let harmless = [SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH]
        // Up to the last real-time signal.
        return (1...64).filter { !(crashes + harmless + [SIGKILL]).contains($0) }
    }()

    /// Shuts an indicator down with the process, and lets the next `SIGINT` or `SIGTERM` cancel its work.
    package func cancelWithProcess(_ manager: IndicatorManager) {
        let id = ObjectIdentifier(manager.engine)
        if !change({ $0.engines.keys.contains(id) }) { shutDownWithProcess(manager) }
        change { state in
            state.cancellable.insert(id)
            handlerState.requestsCancellation.store(true, ordering: .relaxed)
        }
    }

    /// The work has ended: the next signal ends the process.
    package func endWork(_ manager: IndicatorManager) {
        change { state in
            state.cancellable.remove(ObjectIdentifier(manager.engine))
            if state.cancellable.isEmpty { handlerState.requestsCancellation.store(false, ordering: .relaxed) }
        }
    }

    /// Turns a signal into a request to cancel, once. Returns `false` if that reaches nobody.
    private func requestCancellation() -> Bool {
        let engines = change { state in
            defer { state.cancellable = [] }
            return state.cancellable.compactMap { state.engines[$0] }
        }
        return engines.count { $0.requestCancellation() } > 0
    }

    /// Removes an indicator after its backends have stopped.
    private final class EndOfIndicator: ManagerResource {
        private let engine: IndicatorEngine

        init(engine: IndicatorEngine) {
            self.engine = engine
        }

        func managerHasEnded() async {
            // Only waits: the shutdown has already begun.
            await engine.shutdown(timeLimit: .zero)
            // Returned, so that it is not deallocated while the lock is held.
            _ = ProcessSignals.shared.change { $0.engines.removeValue(forKey: ObjectIdentifier(engine)) }
        }
    }

    /// Signals are blocked while the lock is held: a handler of the app that calls `exit` would run the exit hook,
    /// which waits for the lock on the thread that holds it.
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        withSignalsBlocked { state.withLock { body(&$0) } }
    }

    // MARK: - The handler

    /// Returns whether the signal is received here.
    private func install(_ signal: CInt, _ state: inout State) -> Bool {
        if state.installed.contains(signal) { return true }
        guard Self.handler(of: signal) == nil, prepareDescriptor() else { return false }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = signalHandler
        // The app's system calls must not fail because of a reload. Languages with small stacks, such as Go, have
        // another one for signals.
        action.sa_flags = SA_RESTART | SA_ONSTACK
        guard sigaction(signal, &action, nil) == 0 else { return false }
        state.installed.insert(signal)
        return true
    }

    /// Creates the descriptors and their reader, once. They are never closed: the handler may still run on any thread
    /// while it is being removed.
    private func prepareDescriptor() -> Bool {
        guard handlerState.descriptor.load(ordering: .acquiring) < 0 else { return true }
        // Sockets instead of a pipe, because they are created with close-on-exec: no child process started meanwhile
        // inherits them.
        var descriptors: [Int32] = [-1, -1]
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &descriptors) == 0 else { return false }
        let (reading, writing) = (
            StandardStreams.excluding(descriptors[0]), StandardStreams.excluding(descriptors[1])
        )
        // A handler must never block.
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        guard ThreadStarter.start(named: "signals", { self.read(from: reading) }) else {
            close(reading)
            close(writing)
            return false
        }
        handlerState.hadTerminal.store(Self.hasTerminal, ordering: .relaxed)
        handlerState.identity.store(fileIdentity(of: writing), ordering: .relaxed)
        handlerState.owner.store(getpid(), ordering: .releasing)
        handlerState.descriptor.store(writing, ordering: .releasing)
        return true
    }

    private func read(from descriptor: CInt) {
        var byte: UInt8 = 0
        while true {
            // No `read`: an app may have closed the socket, and opened a file with its number.
            let count = recv(descriptor, &byte, 1, 0)
            if count == 1 { react(to: byte) } else if count == 0 || errno != EINTR { return }
        }
    }

    /// Handles a signal as the table of ``ProcessSignals`` describes, on the thread of this class.
    private func react(to byte: UInt8) {
        let signal = CInt(byte & ~HandlerState.request)
        guard change({ $0.installed.contains(signal) }) else { return }
        switch signal {
        case SIGHUP where endingSignal.load(ordering: .relaxed) != SIGHUP:
            for reload in change({ Array($0.reloads.values) }) { reload() }
        case SIGTSTP:
            hooks?.willStop()
            Self.raiseByDefault(SIGTSTP)
            // The process was stopped and continued. In an orphaned process group the signal has no effect.
            change { state in
                if state.installed.remove(SIGTSTP) != nil { _ = install(SIGTSTP, &state) }
            }
            hooks?.didContinue()
        case _ where byte & HandlerState.request != 0 && requestCancellation(): break
        default: end(by: signal)
        }
    }

    private func end(by signal: CInt) {
        endingSignal.store(signal, ordering: .relaxed)
        shutDown()
        hooks?.didShutDown()
        Self.raiseByDefault(signal)
    }

    private var hooks: Hooks? { change { $0.hooks } }

    /// Shuts the indicators down, and then calls the hooks, when `main` returns or `exit` is called, but not in a
    /// forked child, whose parent has them, in `_exit`, or when a signal ends the process.
    private static func observeExit() { _ = exitHook }

    /// Has hooks called from now on, also at `exit`.
    package static func observe(_ hooks: Hooks) {
        observeExit()
        shared.change { $0.hooks = hooks }
    }

    // MARK: - For programs that handle the signals themselves

    /// Shuts every indicator down, as a signal that ends the process does.
    package static func shutDownIndicators() {
        shared.shutDown()
        shared.hooks?.didShutDown()
    }

    /// Ends the process by the signal that has arrived, if one has, as shells and scripts expect.
    package static func endBySignal() {
        let ending = endingSignal.load(ordering: .relaxed)
        let signal = ending != 0 ? ending : handlerState.cancellingSignal.load(ordering: .relaxed)
        guard signal != 0 else { return }
        // As `exit` does, but another thread that reads standard input has the lock of that stream, the last one.
        let isFlushed = DispatchSemaphore(value: 0)
        let starts = ThreadStarter.start(named: "flush") {
            fflush(nil)
            isFlushed.signal()
        }
        if starts { _ = isFlushed.wait(timeout: .now() + .milliseconds(200)) }
        raiseByDefault(signal)
    }

    /// Prepares for being stopped, as Ctrl-Z does.
    package static func willStop() { shared.hooks?.willStop() }

    /// Shows everything again.
    package static func didContinue() { shared.hooks?.didContinue() }

    /// Shuts every indicator down, and waits for at most ``shutdownLimit``.
    private func shutDown() {
        let engines = change { Array($0.engines.values) }
        if engines.isEmpty { return }
        let done = DispatchSemaphore(value: 0)
        // Otherwise, no backend has ever begun.
        guard ServiceThread.canFinishWork else { return }
        // On a separate thread: the app may block all others.
        let thread = ServiceThread(name: "shutdown", idleTime: .zero)
        Task(executorPreference: thread) {
            await withTaskGroup { group in
                for engine in engines { group.addTask { await engine.shutdown(timeLimit: Self.shutdownLimit) } }
            }
            done.signal()
        }
        _ = done.wait(timeout: .now() + .milliseconds(Self.shutdownLimit.wholeMilliseconds))
    }

    /// Sends the signal to this thread, with its default action unless the app has installed a handler.
    ///
    /// To the thread, not to the process, so that it takes effect before this returns: a stop signal stops all threads,
    /// and a fatal one ends the process.
    private static func raiseByDefault(_ signal: CInt) {
        restoreDefault(signal)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, signal)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        pthread_kill(pthread_self(), signal)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// The address of the installed handler; `nil` for the default action.
    private static func handler(of signal: CInt) -> UInt? {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return 0 }
        return address(of: action.__sigaction_handler.sa_handler)
    }

    private static func address(of handler: (@convention(c) (CInt) -> Void)?) -> UInt? {
        handler.map { UInt(bitPattern: unsafeBitCast($0, to: Int.self)) }
    }

    /// Removes the handler of this class; a handler of the app remains.
    private static func restoreDefault(_ signal: CInt) {
        guard handler(of: signal) == address(of: signalHandler) else { return }
        Foundation.signal(signal, SIG_DFL)
    }

    /// Whether the process has a controlling terminal: without one, `/dev/tty` cannot be opened (tty(4)).
    fileprivate static var hasTerminal: Bool {
        let descriptor = StandardStreams.excluding(open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC))
        guard descriptor >= 0 else { return errno != ENXIO && errno != ENOENT && errno != EIO }
        close(descriptor)
        return true
    }
}

private let exitHook: Void = {
    exitOwner.store(getpid(), ordering: .relaxed)
    let hook: @convention(c) () -> Void = {
        guard getpid() == exitOwner.load(ordering: .relaxed) else { return }
        ProcessSignals.shutDownIndicators()
        ProcessSignals.endBySignal()
    }
    atexit(hook)
    at_quick_exit(hook)
}()

private let exitOwner = Atomic<pid_t>(0)

/// What the handler uses: atomics, because it may run on any thread and within any other function.
private struct HandlerState: ~Copyable {
    /// The bit of a byte that is a request to cancel.
    static var request: UInt8 { 0x80 }

    /// The descriptor that the handler writes to; negative before the first subscription.
    let descriptor = Atomic<CInt>(-1)
    /// Its socket, which has an identity of its own among all sockets.
    let identity = Atomic<UInt>(0)
    /// The process that owns the indicators.
    let owner = Atomic<pid_t>(0)
    /// Whether the next `SIGINT` or `SIGTERM` is a request to cancel.
    let requestsCancellation = Atomic(false)
    /// The signal that was a request to cancel; 0 if there was none.
    let cancellingSignal = Atomic<CInt>(0)
    /// Whether `SIGHUP` reloads configurations.
    let reloads = Atomic(false)
    /// Whether the process had a terminal when the first handler was installed.
    let hadTerminal = Atomic(false)
}

private let handlerState = HandlerState()

/// Tells the file of a descriptor from others; 0 if there is none. Async-signal-safe.
private func fileIdentity(of descriptor: CInt) -> UInt {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? status.st_dev << 48 ^ status.st_ino : 0
}

/// Async-signal-safe: atomics, and functions of signal-safety(7).
private let signalHandler: @convention(c) (CInt) -> Void = { number in
    let code = errno
    defer { errno = code }
    guard getpid() == handlerState.owner.load(ordering: .acquiring) else {
        // The default action, after the handler has returned.
        signal(number, SIG_DFL)
        raise(number)
        return
    }
    var byte = UInt8(truncatingIfNeeded: number)
    switch number {
    case SIGTSTP: break
    // The terminal may still exist: then it is not the reason.
    case SIGHUP
    where handlerState.reloads.load(ordering: .relaxed)
        && (!handlerState.hadTerminal.load(ordering: .relaxed) || ProcessSignals.hasTerminal):
        break
    case SIGINT, SIGTERM:
        if handlerState.requestsCancellation.exchange(false, ordering: .relaxed) {
            handlerState.cancellingSignal.store(number, ordering: .relaxed)
            byte |= HandlerState.request
        } else {
            endingSignal.store(number, ordering: .relaxed)
        }
    default: endingSignal.store(number, ordering: .relaxed)
    }
    let descriptor = handlerState.descriptor.load(ordering: .acquiring)
    if fileIdentity(of: descriptor) == handlerState.identity.load(ordering: .relaxed),
        send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 || errno == EAGAIN
    {
        guard number == SIGPIPE || number == SIGSYS else { return }
        // Ended by the thread of this class. If that waits for what this thread holds, the signal ends the process
        // without it.
        for _ in 0..<15 { poll(nil, 0, 100) }
    }
    // The default action, after the handler has returned.
    signal(number, SIG_DFL)
    raise(number)
}

/// Runs `body` with every signal blocked on this thread.
///
/// Otherwise a write by a background process would stop the app (`SIGTTOU`, after `stty tostop`), and a handler that
/// calls `exit` could run while this thread holds a lock that the exit hook takes.
package func withSignalsBlocked<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result
{
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    return try body()
}
