import Foundation
import TestSupport
import Testing

/// `indicator exec` in a terminal where its predecessor was killed.
@Suite(.needs("tmux", package: "tmux"), .timeLimit(.minutes(10))) struct ExecLeftoverTests {
    private let program: ExecProgram

    init() throws {
        program = try ExecProgram()
        try program.configure("startDelay: 0\nbackends: [terminalTitle, terminalProgress]\n")
    }

    /// The lines of the window that are not empty.
    private func lines(_ tmux: Tmux) async throws -> [String] {
        try await tmux.screen.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }

    private func shows(_ tmux: Tmux, _ condition: ([String]) -> Bool) async throws -> Bool {
        try await eventually { try await condition(lines(tmux)) }
    }

    /// Runs a shell in tmux, with a prompt that can be recognized.
    private func inTerminal(_ body: (Tmux) async throws -> Void) async throws {
        try await Tmux.withServer { tmux in
            try await tmux.command("select-pane", "-T", "the old title")
            let assignments = program.variables.merging(["XDG_RUNTIME_DIR": program.home.path]) { $1 }
                .filter { !$0.value.isEmpty && $0.key != "PS1" }.map { "\($0.key)='\($0.value)'" }
            try await tmux.type(
                "exec env -u CI -u ENV \(assignments.joined(separator: " ")) NO_COLOR=1 PS1='ready> ' /bin/sh"
            )
            try await tmux.type("PS1='ready> '; clear")
            try #require(await shows(tmux) { $0 == ["ready>"] })
            try await body(tmux)
            #expect(try await eventually { try await tmux.title == "the old title" })
            let folder = program.home.appending("indicator/terminals")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    /// Kills the process whose identifier is in a file.
    private func killProcess(in file: String) async throws {
        try #require(await eventually { (try? program.home.read(file))?.contains("\n") == true })
        let process = try program.home.read(file).trimmingCharacters(in: .whitespacesAndNewlines)
        kill(try #require(Int32(process)), SIGKILL)
    }

    @Test("The next command restores the title that exec has left")
    func command() async throws {
        // Without bars, and with a command that ends before it would be shown.
        try program.configure("startDelay: 0\nbackends: [terminalTitle]\n")
        let script = try program.home.write("echo $PPID >$0.pid; exec sleep 1000", to: "script")
        try await inTerminal { tmux in
            try await tmux.type("'\(program.path)' exec --label bar -- sh \(script)")
            try #require(await eventually { try await tmux.title.contains("bar") })
            try await killProcess(in: "script.pid")
            #expect(try await shows(tmux) { $0.last?.hasSuffix("ready>") == true })
            // In the background, another program may use the terminal.
            try await tmux.type("clear; '\(program.path)' exec -- true & wait; echo wai''ted")
            #expect(try await shows(tmux) { $0.contains("waited") && $0.last == "ready>" })
            #expect(try await tmux.title.contains("bar"))
            try await tmux.type("clear; '\(program.path)' exec -- true; echo do''ne")
            #expect(try await shows(tmux) { $0 == ["done", "ready>"] })
        }
    }

    @Test("The next command removes the bars that an app has left, and restores the title")
    func app() async throws {
        let helper = try Command.built("test-probe")
        let config = program.home.appending("config/indicator/indicator.yaml")
        let commands = program.home.appending("commands")
        try #require(mkfifo(commands, 0o600) == 0)
        let file = try #require(FileHandle(forUpdatingAtPath: commands))
        try await inTerminal { tmux in
            let pid = program.home.appending("pid")
            try await tmux.type("sh -c 'echo $$ >\(pid); exec \(helper) progress \(config) \(commands)'")
            let bars = (1...9).map { "bar \($0)" }
            try file.write(contentsOf: Data(bars.map { "begin \($0)\n" }.joined().utf8))
            func hasBars(_ lines: [String]) -> Bool { lines.contains { $0.hasPrefix("bar ") } }
            func hasLast(_ lines: [String]) -> Bool { lines.last?.hasPrefix("and ") == true }
            try #require(await shows(tmux) { hasBars($0) && hasLast($0) })
            try #require(await eventually { try await tmux.title.contains("bar") })
            try await killProcess(in: "pid")
            // The first one is that of the command that was killed.
            #expect(try await shows(tmux) { $0.filter { $0.hasPrefix("ready>") }.count == 2 && hasBars($0) })
            try await tmux.type("'\(program.path)' exec -- true; echo do''ne")
            var lines: [String] = []
            #expect(
                try await shows(tmux) {
                    lines = $0
                    return $0.suffix(2) == ["done", "ready>"] && !hasBars($0)
                },
                "\(lines)"
            )
        }
    }
}
