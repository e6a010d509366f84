package import IndicatorCore
import Foundation
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
/// and it wakes a thread, which does everything else. A forked child inherits the handler, but the indicators belong to
/// its parent: there the handler restores the default action and raises the signal again.
///
/// Where `SIGPIPE` has its default action, nobody expects that a write to a closed pipe returns, nor with `SIGSYS` that
/// a forbidden system call does. So their handler does not return, either, until the process ends.
package enum ProcessSignals {
    /// How long a signal that ends the process is delayed at most: this long for the indicators, then for the hook.
    /// Only the tests' app sets another one, for machines on which a wake-up takes that long: before it does anything
    /// else, so no other thread reads it then.
    nonisolated(unsafe) package static var shutdownLimit: Duration = .milliseconds(800)

    /// What happens to a surface that outlives the indicators, such as a terminal, on the thread of this type: after
    /// the indicators were shut down, before the process is stopped, and after it was continued.
    package typealias Hooks = (
        didShutDown: @Sendable () -> Void, willStop: @Sendable () -> Void, didContinue: @Sendable () -> Void
    )

    /// An indicator whose backends have not stopped.
    private struct Client {
        let engine: IndicatorEngine
        var reload: (@Sendable () -> Void)?
        /// Whether the next `SIGINT` or `SIGTERM` cancels its work.
        var isCancellable = false
    }

    private struct State {
        var clients: [ObjectIdentifier: Client] = [:]
        var hooks: Hooks?
    }

    private static let state = Locked(State())

    /// Signals are blocked while the lock is held: a handler of the app that calls `exit` would run the exit hook,
    /// which waits for the lock on the thread that holds it.
    private static func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        withSignalsBlocked {
            state.withLock { state in
                defer {
                    let clients = state.clients.values
                    let requestsCancellation = clients.contains(where: \.isCancellable)
                    handlerState.reloads.store(clients.contains { $0.reload != nil }, ordering: .relaxed)
                    handlerState.requestsCancellation.store(requestsCancellation, ordering: .relaxed)
                }
                return body(&state)
            }
        }
    }

    // MARK: - Subscribing

    /// Shuts an indicator down when a signal or `exit` ends the process, or waits for its shutdown if that has begun.
    ///
    /// The handlers remain after the last indicator was removed: they then only raise the signal again.
    ///
    /// - Parameters:
    ///   - cancelsWork: whether the next `SIGINT` or `SIGTERM` is a request to cancel its work instead; `nil` leaves
    ///     that as it is.
    ///   - reload: called for every `SIGHUP`, on the thread of this type. Without effect if the app handles or ignores
    ///     the signal.
    package static func shutDownWithProcess(
        _ engine: IndicatorEngine,
        cancelsWork: Bool? = nil,
        reload: (@Sendable () -> Void)? = nil
    ) {
        _ = exitOwner
        change { state in
            var client = state.clients[ObjectIdentifier(engine)] ?? Client(engine: engine)
            client.isCancellable = cancelsWork ?? client.isCancellable
            client.reload = reload ?? client.reload
            state.clients[ObjectIdentifier(engine)] = client
            // Process 1 of a container ignores signals that it does not handle, so they must not end its indicator.
            let signals = getpid() != 1 ? endingSignals + [SIGTSTP] : reload != nil ? [SIGHUP] : []
            for signal in signals { install(signal) }
        }
    }

    /// Removes an indicator whose backends have stopped.
    package static func remove(_ engine: IndicatorEngine) {
        // Returned, so that it is not released while the lock is held.
        _ = change { $0.clients.removeValue(forKey: ObjectIdentifier(engine)) }
    }

    /// The signals whose default action ends the process (signal(7)), except `SIGKILL` and those of a crash.
    private static let endingSignals: [CInt] = {
        let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
        let harmless = [SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH]
        // Up to the last real-time signal.
        return (1...64).filter { !(crashes + harmless + [SIGKILL]).contains($0) }
    }()

    // MARK: - The handler

    /// Installs the handler if the signal has its default action, and starts the thread before that. The thread never
    /// ends: the handler may still run on any other one while it is being removed.
    private static func install(_ signal: CInt) {
        guard handler(of: signal) == 0 else { return }
        if handlerState.owner.load(ordering: .relaxed) != getpid() {
            guard ThreadStarter.start(named: "signals", { while true { awaitSignal() } }) else { return }
            handlerState.hadTerminal.store(hasTerminal, ordering: .relaxed)
            handlerState.owner.store(getpid(), ordering: .releasing)
        }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = signalHandler
        // The app's system calls must not fail because of a reload. Languages with small stacks, such as Go, have
        // another one for signals.
        action.sa_flags = SA_RESTART | SA_ONSTACK
        sigaction(signal, &action, nil)
    }

    /// Handles signals as the table of ``ProcessSignals`` describes, on its thread.
    private static func awaitSignal() {
        guard sem_wait(handlerState.arrival) == 0 else { return }
        let signals = handlerState.pending.exchange(0, ordering: .acquiring)
        func has(_ signal: CInt) -> Bool { signals & 1 << UInt(signal) != 0 }
        let ending = endingSignal.load(ordering: .relaxed)
        if ending != 0 { return end(by: ending) }
        if has(SIGHUP) { for reload in change({ $0.clients.values.compactMap(\.reload) }) { reload() } }
        if has(SIGTSTP) {
            hooks?.willStop()
            raiseByDefault(SIGTSTP)
            // The process was stopped and continued. In an orphaned process group the signal has no effect.
            change { _ in install(SIGTSTP) }
            hooks?.didContinue()
        }
        if has(SIGINT), !requestCancellation() { end(by: handlerState.cancellingSignal.load(ordering: .relaxed)) }
    }

    /// Turns a signal into a request to cancel, once. Returns `false` if that reaches nobody.
    private static func requestCancellation() -> Bool {
        let clients = change { state in
            let clients = state.clients.filter(\.value.isCancellable)
            for id in clients.keys { state.clients[id]?.isCancellable = false }
            return clients.values
        }
        return clients.count { $0.engine.requestCancellation() } > 0
    }

    private static func end(by signal: CInt) {
        endingSignal.store(signal, ordering: .relaxed)
        shutDownIndicators()
        raiseByDefault(signal)
    }

    /// What is called from now on, also at `exit`.
    package static var hooks: Hooks? {
        get { change { $0.hooks } }
        set {
            _ = exitOwner
            change { $0.hooks = newValue }
        }
    }

    // MARK: - For programs that handle the signals themselves

    /// Shuts every indicator down, as a signal that ends the process does, and waits for at most ``shutdownLimit``.
    package static func shutDownIndicators() {
        let engines = change { $0.clients.values.map(\.engine) }
        // Without threads, no backend has ever begun.
        if !engines.isEmpty, ServiceThread.canFinishWork {
            let done = DispatchSemaphore(value: 0)
            // On a separate thread: the app may block all others.
            let thread = ServiceThread(name: "shutdown", idleTime: .zero)
            Task(executorPreference: thread) {
                await withTaskGroup { group in
                    for engine in engines { group.addTask { await engine.shutdown(timeLimit: shutdownLimit) } }
                }
                done.signal()
            }
            _ = done.wait(timeout: .now() + .milliseconds(shutdownLimit.wholeMilliseconds))
        }
        hooks?.didShutDown()
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

    /// Sends the signal to this thread, with its default action unless the app has installed a handler.
    ///
    /// To the thread, not to the process, so that it takes effect before this returns: a stop signal stops all threads,
    /// and a fatal one ends the process.
    private static func raiseByDefault(_ signal: CInt) {
        if handler(of: signal) == unsafeBitCast(signalHandler, to: UInt.self) { Foundation.signal(signal, SIG_DFL) }
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, signal)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        pthread_kill(pthread_self(), signal)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// The installed handler, as an address; 0 for the default action.
    private static func handler(of signal: CInt) -> UInt {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
    }

    /// Whether the process has a controlling terminal: without one, `/dev/tty` cannot be opened (tty(4)).
    fileprivate static var hasTerminal: Bool {
        let descriptor = StandardStreams.excluding(open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC))
        guard descriptor >= 0 else { return errno != ENXIO && errno != ENOENT && errno != EIO }
        close(descriptor)
        return true
    }
}

