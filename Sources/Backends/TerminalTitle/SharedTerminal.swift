import Foundation
import IndicatorCore
import IndicatorThreads

/// A terminal and the account of its title, shared by the backends of this process that show on it.
///
/// Any thread may call it. Its lock is held for computing and for writes that do not wait, never while waiting.
final class SharedTerminal: Sendable {
    let device: TerminalDevice

    private struct State {
        var ledger: TitleLedger
        var failure: TerminalTitleError?
    }

    private let state: Locked<State>

    init(device: TerminalDevice, style: KnownTerminal.TitleStyle) {
        self.device = device
        state = Locked(State(ledger: TitleLedger(style: style)))
    }

    deinit {
        // A backend that was dropped without being stopped leaves nothing behind either.
        change { $0.close() }
        _ = try? writeWithoutWaiting()
    }

    /// Whether the terminal was closed: it must be opened anew.
    var isClosed: Bool {
        withSignalsBlocked { state.withLock { $0.failure != nil } }
    }

    /// Changes what is to be shown, without writing it: ``settle(within:)`` does.
    func change(_ body: (inout TitleLedger) -> Void) {
        withSignalsBlocked { state.withLock { body(&$0.ledger) } }
    }

    /// Writes until the terminal shows what it should, and waits meanwhile where it takes no bytes.
    ///
    /// - Parameter limit: how long to wait at most; `nil` waits as long as it takes.
    /// - Returns: whether the terminal shows what it should.
    @discardableResult
    func settle(within limit: Duration? = nil) throws(TerminalTitleError) -> Bool {
        let deadline = limit.map { ContinuousClock.now + $0 }
        var wasWritable = false
        while try !writeWithoutWaiting() {
            if wasWritable {
                // The kernel said that it would take bytes, and took none; asking again at once would be spinning.
                poll(nil, 0, 20)
            }
            let remaining = deadline.map { ContinuousClock.now.duration(to: $0) }
            if let remaining, remaining <= .zero { return false }
            wasWritable = device.waitUntilWritable(atMost: remaining)
        }
        return true
    }

    /// Writes what the terminal takes now.
    ///
    /// - Returns: whether that was all.
    private func writeWithoutWaiting() throws(TerminalTitleError) -> Bool {
        try withSignalsBlocked { () throws(TerminalTitleError) -> Bool in
            try state.withLock { state throws(TerminalTitleError) -> Bool in
                if let failure = state.failure { throw failure }
                do throws(TerminalTitleError) {
                    while true {
                        let bytes = state.ledger.nextBytes
                        if bytes.isEmpty { return true }
                        switch try device.write(bytes) {
                        case .wrote(let count): state.ledger.didWrite(count)
                        case .wouldBlock: return false
                        }
                    }
                } catch {
                    state.failure = error
                    state.ledger.abandon()
                    throw error
                }
            }
        }
    }
}

/// The terminals that backends of this process show on: one ``SharedTerminal`` each, and all of them restored at exit.
enum TerminalRegistry {
    /// How long the end of the process waits for terminals that take no bytes, all of them together.
    static let restoreLimit: Duration = .milliseconds(200)

    private struct WeakTerminal {
        weak var terminal: SharedTerminal?
    }

    private struct State {
        var terminals: [WeakTerminal] = []
        /// Those that no backend uses any more, and that have not taken their last bytes yet.
        var unsettled: [ObjectIdentifier: SharedTerminal] = [:]
    }

    private static let state = Locked(State())

    /// The process that shows. A child that it forks inherits the exit hook, and must not restore its parent's title.
    ///
    /// The hook runs when `main` returns and in `exit`; not in `_exit`, nor when a signal ends the process.
    private static let owner: pid_t = {
        atexit { if getpid() == TerminalRegistry.owner { TerminalRegistry.restoreAll() } }
        return getpid()
    }()

    /// Opens a terminal, or finds it among those that are open.
    static func open(path: String, style: KnownTerminal.TitleStyle) throws(TerminalTitleError) -> SharedTerminal {
        _ = owner
        let device = try TerminalDevice(path: path)
        return change { state in
            let open = state.terminals.compactMap(\.terminal)
            let shared = open.first { $0.device.number == device.number && !$0.isClosed }
            let terminal = shared ?? SharedTerminal(device: device, style: style)
            state.terminals = (shared == nil ? open + [terminal] : open).map(WeakTerminal.init)
            // With `open`, so that none is released, and perhaps deallocated, with the lock held.
            return (terminal, open)
        }.0
    }

    /// Restores a terminal that took no bytes when it should have been restored: as soon as it takes some, on a thread
    /// that sleeps until then.
    ///
    /// Until then a control sequence may be half written, and the terminal would take what the app writes next for its
    /// rest.
    static func settleLater(_ terminal: SharedTerminal) {
        let key = ObjectIdentifier(terminal)
        if change({ $0.unsettled.updateValue(terminal, forKey: key) }) != nil { return }
        let isStarted = ThreadStarter.start(named: "terminal-title") {
            // A terminal that is closed needs nothing restored.
            _ = try? terminal.settle()
            _ = change { $0.unsettled.removeValue(forKey: key) }
            // A request that came while this thread was ending relied on it.
            if (try? terminal.settle(within: .zero)) == false { settleLater(terminal) }
        }
        if !isStarted { _ = change { $0.unsettled.removeValue(forKey: key) } }
    }

    /// Restores the titles for good, because the process ends.
    static func restoreAll() {
        settleAll { $0.close() }
    }

    /// Restores the titles until ``resumeAll()``, because the process is about to be stopped.
    static func suspendAll() {
        settleAll { $0.isSuspended = true }
    }

    /// Shows the titles again.
    static func resumeAll() {
        settleAll { $0.isSuspended = false }
    }

    /// Changes what every terminal is to show, and waits for them no longer than the limit.
    private static func settleAll(_ body: (inout TitleLedger) -> Void) {
        let deadline = ContinuousClock.now + restoreLimit
        let terminals = change { $0.terminals.compactMap(\.terminal) }
        for terminal in terminals { terminal.change(body) }
        for terminal in terminals { _ = try? terminal.settle(within: ContinuousClock.now.duration(to: deadline)) }
    }

    private static func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        withSignalsBlocked { state.withLock { body(&$0) } }
    }
}
