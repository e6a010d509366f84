import Foundation
import IndicatorCore

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

    init(device: TerminalDevice, hasTitleStack: Bool) {
        self.device = device
        state = Locked(State(ledger: TitleLedger(hasTitleStack: hasTitleStack)))
    }

    deinit {
        // A backend that was dropped without being stopped leaves nothing behind either.
        change { $0.close() }
        _ = try? writeWithoutWaiting()
    }

    /// Whether the terminal is gone: it must be opened anew.
    var isGone: Bool {
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
