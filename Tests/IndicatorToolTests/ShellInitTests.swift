import Foundation
import TestSupport
import Testing

/// The code of `indicator shell-init` in the real shells.
@Suite(.needs(.shells)) struct ShellInitTests {
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
        func load(_ options: String = "") -> String {
            let code = "indicator shell-init \(shell)\(options)"
            return shell == "fish" ? "\(code) | source" : "eval \"$(\(code))\""
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let session = try await program.shell(
            command,
            package: shell,
            environment: [
                "PATH": "\(folder):\(path)", "TERM": "foot", "SSH_CONNECTION": "::1 2 ::1 22",
                "indicator_began": "a[$(touch \(program.home.appending("executed")))]", "INDICATOR_IGNORE": "dash less",
            ]
        )
        // Neither of these commands is long enough for a notification.
        try await session.run("\(load()); printf 'loaded-%s\\n' 2", shows: "loaded-2")
        try await session.run("printf 'quick-%s\\n' 2", shows: "quick-2")
        try await session.run("\(load(" --after 0")); printf 'set-%s\\n' 2", shows: "set-2")
        // Ignored.
        try await session.run("dash -c 'echo ignored-$((1 + 1))'", shows: "ignored-2")
        session.terminal.type("TOKEN='s3 cr3t' sh -c 'sleep 0.01; exit 3'\n")
        try await session.wait(for: "]777;notify;sh -c 'sleep 0.01")
        try await session.wait(for: "exit status 3")
        session.terminal.type("sh -c 'kill -TERM $$'\n")
        try await session.wait(for: "killed by SIGTERM")
        // The user can still read the status.
        session.terminal.type("sh -c 'exit 5'\n")
        try await session.wait(for: "exit status 5")
        if shell == "fish" {
            session.terminal.type("sleep 1.6\n")
            try await session.wait(for: "]777;notify;sleep 1.6;Done after 2 s")
        }
        // A stopped command has not ended.
        try await session.run("bash -c 'echo run-$((1 + 1)); exec sleep 1000'", shows: "run-2")
        try await session.stopJob(shell == "zsh" ? "suspended" : "topped")
        session.terminal.type("true | cat\n")
        try await session.wait(for: "]777;notify;true | cat;Done after")
        let shown = session.shown
        #expect(!shown.contains("notify;eval") && !shown.contains("notify;printf"))
        #expect(!shown.contains("notify;dash") && !shown.contains("notify;TOKEN"))
        #expect(!FileManager.default.fileExists(atPath: program.home.appending("executed")))
        #expect(!shown.contains("notify;bash"))
    }
}