/// The process that shuts the indicators down, and then calls the hooks, when `main` returns or `exit` is called, but
/// not in `_exit`, or when a signal ends it. A forked child does not: its parent has the indicators.
private let exitOwner: pid_t = {
    let hook: @convention(c) () -> Void = {
        guard getpid() == exitOwner else { return }
        ProcessSignals.shutDownIndicators()
        ProcessSignals.endBySignal()
    }
    atexit(hook)
    at_quick_exit(hook)
    return getpid()
}()

/// What the handler uses: atomics, because it may run on any thread and within any other function.
private struct HandlerState: ~Copyable, Sendable {
    /// What the thread waits for. Any thread may use it (sem_overview(7)), and it is never deallocated.
    nonisolated(unsafe) let arrival = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    /// The process that owns the indicators; 0 before the thread was started.
    let owner = Atomic<pid_t>(0)
    /// A bit for each of the signals that arrived and do not end the process: `SIGHUP`, `SIGTSTP`, and `SIGINT` for a
    /// request to cancel.
    let pending = Atomic<UInt>(0)
    /// Whether the next `SIGINT` or `SIGTERM` is a request to cancel.
    let requestsCancellation = Atomic(false)
    /// The signal that was a request to cancel; 0 if there was none.
    let cancellingSignal = Atomic<CInt>(0)
    /// Whether `SIGHUP` reloads configurations.
    let reloads = Atomic(false)
    /// Whether the process had a terminal when the first handler was installed.
    let hadTerminal = Atomic(false)

    init() { sem_init(arrival, 0, 0) }
}

private let handlerState = HandlerState()

/// Async-signal-safe: atomics, and functions of signal-safety(7).
private let signalHandler: @convention(c) (CInt) -> Void = { number in
    let code = errno
    defer { errno = code }
    if getpid() == handlerState.owner.load(ordering: .acquiring) {
        let isInterruption = number == SIGINT || number == SIGTERM
        // The terminal may still exist: then it is not the reason.
        let isReload =
            number == SIGHUP && handlerState.reloads.load(ordering: .relaxed)
            && (!handlerState.hadTerminal.load(ordering: .relaxed) || ProcessSignals.hasTerminal)
        if isReload || number == SIGTSTP {
            handlerState.pending.bitwiseOr(1 << UInt(number), ordering: .releasing)
        } else if isInterruption, handlerState.requestsCancellation.exchange(false, ordering: .relaxed) {
            handlerState.cancellingSignal.store(number, ordering: .relaxed)
            let bit: UInt = 1 << UInt(SIGINT)
            // If a request waits already, this is the second signal.
            let before = handlerState.pending.bitwiseOr(bit, ordering: .releasing).oldValue
            if before & bit != 0 { endingSignal.store(number, ordering: .relaxed) }
        } else {
            endingSignal.store(number, ordering: .relaxed)
        }
        sem_post(handlerState.arrival)
        guard number == SIGPIPE || number == SIGSYS else { return }
        // Ended by the thread. If that waits for what this one holds, the signal ends the process without it.
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
