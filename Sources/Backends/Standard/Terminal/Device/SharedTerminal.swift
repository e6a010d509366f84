import BackendConfiguration
import IndicatorCore
import Foundation
import Logging
import Synchronization

/// A terminal with the state of its title and of the lines that are drawn on it, shared by the backends of this process
/// that use it.
///
/// Can be used from any thread. Its lock is held for non-blocking writes, never while waiting for the terminal.
final class SharedTerminal: Sendable {
    /// How long the end of a backend waits for a terminal that accepts no bytes before a thread takes over.
    static let stopLimit: Duration = .milliseconds(500)

    let device: TerminalDevice

    private struct State {
        var outbox: TerminalOutbox
        /// Why it must be opened again. Nothing is shown on it any more.
        var failure: TerminalError?
        var children: ChildOutput?
    }

    private let state: Locked<State>

    init(device: TerminalDevice, environment: [String: String]) {
        self.device = device
        let known = KnownTerminal.recognize(by: environment)
        let title = TitleState(style: known.title, charset: known.charset(in: environment))
        state = Locked(State(outbox: TerminalOutbox(title: title)))
    }

    private func locked<Result>(_ body: (inout State) -> Result) -> Result {
        withSignalsBlocked { state.withLock { body(&$0) } }
    }

    /// Whether the terminal was closed and must be opened again.
    var isClosed: Bool { locked { $0.failure != nil } }

    /// Changes what the terminal should show without writing it; ``settle(within:)`` writes it.
    func change(_ body: (inout TerminalOutbox) -> Void) { locked { body(&$0.outbox) } }

    /// Whether lines are drawn that other output would damage.
    var hasDrawnLines: Bool { locked { $0.failure == nil && $0.outbox.isDrawn } }

    /// Removes the lines until ``restoreLines()``, so that other code can write. Waits while the terminal accepts no
    /// bytes, as that code would.
    func hideLines() {
        let isDrawn = hasDrawnLines
        change { $0.lines.holds += 1 }
        if isDrawn { _ = try? settle() }
    }

    /// Draws the lines again, as far as the terminal accepts them now.
    func restoreLines() {
        change { $0.lines.holds -= 1 }
        if hasDrawnLines { _ = try? writeWithoutWaiting() }
    }

    /// A descriptor for child processes, whose lines appear above those of the terminal: the end of a pipe that a
    /// thread reads. `nil` if it cannot be made.
    var childDescriptor: CInt? {
        locked { state in
            if state.children == nil, let pipe = ChildOutput() {
                guard ThreadStarter.start(named: "child-output", passOnChildOutput) else {
                    [pipe.reader, pipe.writer].forEach { close($0) }
                    return nil
                }
                state.children = pipe
            }
            return state.children?.writer
        }
    }

    private func passOnChildOutput() {
        var isLate = false
        while let pipe = readChildren(all: isLate) {
            // The children wait with this thread while the terminal accepts no bytes.
            _ = try? settle()
            var request = pollfd(fd: pipe.reader, events: Int16(POLLIN), revents: 0)
            isLate = poll(&request, 1, pipe.hasRest ? ChildOutput.lineLimit : -1) == 0
        }
    }

    /// Shows what child processes have written, without writing it. Returns their pipe, if there is one.
    @discardableResult
    func readChildren(all: Bool) -> ChildOutput? {
        locked { state in
            let text = state.children?.read(all: all) ?? []
            if !text.isEmpty, state.failure == nil { state.outbox.lines.write(text) }
            return state.children
        }
    }

    /// Writes until the terminal shows what it should, and waits while it accepts no bytes.
    ///
    /// - Parameter limit: how long to wait at most; `nil` for no limit.
    /// - Returns: whether the terminal shows what it should.
    @discardableResult
    func settle(within limit: Duration? = nil) throws(TerminalError) -> Bool {
        let deadline = limit.map { ContinuousClock.now + $0 }
        var wasWritable = false
        while true {
            let (isDone, count) = try writeWithoutWaiting()
            if isDone { return true }
            if wasWritable, count == 0 {
                // The terminal was writable and accepted nothing: sleep to avoid a busy loop.
                poll(nil, 0, 20)
            }
            let remaining = deadline.map { ContinuousClock.now.duration(to: $0) }
            if let remaining, remaining <= .zero { return false }
            wasWritable = device.waitUntilWritable(atMost: remaining)
        }
    }

    /// Writes, and waits for ``stopLimit``. A terminal that accepts no bytes meanwhile gets the rest as soon as it
    /// does: until then a control sequence may be partly written, and the terminal would treat the app's next output as
    /// its rest.
    func settleOrContinue() throws(TerminalError) {
        if try settle(within: Self.stopLimit) { return }
        _ = ThreadStarter.start(named: "terminal-title") { _ = try? self.settle() }
    }

