import Foundation
import IndicatorCore
import IndicatorThreads

/// A terminal and the account of its title and of the lines that are drawn on it, shared by the backends of this
/// process that show on it.
///
/// Any thread may call it. Its lock is held for computing and for writes that do not wait, never while waiting.
final class SharedTerminal: Sendable {
    let device: TerminalDevice

    private struct State {
        var ledger: TitleLedger
        var lines = LiveLines()
        var failure: TerminalTitleError?
        /// Whether a log message has waited in vain.
        var isStuck = false
    }

    private let state: Locked<State>

    init(device: TerminalDevice, style: KnownTerminal.TitleStyle) {
        self.device = device
        state = Locked(State(ledger: TitleLedger(style: style)))
    }

    deinit {
        // A backend that was dropped without being stopped leaves nothing behind either.
        change { $0.close() }
        changeLines { $0.close() }
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

    /// Changes the lines that are to be drawn, without writing them: ``settle(within:)`` does.
    func changeLines(_ body: (inout LiveLines) -> Void) {
        withSignalsBlocked { state.withLock { body(&$0.lines) } }
    }

    /// Whether there are lines that the output of others would damage.
    var hasDrawnLines: Bool {
        withSignalsBlocked { state.withLock { $0.lines.isDrawn } }
    }

    /// Removes the lines until ``putLinesBack(isLost:)``, so that others may write.
    ///
    /// - Returns: whether that was possible; not if the terminal takes no bytes for the time limit.
    func putLinesAside(within limit: Duration) -> Bool {
        changeLines { $0.holds += 1 }
        let isStuck = withSignalsBlocked { state.withLock { $0.isStuck } }
        // A terminal that is closed has nothing to be damaged.
        return (try? settle(within: isStuck ? .zero : limit)) ?? true
    }

    /// Draws the lines again, as far as the terminal takes them now.
    ///
    /// - Parameter isLost: whether a message was not written because of this terminal or another.
    func putLinesBack(isLost: Bool) {
        withSignalsBlocked {
            state.withLock { state in
                state.lines.holds -= 1
                state.isStuck = isLost
                if isLost { state.lines.lostMessages += 1 }
            }
        }
        _ = try? writeWithoutWaiting()
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
                        // A sequence that the terminal has begun to take is ended before another begins.
                        let title = state.lines.isUnfinished ? [] : state.ledger.nextBytes
                        let bytes = title.isEmpty ? state.lines.nextBytes : title
                        if bytes.isEmpty { return true }
                        switch try device.write(bytes) {
                        case .wrote(let count):
                            if title.isEmpty { state.lines.didWrite(count) } else { state.ledger.didWrite(count) }
                        case .wouldBlock: return false
                        }
                    }
                } catch {
                    state.failure = error
                    state.ledger.abandon()
                    state.lines.abandon()
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

    /// Notes that a signal is about to end or to stop the process: lines that are removed from now on leave the cursor
    /// at the start of a line.
    static func willEnd() {
        for terminal in terminals { terminal.changeLines { $0.endsLine = true } }
    }

    /// Restores the titles and removes the lines for good, because the process ends.
    static func restoreAll() {
        settleAll(lines: { $0.close() }, { $0.close() })
    }

    /// Restores the titles and removes the lines until ``resumeAll()``, because the process is about to be stopped.
    static func suspendAll() {
        willEnd()
        settleAll(lines: { $0.isSuspended = true }, { $0.isSuspended = true })
    }

    /// Shows the titles again. The lines come with the next frame, if the process is in the foreground then.
    static func resumeAll() {
        settleAll(lines: { $0.resume() }, { $0.isSuspended = false })
    }

    /// How long a log message waits for a terminal that takes no bytes.
    static let logLimit: Duration = .seconds(1)

    /// Lets others write on the terminals, without the lines that are drawn there. What cannot be written is counted.
    static func withLinesAside(_ body: () -> Void) {
        let drawn = terminals.filter(\.hasDrawnLines)
        // All of them, also when one takes no bytes.
        let isWritable = drawn.map { $0.putLinesAside(within: logLimit) }.allSatisfy { $0 }
        if isWritable { body() }
        for terminal in drawn { terminal.putLinesBack(isLost: !isWritable) }
    }

    /// The terminal that a descriptor leads to, if lines are drawn on it.
    static func drawnTerminal(of descriptor: CInt) -> SharedTerminal? {
        let drawn = terminals.filter(\.hasDrawnLines)
        guard !drawn.isEmpty, isatty(descriptor) == 1 else { return nil }
        let number = TerminalDevice.number(of: descriptor)
        return drawn.first { $0.device.number == number }
    }

    private static var terminals: [SharedTerminal] { change { $0.terminals.compactMap(\.terminal) } }

    /// Changes what every terminal is to show, and waits for them no longer than the limit.
    private static func settleAll(lines: (inout LiveLines) -> Void, _ body: (inout TitleLedger) -> Void) {
        let deadline = ContinuousClock.now + restoreLimit
        let terminals = terminals
        for terminal in terminals {
            terminal.change(body)
            terminal.changeLines(lines)
        }
        for terminal in terminals { _ = try? terminal.settle(within: ContinuousClock.now.duration(to: deadline)) }
    }

    private static func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        withSignalsBlocked { state.withLock { body(&$0) } }
    }
}
