import Foundation
import TestSupport
import Testing

/// The code of `indicator shell-init` in the real shells.
@Suite(.needs(.shells)) struct ShellInitTests {
    private static let shells: [(name: String, command: [String])] = [
        ("bash", InteractiveShell.bash), ("zsh", ["zsh", "--no-rcs", "-i"]), ("fish", ["fish", "--no-config", "-i"]),
    ]

    private let program: ExecProgram

    init() throws { program = try ExecProgram() }

    private func load(_ shell: String, _ options: String = "") -> String {
        let code = "indicator shell-init \(shell)\(options)"
        return shell == "fish" ? "\(code) | source" : "eval \"$(\(code))\""
    }

    private func session(_ shell: String, _ command: [String], _ more: [String: String] = [:]) async throws
        -> InteractiveShell
    {
        let folder = (program.path as NSString).deletingLastPathComponent
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return try await program.shell(
            command,
            package: shell,
            environment: ["PATH": "\(folder):\(path)", "TERM": "foot", "SSH_CONNECTION": "::1 2 ::1 22"].merging(more) {
                $1
            }
        )
    }

    @Test("A long command leaves a notification with its name and outcome; others leave none", arguments: shells)
    func notification(shell: String, command: [String]) async throws {
        let session = try await session(
            shell,
            command,
            [
                "indicator_began": "a[$(touch \(program.home.appending("executed")))]",
                "INDICATOR_IGNORE": "dash:less:git log",
            ]
        )
        // Neither of these commands is long enough for a notification.
        try await session.run("\(load(shell)); printf 'loaded-%s\\n' 2", shows: "loaded-2")
        try await session.run("printf 'quick-%s\\n' 2", shows: "quick-2")
        try await session.run("\(load(shell, " --after 0")); printf 'set-%s\\n' 2", shows: "set-2")
        // Ignored.
        try await session.run("dash -c 'echo ignored-$((1 + 1))'", shows: "ignored-2")
        session.terminal.type("alias d=dash\n")
        try await session.wait(for: "notify;alias;Done")
        try await session.run("d -c 'echo alias-$((1 + 1))'", shows: "alias-2")
        session.terminal.type("TOKEN='s3 cr3t' sh -c 'sleep 0.01; exit 3'\n")
        try await session.wait(for: "]777;notify;sh;")
        try await session.wait(for: "exit status 3")
        session.terminal.type("sh -c 'kill -TERM $$'\n")
        try await session.wait(for: "killed by SIGTERM")
        // The user can still read the status.
        session.terminal.type("sh -c 'exit 5'\n")
        try await session.wait(for: "exit status 5")
        session.terminal.type("sleep 1.6\n")
        try await session.wait(for: "]777;notify;sleep;Done after \(shell == "fish" ? 2 : 1) s")
        // Not the shell's clock, which the user may set.
        if shell != "fish" {
            session.terminal.type("SECONDS=100\n")
            try await session.wait(for: "]777;notify;")
            session.terminal.type("SECONDS=1\n")
            try await session.wait(for: "Done\u{1B}")
        }
        let shown = session.shown
        #expect(!shown.contains("notify;eval") && !shown.contains("notify;dash") && !shown.contains("notify;d;"))
        #expect(!shown.contains("notify;TOKEN") && !shown.contains("notify;s3"))
        #expect(!FileManager.default.fileExists(atPath: program.home.appending("executed")))
    }

    /// Continues a stopped cat(1), until it answers.
    private func resume(_ command: String, in session: InteractiveShell) async throws {
        // The shell prints the job before it continues it, and may read what is typed in between.
        try await session.run(command, shows: "exec cat'")
        for _ in 0..<20 {
            session.terminal.type("hello\n")
            if (try? await session.wait(for: "hello\r\nhello", within: .seconds(3))) != nil { return }
        }
        try await session.wait(for: "hello\r\nhello")
    }

    @Test(arguments: shells)
    func `A stopped job has not ended; it is reported when it ends after fg`(shell: String, command: [String])
        async throws
    {
        let session = try await session(shell, command, ["INDICATOR_IGNORE": "dash printf"])
        try await session.run("\(load(shell, " --after 0")); printf 'set-%s\\n' 2", shows: "set-2")
        try await session.run("T=s3cret bash -c 'echo run-$((1 + 1)); exec cat'", shows: "run-2")
        try await session.stopJob(shell == "zsh" ? "suspended" : "topped")
        try await session.run("dash -c 'echo dash-$((1 + 1)); exec cat'", shows: "dash-2")
        try await session.stopJob(shell == "zsh" ? "suspended" : "topped")
        try await session.run("printf 'stopped-%s\\n' 2", shows: "stopped-2")
        #expect(!session.shown.contains("notify;"))
        // The job of an ignored command.
        try await resume("fg", in: session)
        session.terminal.type("\u{04}")
        try await session.run("printf 'ended-%s\\n' 2", shows: "ended-2")
        #expect(!session.shown.contains("notify;"))
        try await resume(shell == "fish" ? "fg" : shell == "zsh" ? "fg %T" : "fg %?cret", in: session)
        session.terminal.type("\u{04}")
        // The status of `fg` in fish is always 0.
        try await session.wait(for: "notify;bash;\(shell == "fish" ? "Ended" : "Done")")
        #expect(!session.shown.contains("notify;T") && !session.shown.contains("notify;fg"))
    }

    @Test(arguments: shells) func `Without the program, the shell does not notice the hook, and a stopped job stays`(
        shell: String,
        command: [String]
    ) async throws {
        let session = try await session(shell, command)
        try await session.run("\(load(shell, " --after 0")); printf 'set-%s\\n' 2", shows: "set-2")
        let assignment = shell == "fish" ? "set -x PATH " : "PATH="
        try await session.run("\(assignment)/usr/bin:/bin; printf 'path-%s\\n' 2", shows: "path-2")
        try await session.run("bash -c 'echo run-$((1 + 1)); exec cat'", shows: "run-2")
        try await session.stopJob(shell == "zsh" ? "suspended" : "topped")
        try await session.run("printf 'next-%s\\n' 2", shows: "next-2")
        try await session.run("jobs", shows: "exec cat'")
        try await resume("fg", in: session)
    }

    @Test func `In bash, PIPESTATUS, an ERR trap, nounset and read-only names are the user's`() async throws {
        let session = try await session("bash", InteractiveShell.bash)
        let prompt =
            #"PROMPT_COMMAND='pipe="${PIPESTATUS[*]}"'; set -uE; trap 'echo trapped-$((1 + 1))' ERR"#
            + "; readonly line= result= number= lasted= began="
        try await session.run("\(prompt); printf 'set-%s\\n' 2", shows: "set-2")
        try await session.run("\(load("bash", " --after 0")); printf 'loaded-%s\\n' 2", shows: "loaded-2")
        session.terminal.type("true | (exit 3) | true\n")
        try await session.wait(for: "notify;")
        #expect(try await session.value(of: #"printf '\n<%s>\n' "$pipe""#) == "0 3 0")
        #expect(!session.shown.contains("trapped-2") && !session.shown.contains("readonly variable"))
        try await session.run("history() { echo wrong; }; printf 'function-%s\\n' 2", shows: "function-2")
        session.terminal.type("sleep 0.1\n")
        try await session.wait(for: "notify;sleep;Done")
    }

    @Test(
        "In bash, a line has a label whatever the history keeps of it, and in the mode posix",
        arguments: [
            "HISTCONTROL=ignoreboth", "HISTCONTROL=erasedups", "HISTCONTROL=ignorespace", "set +o history",
            "HISTIGNORE='*'", "set -o posix", "PROMPT_COMMAND='before=$?' old=(4 4)",
        ]
    )
    func history(setting: String) async throws {
        let session = try await session("bash", InteractiveShell.bash, ["INDICATOR_IGNORE": "eval"])
        let isOld = setting.hasSuffix("old=(4 4)")
        let code = load("bash", " --after 0\(isOld ? " | sed s/BASH_VERSINFO/old/g" : "")")
        try await session.run("\(setting); \(code); printf 'set-%s\\n' 2", shows: "set-2")
        for (line, label) in [("sleep 0.1", "sleep"), ("sleep 0.1", "sleep"), (" timeout 3 sh -c 'exit 4'", "sh")] {
            session.terminal.type("\(line)\n")
            try await session.wait(for: "notify;\(label);")
        }
        if isOld { #expect(try await session.value(of: #"printf '\n<%s>\n' "$before""#) == "4") }
        // It has the last command of the line before, but repeats it only where repetitions are left out.
        guard ["HISTCONTROL=ignorespace", "set +o history"].contains(setting) else { return }
        let first = setting == "set +o history" ? "sleep" : "dash"
        for (line, label) in [("timeout 3 dash -c 'exit 5'; sleep 0.1", first), (" sleep 0.1", "sleep")] {
            session.terminal.type("\(line)\n")
            try await session.wait(for: "notify;\(label);")
        }
    }

    @Test func `In bash, a repeated line is known from one that is not in the history`() async throws {
        let session = try await session("bash", InteractiveShell.bash, ["INDICATOR_IGNORE": "eval"])
        let setting = "HISTCONTROL=ignoreboth; deploy() { sleep 0.1; return $((result += 1)); }"
        try await session.run("\(setting); \(load("bash", " --after 0")); printf 'set-%s\\n' 2", shows: "set-2")
        let lines = [
            ("deploy", "deploy"), ("deploy", "deploy;Failed: exit status 2"), ("(sleep 0.1)", "sleep"),
            ("(sleep 0.1)", "sleep"), (" leep", "leep;Failed"), (" sh -c 'exit 3' | cat", "cat;Ended"),
        ]
        for (line, end) in lines {
            session.terminal.type("\(line)\n")
            try await session.wait(for: "notify;\(end)")
        }
    }

    @Test func `A shell in which the code cannot work says so once`() async throws {
        let session = try await session("bash", InteractiveShell.bash)
        try await session.run(
            "readonly PROMPT_COMMAND; \(load("bash"))",
            shows: "PROMPT_COMMAND or an 'indicator_' name"
        )
        try await session.run("printf 'next-%s\\n' 2", shows: "next-2")
        #expect(session.shown.matches(of: /is read-only/).count == 1)
        let other = try await self.session("bash", InteractiveShell.bash)
        try await other.run("shopt -u promptvars; \(load("bash"))", shows: "it needs 'shopt -s promptvars'")
    }

    @Test("The outcome is that of the labelled command in a pipeline or a list", arguments: shells)
    func pipelines(shell: String, command: [String]) async throws {
        let session = try await session(shell, command, ["INDICATOR_IGNORE": "eval"])
        try await session.run("\(load(shell, " --after 0")); printf 'set-%s\\n' 2", shows: "set-2")
        session.terminal.type("sh -c 'exit 3' | cat\n")
        try await session.wait(for: "notify;sh;Failed: exit status 3")
        session.terminal.type("sh -c 'exit 4'; true\n")
        try await session.wait(for: "notify;sh;Ended")
        session.terminal.type("sh -c 'exit 149'\n")
        try await session.wait(for: "exit status 149")
    }

    @Test func `zsh with nounset, errexit in functions, and arrays of ksh`() async throws {
        let session = try await session("zsh", ["zsh", "--no-rcs", "-i"])
        try await session.run("setopt nounset ksharrays warncreateglobal; printf 'set-%s\\n' 2", shows: "set-2")
        try await session.run("\(load("zsh", " --after 0")); printf 'loaded-%s\\n' 2", shows: "loaded-2")
        session.terminal.type("sleep 0.1\n")
        try await session.wait(for: "notify;sleep;Done")
        #expect(!session.shown.contains("parameter not set") && !session.shown.contains("created globally"))
    }
}
