import TestSupport

/// The generated completion scripts in the real shells.
@Suite(.needs(.shells)) struct CompletionTests {
    @Test(
        "A shell completes commands and files after exec, and config files",
        arguments: [
            ("bash", ["bash", "--norc", "--noprofile", "-i"]), ("zsh", ["zsh", "--no-rcs", "-i"]),
            ("fish", ["fish", "--no-config", "-i"]),
        ]
    )
    func completion(shell: String, command: [String]) async throws {
        let program = try TestedProgram()
        let folder = (program.path as NSString).deletingLastPathComponent
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        for name in ["first-file", "second-file", "third.yaml", "fourth.yaml"] { try program.home.write("", to: name) }
        let commands = try TemporaryDirectory()
        let unusual = try commands.write("#!/bin/sh\n", to: "unusual-command")
        chmod(unusual, 0o755)
        let variables = ["PATH": "\(folder):\(commands.path):\(path)", "TERM": "xterm"]
        let session = try await program.shell(command, package: shell, environment: variables)
        let before = shell == "zsh" ? "autoload -U compinit; compinit -u -D; " : ""
        let after = shell == "zsh" ? "; compdef _indicator indicator" : ""
        let load = "indicator --generate-completion-script \(shell) >~/script; source ~/script"
        try await session.run("cd; \(before)\(load)\(after); printf 'loaded-%s\\n' 2", shows: "loaded-2")
        // The shell may show only the rest of the word.
        for (line, rest) in [
            ("exec unusu", "al-command"), ("exec -- unusu", "al-command"), ("exec firs", "t-file"),
            ("exec -- sh -e seco", "nd-file"), ("check-config thir", "d.yaml"), ("backends --config four", "th.yaml"),
        ] {
            session.terminal.type("indicator \(line)\t")
            try await session.wait(for: rest)
            session.terminal.type("\u{15}")
        }
    }
}
