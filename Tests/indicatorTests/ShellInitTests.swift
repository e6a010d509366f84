import TestSupport

/// The code of `indicator shell-init`, and the generated completion, in the real shells.
@Suite(.needs(["zsh": "zsh", "fish": "fish"])) struct ShellInitTests {
    private static let shells = ["bash", "zsh", "fish"]
    private static let loading = " --after 0"

    private let program: TestedProgram

    init() throws { program = try TestedProgram() }

    private func load(_ shell: String, _ options: String = loading) -> String {
        let code = "indicator shell-init \(shell)\(options)"
        return shell == "fish" ? "\(code) | source" : "eval \"$(\(code))\""
    }

    /// A shell that knows the program, and has run commands; by default those that load its code.
    private func session(
        _ shell: String,
        _ commands: String? = nil,
        ignoring ignored: String = "eval",
        isEditing: Bool = false,
        _ more: [String: String] = [:]
    ) async throws -> InteractiveShell {
        let folder = (program.path as NSString).deletingLastPathComponent
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let variables = [
            "PATH": "\(folder):\(path)", "TERM": "foot", "SSH_CONNECTION": "::1 2 ::1 22", "INDICATOR_IGNORE": ignored,
        ]
        let commandLines = [
            "bash": isEditing ? InteractiveShell.bash.filter { $0 != "--noediting" } : InteractiveShell.bash,
            "zsh": ["zsh", "--no-rcs", "-i"], "fish": ["fish", "--no-config", "-i"],
        ]
        let (command, environment) = (commandLines[shell] ?? [], variables.merging(more) { $1 })
        let session = try await program.shell(command, environment: environment)
        try await session.done(commands ?? load(shell))
        return session
    }

    @Test("A long command leaves a notification with its name and outcome; others leave none", arguments: shells)
    func notification(shell: String) async throws {
        let began = "a[$(touch \(program.home.appending("executed")))]"
        let ignored = "dash:less:git log"
        let session = try await session(shell, load(shell, ""), ignoring: ignored, ["indicator_began": began])
        // Neither of these commands is long enough for a notification.
        try await session.done("true")
        try await session.done(load(shell))
        // Ignored.
        try await session.run("dash -c 'echo ignored-$((1 + 1))'", shows: "ignored-2")
        try await session.run("alias d=dash", shows: "notify;alias;Done")
        try await session.run("d -c 'echo alias-$((1 + 1))'", shows: "alias-2")
        try await session.run("TOKEN='s3 cr3t' sh -c 'sleep 0.01; exit 3'", shows: "]777;notify;sh;")
        try await session.wait(for: "exit status 3")
        try await session.run("sh -c 'kill -TERM $$'", shows: "killed by SIGTERM")
        // The user can still read the status.
        try await session.run("sh -c 'exit 5'", shows: "exit status 5")
        // How many seconds is a matter of the machine, too.
        try await session.run("sleep 1.6", shows: "]777;notify;sleep;Done after ")
        // Not the shell's clock, which the user may set.
        if shell != "fish" {
            try await session.run("SECONDS=100", shows: "]777;notify;")
            try await session.run("SECONDS=1", shows: "Done\u{1B}")
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
    func `A stopped job has not ended; it is reported when it ends after fg`(shell: String) async throws {
        let session = try await session(shell, ignoring: "dash printf true")
        try await session.run("T=s3cret bash -c 'echo run-$((1 + 1)); exec cat'", shows: "run-2")
        try await session.stopJob(shell == "zsh" ? "suspended" : "topped")
        try await session.run("dash -c 'echo dash-$((1 + 1)); exec cat'", shows: "dash-2")
        try await session.stopJob(shell == "zsh" ? "suspended" : "topped")
        try await session.done()
        #expect(!session.shown.contains("notify;"))
        // The job of an ignored command.
        try await resume("fg", in: session)
        session.terminal.type("\u{04}")
        try await session.done()
        #expect(!session.shown.contains("notify;"))
        try await resume(shell == "fish" ? "fg" : shell == "zsh" ? "fg %T" : "fg %?cret", in: session)
        session.terminal.type("\u{04}")
        // The status of `fg` in fish is always 0.
        try await session.wait(for: "notify;bash;\(shell == "fish" ? "Ended" : "Done")")
        #expect(!session.shown.contains("notify;T") && !session.shown.contains("notify;fg"))
    }

    @Test(arguments: shells)
    func `Without the program, the shell does not notice the hook, and a stopped job stays`(shell: String) async throws
    {
        let session = try await session(shell)
        try await session.done("\(shell == "fish" ? "set -x PATH " : "PATH=")/usr/bin:/bin")
        try await session.run("bash -c 'echo run-$((1 + 1)); exec cat'", shows: "run-2")
        try await session.stopJob(shell == "zsh" ? "suspended" : "topped")
        try await session.done()
        try await session.run("jobs", shows: "exec cat'")
        try await resume("fg", in: session)
    }

    @Test("In bash, PIPESTATUS, BASH_REMATCH, an ERR trap, nounset and read-only names are the user's")
    func variables() async throws {
        let prompt = #"PROMPT_COMMAND='pipe="${PIPESTATUS[*]}"'"#
        let settings = "set -uE; trap 'echo trapped-$((1 + 1))' ERR; readonly line= result= number= lasted= began="
        let session = try await session("bash", "\(prompt); \(settings)")
        try await session.done(load("bash"))
        // The startup file is read again.
        try await session.done("\(prompt); \(load("bash"))")
        #expect(try await session.value("${#PROMPT_COMMAND[@]}${PS0//[^,]}") == "3,")
        try await session.run("[[ word =~ o ]] && true | (exit 3) | true", shows: "notify;")
        #expect(try await session.value("$pipe$BASH_REMATCH") == "0 3 0o")
        #expect(!session.shown.contains("trapped-2") && !session.shown.contains("readonly variable"))
        try await session.done("history() { echo wrong; }")
        try await session.run("sleep 0.1", shows: "notify;sleep;Done")
    }

    @Test(
        "In bash, a line has a label whatever the history keeps of it, and in the mode posix",
        arguments: [
            "HISTCONTROL=ignoreboth", "HISTCONTROL=erasedups", "HISTCONTROL=ignorespace", "set +o history",
            "HISTIGNORE='*'", "set -o posix", "PROMPT_COMMAND='before=$?' old=(4 4)",
        ]
    )
    func history(setting: String) async throws {
        let isOld = setting.hasSuffix("old=(4 4)")
        let code = load("bash", Self.loading + (isOld ? " | sed s/BASH_VERSINFO/old/g" : ""))
        let session = try await session("bash", "\(setting); \(code)")
        for (line, label) in [("sleep 0.1", "sleep"), ("sleep 0.1", "sleep"), (" timeout 300 sh -c 'exit 4'", "sh")] {
            try await session.run(line, shows: "notify;\(label);")
        }
        if isOld {
            #expect(try await session.value("$before") == "4")
            try await session.done(#"PROMPT_COMMAND="$PROMPT_COMMAND; after=5""#)
            #expect(try await session.value("${after-}${PROMPT_COMMAND[1]-}") == "5")
        }
        // It has the last command of the line before, but repeats it only where repetitions are left out.
        guard ["HISTCONTROL=ignorespace", "set +o history"].contains(setting) else { return }
        let first = setting == "set +o history" ? "sleep" : "dash"
        for (line, label) in [("timeout 300 dash -c 'exit 5'; sleep 0.1", first), (" sleep 0.1", "sleep")] {
            try await session.run(line, shows: "notify;\(label);")
        }
    }

    @Test func `In bash, a repeated line is known from one that is not in the history`() async throws {
        let setting = "HISTCONTROL=ignoreboth; deploy() { sleep 0.1; return $((result += 1)); }"
        let session = try await session("bash", "\(setting); \(load("bash"))")
        let lines = [
            ("deploy", "deploy"), ("deploy", "deploy;Failed"), ("(sleep 0.1)", "sleep"),
            ("(sleep 0.1)", "sleep"), (" leep", "leep;Failed"), (" sh -c 'exit 3' | cat", "cat;Ended"),
        ]
        for (line, end) in lines { try await session.run(line, shows: "notify;\(end)") }
    }

    @Test func `A shell in which the code cannot work says so once`() async throws {
        let session = try await session("bash", "readonly PROMPT_COMMAND")
        try await session.run(load("bash", ""), shows: "PROMPT_COMMAND or an 'indicator_' name")
        try await session.done()
        #expect(session.shown.matches(of: /is read-only/).count == 1)
        let other = try await self.session("bash", "shopt -u promptvars")
        try await other.run(load("bash", ""), shows: "it needs 'shopt -s promptvars'")
    }

    @Test("The outcome is that of the labelled command in a pipeline or a list", arguments: shells)
    func pipelines(shell: String) async throws {
        let session = try await session(shell)
        try await session.run("sh -c 'exit 3' | cat", shows: "notify;sh;Failed")
        try await session.wait(for: ": exit status 3")
        try await session.run("sh -c 'exit 4'; true", shows: "notify;sh;Ended")
        try await session.run("sh -c 'exit 149'", shows: "exit status 149")
    }

    @Test func `zsh has no complaints with nounset, arrays of ksh and warnings of globals`() async throws {
        let session = try await session("zsh", "setopt nounset ksharrays warncreateglobal")
        try await session.done(load("zsh"))
        try await session.run("sleep 0.1", shows: "notify;sleep;Done")
        #expect(!session.shown.contains("parameter not set") && !session.shown.contains("created globally"))
    }

    @Test("A shell completes commands and files after exec, and config files", arguments: shells)
    func completion(shell: String) async throws {
        for name in ["first-file", "second-file", "third.yaml", "fourth.yaml"] { try program.home.write("", to: name) }
        chmod(try program.home.write("#!/bin/sh\n", to: "commands/unusual-command"), 0o755)
        let before = shell == "zsh" ? "autoload -U compinit; compinit -u -D; " : ""
        let after = shell == "zsh" ? "; compdef _indicator indicator" : ""
        let load = "indicator --generate-completion-script \(shell) >~/script; source ~/script"
        let path = "export PATH=\"$HOME/commands:$PATH\""
        let session = try await session(shell, "cd; \(path); \(before)\(load)\(after)", isEditing: true)
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
