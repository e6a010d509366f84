import Foundation
import TestSupport
import Testing

/// The shell functions of the article and the README in the real shells.
@Suite struct ShellRecipeTests {
    private static func recipe(_ shell: String, in document: String = articlePath) throws -> String {
        let file = URL(filePath: #filePath).appending(path: "../../../\(document)").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let block = try #require(text.components(separatedBy: "```\(shell)\n").dropFirst().first)
        return block.components(separatedBy: "```")[0]
    }

    private static let articlePath = "Sources/Backends/IndicatorBackends.docc/RunningCommands.md"

    @Test("The README has the article's function for bash")
    func readme() throws {
        #expect(try Self.recipe("bash", in: "README.md") == Self.recipe("bash"))
    }

    @Test(
        "A long command leaves a notification with its name and outcome; others leave none",
        arguments: [
            ("bash", InteractiveShell.bash), ("zsh", ["zsh", "--no-rcs", "-i"]),
            ("fish", ["fish", "--no-config", "-i"]),
        ]
    )
    func notification(shell: String, command: [String]) async throws {
        let program = try ExecProgram()
        let folder = (program.path as NSString).deletingLastPathComponent
        let recipe = try Self.recipe(shell)
        let file = try program.home.write(recipe, to: "recipe")
        let immediately = shell == "fish" ? "set -g indicator_after 0" : "indicator_after=0"
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let session = try await program.shell(
            command,
            package: shell,
            environment: ["PATH": "\(folder):\(path)", "TERM": "foot", "SSH_CONNECTION": "::1 2 ::1 22"]
        )
        // Neither of these commands is long enough for a notification.
        try await session.run("source \(file); printf 'loaded-%s\\n' 2", shows: "loaded-2")
        try await session.run("printf 'quick-%s\\n' 2", shows: "quick-2")
        try await session.run("\(immediately); printf 'set-%s\\n' 2", shows: "set-2")
        session.terminal.type("sh -c 'sleep 0.01; exit 3'\n")
        try await session.wait(for: "]777;notify;sh;Failed after")
        try await session.wait(for: "exit status 3")
        session.terminal.type("sh -c 'kill -TERM $$'\n")
        try await session.wait(for: "killed by SIGTERM")
        // The user can still read the status.
        session.terminal.type("sh -c 'exit 5'\n")
        try await session.wait(for: "exit status 5")
        // A stopped command has not ended.
        try await session.run("bash -c 'echo run-$((1 + 1)); exec sleep 1000'", shows: "run-2")
        try await session.stopJob(shell == "zsh" ? "suspended" : "topped")
        session.terminal.type("true | cat\n")
        try await session.wait(for: "]777;notify;true;Done after")
        let shown = session.shown
        #expect(!shown.contains("notify;source") && !shown.contains("notify;quick"))
        #expect(!shown.contains("notify;bash"))
    }
}
