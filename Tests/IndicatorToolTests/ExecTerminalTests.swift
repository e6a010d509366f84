import Foundation
import Subprocess
import TestSupport
import Testing

/// `indicator exec` with bars: the command is behind a pseudo terminal, and nothing of that shows.
@Suite(.needs("tmux", package: "tmux"), .timeLimit(.minutes(10))) struct ExecTerminalTests {
    private let program: ExecProgram

    init() throws {
        program = try ExecProgram()
        try program.configure("startDelay: 0\nbackends: [terminalProgress]\n")
    }

    /// Runs a shell in tmux, with a prompt that can be recognized.
    private func inTerminal(_ shell: String = "/bin/sh", _ body: (Tmux) async throws -> Void) async throws {
        try await Tmux.withServer { tmux in
            let assignments = program.variables.filter { !$0.value.isEmpty && $0.key != "PS1" }
                .map { "\($0.key)='\($0.value)'" }
            let clear = "NO_COLOR=1 SWIFT_BACKTRACE=enable=no PS1='ready> '"
            try await tmux.type("exec env -u CI -u ENV \(assignments.joined(separator: " ")) \(clear) \(shell)")
            try await tmux.type("PS1='ready> '; clear")
            try #require(await eventually { try await lines(tmux).last == "ready>" })
            try await body(tmux)
        }
    }

    /// The lines of the window that are not empty.
    private func lines(_ tmux: Tmux) async throws -> [String] {
        try await tmux.screen.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }

    private func shows(_ tmux: Tmux, _ condition: ([String]) -> Bool) async throws -> Bool {
        try await eventually { try await condition(lines(tmux)) }
    }

    /// Whether bars are shown.
    private static func hasBars(_ lines: [String]) -> Bool {
        lines.contains { $0.firstMatch(of: /\ \ \d:\d\d$/) != nil }
    }

    /// Starts a command under `indicator exec`.
    private func exec(_ command: String, label: String = "bar", in tmux: Tmux) async throws {
        try await tmux.type("clear; '\(program.path)' exec --label \(label) -- \(command)")
    }

    // MARK: - Text

    /// Prints random text in random pieces, and writes the lines that remain to a file.
    private static let printer = """
        import os, random, sys, time
        seed, path = int(sys.argv[1]), sys.argv[2]
        r = random.Random(seed)
        out = sys.stdout.buffer
        lines = []
        while not os.path.exists(path + ".go"): time.sleep(0.02)
        def put(text):
            data = text.encode()
            while data:
                # tmux reports a change of the size late: a line that has been begun could end at the margin meanwhile.
                n = len(data) if seed % 2 else r.choice([1, 2, 3, 7, 20, len(data), len(data), len(data)])
                out.write(data[:n]); out.flush(); data = data[n:]
                if r.random() < 0.15: time.sleep(r.random() * 0.15)
        def word(n): return "".join(r.choice("abcdefghij") for _ in range(n))
        for number in range(60):
            kind = r.randrange(9)
            if kind < 3: line = word(r.randrange(1, 200)); put(line + "\\n")
            elif kind == 3: line = word(r.choice([79, 80, 81, 83, 160])); put(line + "\\n")
            elif kind == 4: line = word(5) + "日本語ü" + word(5); put(line + "\\n")
            elif kind == 5: line = word(30); put("\\x1b[3%dm%s\\x1b[m%s\\n" % (r.randrange(8), line[:9], line[9:]))
            elif kind == 6:
                line = "done " + word(9)
                for percent in range(0, 100, 30): put("%d %%\\r" % percent)
                put(line + "\\n")
            # When the window becomes smaller, tmux removes what is below the cursor.
            elif kind == 7 and seed % 2 == 0:
                line = word(12)
                put("first\\nsecond\\x1b[A\\r" + line + "\\x1b[K\\x1b[B\\r\\x1b[K"); lines.append(line)
                line = word(12); put(line + "\\n")
            else:
                line = word(7)
                screen = "\\x1b[?1049h\\x1b[H\\x1b[2Jfull screen\\x1b[?1049l"
                put("\\x1b]0;%s\\x07%s%s%s\\n" % (line, line[:3], screen, line[3:]))
            lines.append(line)
        open(path, "w").write("\\n".join(lines))
        """

    @Test(
        "The window and its history hold exactly the text of the command",
        .needs("python3", package: "python3"),
        arguments: 1...6
    )
    func text(seed: Int) async throws {
        let script = try program.home.write(Self.printer, to: "printer")
        let expected = program.home.appending("expected")
        try await inTerminal { tmux in
            try await exec("python3 \(script) \(seed) \(expected)", in: tmux)
            var random = SplitMix(state: UInt64(seed))
            #expect(try await shows(tmux, Self.hasBars))
            try program.home.write("", to: "expected.go")
            while !FileManager.default.fileExists(atPath: expected) {
                // Odd ones change the size of the window, while nothing but text is wrapped.
                guard seed % 2 == 1 else {
                    try await Task.sleep(for: .milliseconds(20))
                    continue
                }
                let (columns, rows) = (Int.random(in: 40...100, using: &random), Int.random(in: 8...30, using: &random))
                try await tmux.command("resize-window", "-x", "\(columns)", "-y", "\(rows)")
            }
            #expect(try await shows(tmux) { $0.last == "ready>" })
            let captured = try await tmux.command("capture-pane", "-p", "-J", "-S", "-").split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("ready>") }
            let lines = try program.home.read("expected").split(separator: "\n").map(String.init)
            // Without the line breaks: tmux forgets for some lines that they were wrapped, also without this program.
            #expect(captured.joined() == lines.joined())
        }
    }

    @Test("A question, its answer and a password remain, and no bar is shown beside a password")
    func password() async throws {
        let script = try program.home.write(
            """
            printf 'Name: '; read name; stty -echo; printf 'Password: '; read word; stty echo
            echo; echo "$name $word"; until [ -e "$0.go" ]; do sleep 0.05; done
            """,
            to: "script"
        )
        try await inTerminal { tmux in
            try await exec("sh \(script)", in: tmux)
            #expect(try await shows(tmux) { $0.first == "Name:" && Self.hasBars($0) })
            try await tmux.type("somebody")
            #expect(try await shows(tmux) { $0 == ["Name: somebody", "Password:"] })
            try await tmux.type("secret")
            #expect(try await shows(tmux) { $0.count == 4 && $0[2] == "somebody secret" && Self.hasBars($0) })
            try program.home.write("", to: "script.go")
            #expect(try await shows(tmux) { $0 == ["Name: somebody", "Password:", "somebody secret", "ready>"] })
        }
    }

    @Test("A pager has the whole window; after it, the window is as before", .needs("less", package: "less"))
    func fullScreen() async throws {
        try await inTerminal { tmux in
            let text = try program.home.write((1...100).map { "line \($0)" }.joined(separator: "\n"), to: "text")
            let end = "until [ -e \(program.home.appending("go")) ]; do sleep 0.05; done"
            try await exec("sh -c 'echo before; sleep 0.3; less \(text); echo after; \(end)'", in: tmux)
            #expect(try await shows(tmux) { $0.count == 24 && $0[0] == "line 1" && $0[22] == "line 23" })
            try await tmux.command("send-keys", "C-z")
            #expect(try await shows(tmux) { $0.first == "before" && $0.last == "ready>" && !Self.hasBars($0) })
            try await tmux.type("fg")
            #expect(try await shows(tmux) { $0.count == 24 && $0[22] == "line 23" })
            try await tmux.command("send-keys", "q")
            #expect(try await shows(tmux) { $0.contains("after") && Self.hasBars($0) })
            try program.home.write("", to: "go")
            #expect(try await shows(tmux) { $0.first == "before" && $0.last == "ready>" && !Self.hasBars($0) })
        }
    }

    @Test(
        "Ctrl-Z waits until every process of the command has restored the screen",
        .needs("python3", package: "python3")
    )
    func slowStop() async throws {
        let child = """
            import os, signal, sys, time
            def stop(*_): time.sleep(0.2); print("restored", flush=True); os.kill(os.getpid(), signal.SIGSTOP)
            signal.signal(signal.SIGTSTP, stop)
            print("begun", flush=True)
            while True: signal.pause()
            """
        let path = try program.home.write(child, to: "child")
        try await inTerminal { tmux in
            try await exec("sh -c 'python3 \(path); true'", in: tmux)
            #expect(try await shows(tmux) { $0.first == "begun" && Self.hasBars($0) })
            try await tmux.command("send-keys", "C-z")
            #expect(try await shows(tmux) { $0.last == "ready>" })
            #expect(try await lines(tmux).contains { $0.hasSuffix("restored") })
        }
    }

    // MARK: - The terminal of the command

    @Test("The command has a terminal with the same modes and size, and follows a change of the size")
    func size() async throws {
        let script = try program.home.write(
            """
            trap 'stty size > "$0.size"' WINCH
            tty -s && [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty -a </dev/tty > "$0.modes"
            until [ -e "$0.go" ]; do sleep 0.05; done
            """,
            to: "script"
        )
        try await inTerminal { tmux in
            try await tmux.type("stty -ixon; stty -a > \(script).expected")
            try await exec("sh \(script)", in: tmux)
            #expect(await eventually { (try? program.home.read("script.modes"))?.contains("icanon") == true })
            #expect(try program.home.read("script.modes") == program.home.read("script.expected"))
            try await tmux.command("resize-window", "-x", "70", "-y", "20")
            #expect(await eventually { (try? program.home.read("script.size")) == "20 70\n" })
            try program.home.write("", to: "script.go")
            #expect(try await shows(tmux) { $0.last == "ready>" })
            try await tmux.type("stty -a > \(script).after")
            #expect(await eventually { (try? program.home.read("script.after"))?.contains("icanon") == true })
            func modes(_ name: String) throws -> [String] {
                try program.home.read(name).split(separator: "\n").dropFirst().map(String.init)
            }
            #expect(try modes("script.after") == modes("script.expected"))
        }
    }

    @Test("A shell with job control works behind it")
    func shell() async throws {
        try await inTerminal { tmux in
            try await exec("bash --norc --noprofile --noediting -i", in: tmux)
            #expect(try await shows(tmux) { $0.first == "ready>" && Self.hasBars($0) })
            try await tmux.type("sh -c 'echo begun; exec sleep 1000'")
            #expect(try await shows(tmux) { $0.contains("begun") })
            try await tmux.command("send-keys", "C-z")
            #expect(try await shows(tmux) { $0.contains { $0.contains("Stopped") } })
            try await tmux.type("jobs -l | grep -c sleep; fg")
            #expect(try await shows(tmux) { $0.contains("1") && $0.contains { $0.hasPrefix("sh -c") } })
            try await tmux.command("send-keys", "C-c")
            try await tmux.type("exit 7")
            #expect(
                try await shows(tmux) { $0.contains { $0.hasPrefix("✗ bar: exit status 7") } && $0.last == "ready>" }
            )
        }
    }

    @Test("Ctrl-C also ends the script that runs the program, as without it")
    func scriptIsInterrupted() async throws {
        try await inTerminal { tmux in
            let path = try program.home.write("'\(program.path)' exec -- sleep 1000\necho continued\n", to: "script")
            try await tmux.type("clear; sh \(path)")
            #expect(try await shows(tmux, Self.hasBars))
            try await tmux.command("send-keys", "C-c")
            #expect(try await shows(tmux) { $0.last == "ready>" })
            #expect(try await !lines(tmux).contains("continued"))
        }
    }

    @Test("Ctrl-C for a job of a shell behind it does not end the script that runs the program")
    func jobIsInterrupted() async throws {
        try await inTerminal { tmux in
            let shell = "'\(program.path)' exec -- bash --norc --noprofile --noediting -i"
            let path = try program.home.write("\(shell)\necho continued\n", to: "script")
            try await tmux.type("clear; sh \(path)")
            #expect(try await shows(tmux) { $0.first == "ready>" && Self.hasBars($0) })
            try await tmux.type("sh -c 'echo started; exec sleep 1000'")
            #expect(try await shows(tmux) { $0.contains("started") })
            let job = program.home.appending("job")
            try await tmux.command("send-keys", "C-c")
            try await tmux.type("echo interrupted >\(job)")
            #expect(await eventually { (try? program.home.read("job")) == "interrupted\n" })
            try await tmux.type("exit")
            #expect(try await shows(tmux) { $0.contains("continued") && $0.last == "ready>" })
        }
    }

    @Test("A SIGCONT changes nothing in a shell that runs a job behind it")
    func continued() async throws {
        try await inTerminal { tmux in
            try await exec("bash --norc --noprofile --noediting -i", in: tmux)
            #expect(try await shows(tmux) { $0.first == "ready>" && Self.hasBars($0) })
            try await tmux.type("ps -o ppid= -p $PPID >\(program.home.appending("pid")); cat")
            let process = try await processID()
            try await tmux.type("one")
            #expect(try await shows(tmux) { lines in lines.filter { $0 == "one" }.count == 2 })
            for _ in 0..<5 {
                kill(process, SIGCONT)
                try await Task.sleep(for: .milliseconds(20))
            }
            try await tmux.type("two")
            #expect(try await shows(tmux) { lines in lines.filter { $0 == "two" }.count == 2 })
            try await tmux.command("send-keys", "C-c")
            // What is typed before the key has had its effect is discarded.
            #expect(try await shows(tmux) { $0.contains("ready>") })
            try await tmux.type("exit")
            #expect(try await shows(tmux) { $0.last == "ready>" && !Self.hasBars($0) })
        }
    }

    @Test("After kill -STOP and fg, keys reach the command once")
    func stopped() async throws {
        let script = try program.home.write(
            #"ps -o ppid= -p $PPID >"$1"; read name; echo "got $name"; read name"#,
            to: "script"
        )
        try await inTerminal("bash --norc --noprofile --noediting") { tmux in
            try await exec("sh \(script) \(program.home.appending("pid"))", in: tmux)
            #expect(try await shows(tmux, Self.hasBars))
            kill(try await processID(), SIGSTOP)
            #expect(try await shows(tmux) { $0.last == "ready>" })
            try await tmux.type("clear; fg")
            #expect(try await shows(tmux) { $0.contains { $0.contains(" exec ") } && Self.hasBars($0) })
            try await tmux.type("somebody")
            #expect(try await shows(tmux) { $0.contains("got somebody") })
            #expect(try await lines(tmux).filter { $0.contains("somebody") } == ["somebody", "got somebody"])
            try await tmux.type("")
            #expect(try await shows(tmux) { $0.last == "ready>" })
        }
    }

    /// The process ID of the program, which a command has written to a file.
    private func processID() async throws -> pid_t {
        try #require(await eventually { (try? program.home.read("pid"))?.hasSuffix("\n") == true })
        return try #require(pid_t(program.home.read("pid").trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    @Test("A program that opens the terminal by name reads a password from it")
    func openedByName() async throws {
        let script = try program.home.write(
            """
            until [ -e "$0.go" ]; do sleep 0.05; done; modes=$(stty -g <"$1")
            stty -echo -icanon min 1 <"$1"; printf 'Pass: ' >"$1"; until [ -e "$0.typed" ]; do sleep 0.05; done
            dd bs=1 count=6 <"$1" 2>/dev/null >"$0.word"
            stty "$modes" <"$1"; echo; : >"$0.asks"; read word; echo "$word"
            """,
            to: "script"
        )
        try await inTerminal { tmux in
            try await exec("sh \(script) $(tty)", in: tmux)
            #expect(try await shows(tmux, Self.hasBars))
            try program.home.write("", to: "script.go")
            #expect(try await shows(tmux) { $0.first == "Pass:" })
            try await tmux.command("send-keys", "-l", "secret")
            // No other program reads them meanwhile.
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await !tmux.screen.contains("secret"))
            try program.home.write("", to: "script.typed")
            #expect(await eventually { (try? program.home.read("script.word")) == "secret" })
            // Not earlier: the terminal would show the keys before the end of the line.
            #expect(await eventually { (try? program.home.read("script.asks")) != nil })
            #expect(try await shows(tmux) { $0.first == "Pass:" && Self.hasBars($0) })
            try await tmux.type("word")
            #expect(try await shows(tmux) { $0 == ["Pass:", "word", "word", "ready>"] })
        }
    }

    /// pinentry-tty(1), which gpg(1) has opened the outer terminal, got no key.
    @Test("GPG_TTY names the terminal of the command, unless it names another one", arguments: [true, false])
    func gpgTerminal(isOwn: Bool) async throws {
        let script = try program.home.write(
            #"echo "$GPG_TTY" >"$1"; tty >>"$1"; until [ -e "$0.go" ]; do sleep 0.05; done"#,
            to: "script"
        )
        let names = program.home.appending("names")
        try await inTerminal { tmux in
            try await tmux.type("export GPG_TTY=\(isOwn ? "$(tty)" : "/dev/pts/9999")")
            try await exec("sh \(script) \(names)", in: tmux)
            #expect(try await shows(tmux, Self.hasBars))
            #expect(await eventually { (try? program.home.read("names"))?.count { $0.isNewline } == 2 })
            let lines = try program.home.read("names").split(separator: "\n")
            #expect(lines.count == 2 && (isOwn ? lines[0] == lines[1] : lines[0] == "/dev/pts/9999"))
            try program.home.write("", to: "script.go")
            #expect(try await shows(tmux) { $0.last == "ready>" })
        }
    }

    @Test(
        "When the terminal is closed, a command that ignores SIGHUP cannot write, and its children get the signal, too",
        arguments: [
            #"trap "" HUP; echo $$ >"$1"; while echo text; do sleep 0.05; done"#,
            #"sleep 1000 & echo $! >"$1"; wait"#,
        ]
    )
    func closedTerminal(text: String) async throws {
        let script = try program.home.write(text, to: "script")
        try await inTerminal { tmux in
            try await exec("sh \(script) \(program.home.appending("pid"))", in: tmux)
            #expect(try await shows(tmux, Self.hasBars))
            let process = try await processID()
            try await tmux.command("kill-server")
            #expect(await eventually { kill(process, 0) != 0 })
        }
    }

    @Test("Modes that the command leaves stay set, as without the program")
    func modesRemain() async throws {
        try await inTerminal { tmux in
            let go = program.home.appending("go")
            try await exec("sh -c 'stty -ixon; until [ -e \(go) ]; do sleep 0.05; done'", in: tmux)
            #expect(try await shows(tmux, Self.hasBars))
            try program.home.write("", to: "go")
            #expect(try await shows(tmux) { $0.last == "ready>" })
            try await tmux.type("stty -a > \(program.home.appending("modes"))")
            #expect(await eventually { (try? program.home.read("modes"))?.contains(" icanon ") == true })
            #expect(try program.home.read("modes").contains("-ixon"))
        }
    }

    @Test(
        "A stream that is redirected stays so; the other one is a terminal",
        arguments: ["</dev/null", ">out", "2>out", "| cat", ">out 2>&1"]
    )
    func redirected(redirection: String) async throws {
        let script = try program.home.write(
            """
            for stream in 0 1 2; do test -t $stream && printf $stream; done >"$0.found"
            echo standard; echo error >&2; exit 3
            """,
            to: "script"
        )
        let folder = program.home.path
        var results: [[String]] = []
        for prefix in ["", "'\(program.path)' exec -- "] {
            try await inTerminal { tmux in
                let redirection = redirection.replacing("out", with: "\(folder)/out")
                try await tmux.type("clear; \(prefix)sh \(script) \(redirection); echo \"status $?\"")
                #expect(try await shows(tmux) { $0.contains { $0.hasPrefix("status ") } && $0.last == "ready>" })
                let shown = try await lines(tmux).filter { !$0.hasPrefix("✗") }
                results.append(
                    shown.sorted() + [try program.home.read("script.found"), (try? program.home.read("out")) ?? ""]
                )
            }
        }
        #expect(results[0] == results[1])
    }

    @Test(
        "After kill -KILL, the terminal has its modes again, and the command has ended",
        .needs("ps", package: "procps"),
        arguments: ["bash --norc", "dash -i"]
    )
    func killed(shell: String) async throws {
        try await inTerminal(shell) { tmux in
            let pid = program.home.appending("pid")
            let script = try program.home.write(#"ps -o ppid= -p $PPID >"$1"; exec sleep 1000"#, to: "script")
            try await exec("sh \(script) \(pid)", in: tmux)
            #expect(try await shows(tmux, Self.hasBars))
            kill(try await processID(), SIGKILL)
            // A prompt that comes before the bars are removed goes with them.
            #expect(
                try await eventually {
                    try await tmux.type("")
                    return try await lines(tmux).contains { $0.hasSuffix("ready>") }
                }
            )
            #expect(
                try await eventually {
                    try await tmux.type("stty -a > \(program.home.appending("modes"))")
                    let modes = (try? program.home.read("modes")) ?? ""
                    return [" icanon ", " isig ", " echo "].allSatisfy { modes.replacing("\n", with: " ").contains($0) }
                        && modes.contains("\nopost ")
                }
            )
            let left = try await Command.run("ps", ["-t", String(tmux.terminalPath.dropFirst(5)), "-o", "comm="])
            #expect(!left.output.contains("indicator"))
        }
    }
}
