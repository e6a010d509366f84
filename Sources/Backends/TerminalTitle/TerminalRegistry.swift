import Foundation
import IndicatorCore

/// The terminals that backends of this process show on: one ``SharedTerminal`` each, and all of them put back at exit.
enum TerminalRegistry {
    private struct WeakTerminal {
        weak var terminal: SharedTerminal?
    }

    private struct State {
        var terminals: [dev_t: WeakTerminal] = [:]
        /// Those that no backend uses any more, and that have not taken their last bytes yet.
        var unsettled: [ObjectIdentifier: SharedTerminal] = [:]
    }

    private static let state = Locked(State())

    /// The process that shows. A child that it forks inherits the exit hook, and the parent's title is not its to
    /// restore.
    private static let owner: pid_t = {
        atexit { TerminalRegistry.restoreAllAtExit() }
        return getpid()
    }()

    /// Opens a terminal, or finds it among those that are open.
    static func open(path: String, traits: TerminalTraits) throws(TerminalTitleError) -> SharedTerminal {
        _ = owner
        let device = try TerminalDevice(path: path)
        return withSignalsBlocked {
            state.withLock { state in
                state.terminals = state.terminals.filter { $0.value.terminal != nil }
                if let open = state.terminals[device.number]?.terminal, !open.isGone { return open }
                let terminal = SharedTerminal(device: device, hasTitleStack: traits.hasTitleStack)
                state.terminals[device.number] = WeakTerminal(terminal: terminal)
                return terminal
            }
        }
    }

    /// Puts a terminal back that took no bytes when it should have been: as soon as it takes some, on a thread that
    /// sleeps until then.
    ///
    /// Until then a control sequence may be half written, and the terminal would take what the app writes next for its
    /// rest.
    static func settleLater(_ terminal: SharedTerminal) {
        let isWaitedFor = withSignalsBlocked {
            state.withLock { $0.unsettled.updateValue(terminal, forKey: ObjectIdentifier(terminal)) != nil }
        }
        if isWaitedFor { return }
        let thread = Thread {
            // A terminal that is gone needs nothing put back.
            _ = try? terminal.settle()
            withSignalsBlocked {
                state.withLock { _ = $0.unsettled.removeValue(forKey: ObjectIdentifier(terminal)) }
            }
            // Whoever came while this thread was leaving counted on it.
            if (try? terminal.settle(within: .zero)) == false { settleLater(terminal) }
        }
        thread.name = "terminal title"
        thread.stackSize = 256 * 1024
        thread.start()
    }

    /// Runs when `main` returns and in `exit`; not in `_exit`, nor when a signal ends the process.
    private static func restoreAllAtExit() {
        guard getpid() == owner else { return }
        let terminals = withSignalsBlocked {
            state.withLock { state in state.terminals.values.compactMap(\.terminal) }
        }
        for terminal in terminals { terminal.change { $0.close() } }
        // A terminal that takes no bytes must not keep the process from ending.
        for terminal in terminals { _ = try? terminal.settle(within: .milliseconds(200)) }
    }
}