    /// Writes what the terminal accepts now.
    ///
    /// - Returns: whether everything was written, and how many bytes were.
    @discardableResult
    private func writeWithoutWaiting() throws(TerminalError) -> (isDone: Bool, count: Int) {
        try withSignalsBlocked { () throws(TerminalError) -> (Bool, Int) in
            try state.withLock { state throws(TerminalError) -> (Bool, Int) in
                if let failure = state.failure { throw failure }
                do throws(TerminalError) {
                    state.outbox.lines.resize(to: device.size)
                    state.outbox.lines.claimRows(device.claim)
                    let result = try state.outbox.flush(device.write)
                    if !state.outbox.isDrawn { state.outbox.lines.claimRows(device.claim) }
                    return result
                } catch {
                    state.failure = error
                    throw error
                }
            }
        }
    }
}

/// The terminals that backends of this process use: one ``SharedTerminal`` for each, all restored at exit.
enum TerminalRegistry {
    /// How long the end of the process waits for terminals that accept no bytes, all together.
    static let restoreLimit: Duration = .milliseconds(200)

    private struct WeakTerminal {
        weak var terminal: SharedTerminal?
    }

    private static let state = Locked([WeakTerminal]())

    /// Opens a terminal, or returns it if it is already open.
    ///
    /// - Parameter forSequences: whether it must support control sequences.
    static func open(path: String, environment: [String: String], forSequences: Bool = false) throws(TerminalError)
        -> SharedTerminal
    {
        ProcessSignals.hooks = (restoreAll, suspendAll, resumeAll)
        Logger.writing.withLock { $0 = writeLog }
        let device = try TerminalDevice(path: path)
        let terminal = change { state in
            let open = state.compactMap(\.terminal)
            let shared = open.first { $0.device.number == device.number && !$0.isClosed }
            let terminal = shared ?? SharedTerminal(device: device, environment: environment)
            state = (shared == nil ? open + [terminal] : open).map(WeakTerminal.init)
            // Returns `open`, so that no terminal is released, and possibly deallocated, while the lock is held.
            return (terminal, open)
        }.0
        _ = try? terminal.settle(within: .zero)
        let type = environment["TERM"]
        if forSequences, ["", "dumb"].contains(type ?? "") { throw .dumbTerminal(type: type) }
        return terminal
    }

    /// Writes a message of this package above the lines, as ``IndicatorLogHandler`` does.
    @Sendable private static func writeLog(_ write: () -> Void) {
        if drawnTerminal(of: STDERR_FILENO) == nil { write() } else { TerminalOutput.suspend(write) }
    }

    /// Restores the titles and removes the lines permanently, because the process ends.
    static func restoreAll() {
        for terminal in terminals { terminal.readChildren(all: true) }
        settleAll { $0.close() }
    }

    /// Restores the titles and removes the lines until ``resumeAll()``, because the process is being stopped.
    static func suspendAll() {
        settleAll { outbox in
            outbox.lines.isSuspended = true
            // A command that goes on may set its own title, which must stay.
            if CommandOnTerminal.isPresent { outbox.title.hideAll() } else { outbox.title.isSuspended = true }
        }
    }

    /// Shows the titles again. The lines appear with the next frame if the process is in the foreground.
    static func resumeAll() {
        settleAll { outbox in
            outbox.lines.resume()
            outbox.title.isSuspended = false
        }
    }

    /// The terminal that a descriptor refers to, if lines are drawn on it, or will be when its text allows that.
    static func drawnTerminal(of descriptor: CInt) -> SharedTerminal? {
        let drawn = terminals.filter(\.hasDrawnLines)
        guard !drawn.isEmpty, isatty(descriptor) == 1 else { return nil }
        let number = TerminalDevice.number(of: descriptor)
        return drawn.first { $0.device.number == number }
    }

    static var terminals: [SharedTerminal] { change { $0.compactMap(\.terminal) } }

    /// Changes the state of every terminal, and waits for them no longer than the limit.
    private static func settleAll(_ body: (inout TerminalOutbox) -> Void) {
        let deadline = ContinuousClock.now + restoreLimit
        let terminals = terminals
        for terminal in terminals { terminal.change(body) }
        for terminal in terminals { _ = try? terminal.settle(within: ContinuousClock.now.duration(to: deadline)) }
    }

    private static func change<Result: Sendable>(_ body: (inout [WeakTerminal]) -> Result) -> Result {
        withSignalsBlocked { state.withLock { body(&$0) } }
    }
}
