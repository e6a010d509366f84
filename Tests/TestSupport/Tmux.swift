/// A private tmux server, with one session of 80 by 24 characters: a real terminal whose title can be read.
package struct Tmux: Sendable {
    private let folder: TemporaryDirectory

    /// Runs `body` with a server that runs a shell in its only pane, and ends the server afterwards.
    package static func withServer<Result>(_ body: (Tmux) async throws -> Result) async throws -> Result {
        let tmux = Tmux(folder: try TemporaryDirectory("tmux"))
        let result: Swift.Result<Result, any Error>
        do {
            try await tmux.command("new-session", "-d", "-x", "80", "-y", "24", "/bin/sh")
            result = .success(try await body(tmux))
        } catch {
            result = .failure(error)
        }
        _ = try? await tmux.command("kill-server")
        return try result.get()
    }

    /// The same, after a line that prepares the shell, and with the prompt `ready> `.
    package static func withShell(
        _ preparation: String,
        columns: Int = 80,
        rows: Int = 24,
        _ body: (Tmux) async throws -> Void
    ) async throws {
        try await withServer { tmux in
            try await tmux.command("resize-window", "-x", "\(columns)", "-y", "\(rows)")
            try await tmux.type(preparation)
            try await tmux.type("PS1='ready> '; clear")
            try #require(await eventually { try await tmux.lines == ["ready>"] })
            try await body(tmux)
        }
    }

    /// Runs a tmux command, and returns its output.
    @discardableResult
    package func command(_ arguments: String...) async throws -> String {
        let arguments = ["-S", folder.appending("socket"), "-f", "/dev/null"] + arguments
        let environment = ["TMUX": "", "LC_ALL": "C.UTF-8"]
        let result = try await Command.run("tmux", arguments, environment: environment, package: "tmux")
        guard result.status == 0 else { throw FixtureError("tmux \(arguments): \(result.error)") }
        return result.output.trimmingCharacters(in: .newlines)
    }

    /// The command that shows this server in another terminal.
    package var attachCommand: String { "TMUX= tmux -S '\(folder.path)/socket' attach" }

    /// The title of the pane, the path of its terminal, and what it shows.
    package var title: String { get async throws { try await command("display-message", "-p", "#{pane_title}") } }
    package var terminalPath: String { get async throws { try await command("display-message", "-p", "#{pane_tty}") } }
    package var screen: String { get async throws { try await command("capture-pane", "-p") } }

    /// The lines of the screen that are not empty; and those of the history, too, with wrapped lines as one.
    package var lines: [String] { get async throws { Self.lines(try await screen) } }
    package var history: [String] {
        get async throws { Self.lines(try await command("capture-pane", "-p", "-J", "-S", "-")) }
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Waits until these lines are as expected.
    package func shows(_ condition: ([String]) -> Bool) async throws -> Bool {
        try await eventually { try await condition(lines) }
    }

    /// Types a line into the shell.
    package func type(_ line: String) async throws {
        try await command("send-keys", "-l", line)
        try await press("Enter")
    }

    /// Types a line, and waits until the screen is as expected.
    package func type(_ line: String, shows condition: ([String]) -> Bool) async throws -> Bool {
        try await type(line)
        return try await shows(condition)
    }

    /// Presses a key, such as `C-z`.
    package func press(_ key: String) async throws { try await command("send-keys", key) }

    /// Presses a key, and waits until the screen is as expected.
    package func press(_ key: String, shows condition: ([String]) -> Bool) async throws -> Bool {
        try await press(key)
        return try await shows(condition)
    }
}
