import TestSupport

/// A shell with job control on a separate terminal, into which a test types.
final class InteractiveShell: Sendable {
    /// Without readline, which would redraw what is typed.
    static let bash = ["bash", "--norc", "--noprofile", "--noediting", "-i"]

    let terminal: PseudoTerminal
    private let daemon: Daemon
    /// The end of the last text that was found in the transcript.
    private let position = Locked(0)

    /// Starts bash, or another shell; returns when it accepts commands. An empty variable is removed.
    init(_ shell: [String] = InteractiveShell.bash, environment: [String: String] = [:]) async throws {
        terminal = try PseudoTerminal()
        let variables = environment.merging(["TERM": "xterm", "TMUX": ""]) { own, _ in own }
        daemon = try terminal.session(shell, environment: variables)
        try await done("ulimit -c 0")
    }

    deinit {
        // Every process of the session gets a SIGHUP, stopped ones a SIGCONT too.
        terminal.hangUp()
    }

    var shown: String { terminal.transcript }

    /// Waits until the terminal shows a text after the last one that was found.
    func wait(for text: String, within limit: Duration = .seconds(60)) async throws {
        let found = await eventually(within: limit) {
            let shown = shown
            let start = shown.utf8.index(shown.startIndex, offsetBy: position.withLock { $0 })
            guard let range = shown[start...].range(of: text) else { return false }
            position.withLock { $0 = shown.utf8.distance(from: shown.startIndex, to: range.upperBound) }
            return true
        }
        if !found { throw FixtureError("the terminal does not show '\(text)': \(shown.debugDescription)") }
    }

    /// Presses Ctrl-Z until the shell reports that its job has stopped: `fg` prints the job before it continues it.
    func stopJob(_ text: String = "Stopped") async throws {
        for number in 0..<20 {
            terminal.type("\u{1A}")
            guard (try? await wait(for: text, within: .seconds(5))) != nil else { continue }
            // The shell may have read a key that was pressed again: Ctrl-U discards it.
            if number > 0 { terminal.type("\u{15}") }
            return
        }
        try await wait(for: text, within: .zero)
    }

    /// Types a command, and waits for its output, which must not be part of the command: the terminal echoes that.
    func run(_ command: String, shows text: String) async throws {
        terminal.type(command + "\n")
        try await wait(for: text)
    }

    /// Types a command, and waits until it has ended.
    func done(_ command: String = "true") async throws {
        try await run("\(command); printf 'done-%s\\n' 2", shows: "done-2")
    }

    /// Types a command, and returns the value of an expression after it.
    func value(_ expression: String, after command: String? = nil) async throws -> String {
        terminal.type((command.map { $0 + "; " } ?? "") + #"printf '\n<%s>\n' "\#(expression)""# + "\n")
        // At the start of a line: not in the echo of the command.
        try await wait(for: "\n<")
        let start = position.withLock { $0 }
        try await wait(for: ">")
        let text = shown
        let utf8 = text.utf8
        let (first, last) = (utf8.index(utf8.startIndex, offsetBy: start), position.withLock { $0 } - 1)
        return String(text[first..<utf8.index(utf8.startIndex, offsetBy: last)])
    }
}
