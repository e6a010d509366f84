import TestSupport

/// `indicator exec` in a terminal, which belongs to the command.
@Suite(.needs("tmux", package: "tmux"), .timeLimit(.minutes(10))) struct ExecTerminalTests {
    private let program: TestedProgram

    init() throws {
        program = try TestedProgram()
        try program.configure("startDelay: 0\nbackends: [terminalTitle, terminalProgress]\n")
    }

    /// Runs a shell in tmux, with the environment of the program.
    private func inTerminal(_ shell: String = "/bin/sh", _ body: (Tmux) async throws -> Void) async throws {
        let assignments = program.assignments(["PS1": ""]).map { "'\($0)'" }.joined(separator: " ")
        let variables = "\(assignments) NO_COLOR=1 SWIFT_BACKTRACE=enable=no PS1='ready> '"
        try await Tmux.withShell("exec env -u CI -u ENV \(variables) \(shell)", body)
    }

    private func exec(_ command: String, label: String = "bar", in tmux: Tmux) async throws {
        try await tmux.type("clear; '\(program.path)' exec --label \(label) -- \(command)")
    }

    @Test func `The title is set once, and what the command sets meanwhile stays until its end`() async throws {
        let script = try program.home.write(
            #"""
            until [ -e '\#(program.home.path)/go' ]; do sleep 0.05; done
            printf '\033]2;own title\007\033]9;4;1;50\007\033[3'; sleep 0.5; printf '1mred\346\227'
            sleep 0.5; printf '\245\n'; exit 3
            """#,
            to: "script"
        )
        let terminal = try PseudoTerminal()
        let removed = program.variables.filter(\.value.isEmpty).map { "-u\($0.key)" }
        let environment = ["env", "-uCI"] + removed + program.assignments(["NO_COLOR": "1"])
        let exec = [program.path, "exec", "--label", "work", "--", "sh", script]
        let command = ["-c", #"exec "$@" >/dev/tty 2>&1"#, "sh"] + environment + exec
        async let ending = terminal.run("sh", command, type: "xterm-ghostty")
        #expect(await terminal.shows("\u{1B}]9;4;3\u{1B}\\"))
        try program.home.write("", to: "go")
        #expect(try await ending.status == 3)
        let written = terminal.transcript
        let parts = written.components(separatedBy: "\u{1B}]2;own title\u{7}\u{1B}]9;4;1;50\u{7}\u{1B}[31mred日\r\n")
        try #require(parts.count == 2, "\(written.debugDescription)")
        #expect(parts[0] == "\u{1B}[22;0t\u{1B}]0;work - indicator\u{7}\u{1B}]9;4;3\u{1B}\\")
        #expect(parts[1].contains("\u{1B}[23;0t") && !parts[1].contains("]0;work"))
    }

    @Test(.needs("less", package: "less"), .needs("ps", package: "procps"))
    func `A pager with a redirected input reads keys, and Ctrl-Z and fg leave and restore its screen`() async throws {
        try await inTerminal { tmux in
            try await tmux.type("clear; seq 100 | '\(program.path)' exec -- less")
            #expect(try await tmux.shows { $0.first == "1" && $0.last == ":" })
            #expect(try await tmux.press("Space") { $0.first == "24" && $0.last == ":" })
            // A Ctrl-Z between its prompt and its read waits in less for the next key.
            let ps = ["-o", "stat=,comm=", "--tty", try await tmux.terminalPath]
            #expect(try await eventually { try await Command.run("ps", ps).output.contains(/S\S* +less\n/) })
            #expect(try await tmux.press("C-z") { $0.last == "ready>" })
            #expect(try await tmux.type("fg") { $0.first == "24" && $0.last == ":" })
            #expect(try await tmux.press("q") { $0.last == "ready>" })
        }
    }

    /// What reads a pipe may print it.
    @Test("Bars appear where both standard output and standard error of the command are files or /dev/null")
    func bars() async throws {
        let go = program.home.appending("go")
        let redirections = [
            (">log 2>&1", true), (">/dev/null 2>log", true), (">log", false), ("2>log", false), ("", false),
            ("2>&1 | tee log", false), ("2>/dev/null | cat", false),
        ]
        for (redirection, isShown) in redirections {
            try await inTerminal { tmux in
                let script = "echo text; echo text >&2; until [ -e \(go) ]; do sleep 0.05; done"
                try await exec("sh -c '\(script)' \(redirection.replacing("log", with: "\(go).log"))", in: tmux)
                func hasBar() async throws -> Bool { try await tmux.lines.contains { $0.hasPrefix("bar ") } }
                if isShown {
                    #expect(try await eventually { try await hasBar() })
                } else {
                    #expect(await eventually { (try? await tmux.title)?.hasPrefix("bar") == true })
                    #expect(try await !hasBar())
                }
                try program.home.write("", to: "go")
                #expect(try await tmux.shows { $0.last == "ready>" })
                #expect(try await !hasBar())
                try FileManager.default.removeItem(atPath: go)
            }
        }
    }

    @Test func `Commands in the background have a bar each, until the script that began them has ended`() async throws {
        let (go, end, names) = (program.home.appending("go"), program.home.appending("end"), ["one", "two", "three"])
        func wait(_ file: String) -> String { "until test -e '\(file)'; do sleep 0.1; done" }
        let command = try program.home.write(wait(end), to: "command")
        let commands = names.map { name in
            "'\(program.path)' exec --label \(name) -- sh '\(command)' >/dev/null 2>&1 &"
        }
        let script = try program.home.write((commands + [wait(go)]).joined(separator: "\n") + "\n", to: "script")
        try await inTerminal { tmux in
            func counts(_ lines: [String]) -> [Int] { names.map { name in lines.count { $0.hasPrefix("\(name) ") } } }
            #expect(try await tmux.type("clear; sh '\(script)'") { counts($0) == [1, 1, 1] })
            try program.home.write("", to: "go")
            #expect(try await tmux.shows { $0.last == "ready>" && counts($0) == [0, 0, 0] })
            try program.home.write("", to: "end")
        }
    }

    /// An interactive shell. Its prompt is not that of the shell which starts it: what is typed earlier may be lost.
    private let shell = "env PS1='inner> ' bash --norc --noprofile --noediting -i"

    @Test func `A shell with job control works, also when it is suspended`() async throws {
        try await inTerminal { tmux in
            try await exec(shell, in: tmux)
            #expect(try await tmux.shows { $0.first == "inner>" })
            // It says when it goes on: `fg` prints it before, when a key is for the shell. It starts no program: dash
            // waits in vfork(2), and is not stopped, if Ctrl-Z stops the child before it executes one.
            let job = #"bash -c 'trap "echo back" CONT; echo begun; while :; do read -t 0.1; done'"#
            #expect(try await tmux.type(job) { $0.contains("begun") })
            #expect(try await tmux.press("C-z") { $0.contains { $0.contains("Stopped") } && $0.last == "inner>" })
            try await tmux.type("jobs -l | grep -c begun; fg")
            #expect(try await tmux.shows { $0.contains("1") && $0.last == "back" })
            #expect(try await tmux.press("C-c") { $0.last == "inner>" })
            // Otherwise, what is shown next may be the end of the first job.
            #expect(try await tmux.type("clear") { $0 == ["inner>"] })
            #expect(try await tmux.type("suspend") { $0.contains { $0.contains("Stopped") } && $0.last == "ready>" })
            // Each shell sets the terminal's modes when it takes over, and may drop what is typed before.
            #expect(try await tmux.type("fg") { $0.contains("ready> fg") && $0.last == "inner>" })
            #expect(try await tmux.type("exit 7") { $0.contains("exit") && $0.last == "ready>" })
            #expect(try await tmux.type("echo status $?") { $0.contains("status 7") })
        }
    }

    @Test func `Ctrl-C for a job of a shell behind it does not end the script that runs the program`() async throws {
        try await inTerminal { tmux in
            let path = try program.home.write("'\(program.path)' exec -- \(shell)\necho continued\n", to: "script")
            #expect(try await tmux.type("clear; sh \(path)") { $0.first == "inner>" })
            #expect(try await tmux.type("sh -c 'echo started; exec sleep 1000'") { $0.contains("started") })
            let job = program.home.appending("job")
            try await tmux.press("C-c")
            try await tmux.type("echo interrupted >\(job)")
            #expect(await eventually { (try? program.home.read("job")) == "interrupted\n" })
            #expect(try await tmux.type("exit") { $0.contains("continued") && $0.last == "ready>" })
        }
    }

    @Test(
        "The command has the terminal, its modes, size, session and foreground; redirected streams stay so",
        .needs("ps", package: "procps"),
        .needs("python3", package: "python3"),
        arguments: ["", "</dev/null", ">out", "2>out", "| cat", ">out 2>&1"]
    )
    func sameTerminal(redirection: String) async throws {
        try program.configure("startDelay: 0\nbackends: [terminalTitle]\n")
        let script = try program.home.write(
            """
            exec 3>"$0.found"
            for stream in 0 1 2; do test -t $stream && echo $stream >&3; done
            {
                ps -o sid=,tty= -p $$; test $(ps -o tpgid= -p $$) -eq $(ps -o pgid= -p $$) && echo foreground
                python3 -c 'import fcntl, termios; print(fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))'
                stty -a
            } >&3 </dev/tty
            echo standard; echo error >&2; exit 3
            """,
            to: "script"
        )
        let redirection = redirection.replacing("out", with: program.home.appending("out"))
        try await inTerminal { tmux in
            try await tmux.type("stty -ixon")
            try await program.sameResults { prefix in
                // Of this run: the screen may still have the end of the one before.
                #expect(try await tmux.type("clear") { $0 == ["ready>"] })
                try await tmux.type("clear; \(prefix)sh \(script) \(redirection); echo \"status $?\"")
                #expect(try await tmux.shows { $0.contains { $0.hasPrefix("status ") } && $0.last == "ready>" })
                let files = [try program.home.read("script.found"), (try? program.home.read("out")) ?? ""]
                #expect(files[0].contains("foreground"))
                return try await tmux.lines.sorted() + files
            }
        }
    }
}
