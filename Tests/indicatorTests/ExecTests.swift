import TestSupport

/// `indicator exec` compared with the same command without it: every difference is a defect.
@Suite struct ExecTests {
    private let program: TestedProgram

    init() throws { program = try TestedProgram() }

    @Test(arguments: [
        "exit 0", "exit 3", "exit 255", "kill -TERM $$", "kill -KILL $$", "kill -INT $$", "kill -HUP $$",
        "kill -PIPE $$", "kill -ABRT $$", "kill -SEGV $$", "kill -ALRM $$", "kill -34 $$",
    ])
    func `The exit status, and the signal that kills the command, are passed on`(script: String) async throws {
        // Long enough to be shown, and not.
        for script in ["ulimit -c 0; \(script)", "ulimit -c 0; sleep 0.2; \(script)"] {
            let expected = try await program.exec(["sh", "-c", script], directly: true)
            let result = try await program.exec(["sh", "-c", script])
            #expect(result.status == expected.status && result.isKilled == expected.isKilled)
            #expect(result.error == "" && result.output == "")
        }
    }

    @Test func `127 if there is no such command, 126 if it cannot be run`() async throws {
        let folder = program.home
        let unusable = try folder.write("#!/no/such/interpreter\n", to: "unusable")
        let data = try folder.write("data", to: "data")
        for (command, status) in [
            ("no-such-command", 127), ("/no/such", 127), ("", 127), (data, 126), (folder.path, 126),
        ] {
            let result = try await program.exec([command, "argument"])
            #expect(result.status == status, "\(command)")
            #expect(result.error.hasPrefix("indicator: cannot run '\(command)': "))
        }
        chmod(unusable, 0o755)
        #expect(try await program.exec([unusable]).status == 127)
    }

    @Test func `The command's name is enough; '--' is needed before a name that begins with '-'`() async throws {
        for options in [[], ["--"], ["--label", "x"]] {
            #expect(try await program.run(["exec"] + options + ["sh", "-c", "exit 3"]).status == 3)
        }
        let inner = try await program.run(["exec", "printf", "%s,", "--", "--label", "-x"])
        #expect(inner.output == "--,--label,-x,")
        for arguments in [["--no-such", "true"], ["--"], []] {
            let usage = try await program.run(["exec"] + arguments)
            #expect(usage.status == 64 && usage.error.contains("indicator exec"))
        }
    }

    @Test func `Messages show the escape sequences in arguments and paths, and do not contain them`() async throws {
        let sequence = "\u{1B}]0;title\u{07}\u{9B}31m"
        let log = #"logFile: {path: "/proc/\e]0;title\a\x9B"}"#
        let config = try program.home.write("backends: [logFile]\n\(log)\n", to: "config.yaml")
        for arguments in [
            [sequence], ["--\(sequence)"], ["exec", "--notify", sequence, "--", "true"],
            ["exec", "--", "/\(sequence)"], ["check-config", "/\(sequence)"], ["backends", "--config", "/\(sequence)"],
            ["replay", "/\(sequence)"],
            ["backends", "--config", config], ["check-config", config], ["watch", "--mqtt", sequence],
        ] {
            let result = try await program.run(arguments)
            let texts = (result.output + result.error).unicodeScalars
            let hasControl = texts.contains { $0 != "\n" && $0.properties.generalCategory == .control }
            #expect(!hasControl, "\(arguments): \(result.output)\(result.error)")
        }
    }

    @Test func `A script without an interpreter runs, found by its path or on the PATH`() async throws {
        let path = try program.home.write("echo \"plain $0 $1\"\n", to: "plain-script")
        chmod(path, 0o755)
        #expect(try await program.exec([path, "a b"]).output == "plain \(path) a b\n")
        let variables = ["PATH": "/nowhere:\(program.home.path):/usr/bin:/bin"]
        #expect(try await program.exec(["plain-script", "c"], environment: variables).output == "plain \(path) c\n")
    }

    @Test(
        "The command has the same environment, arguments, descriptors, signals and group as without it",
        .needs("python3", package: "python3"),
        arguments: [
            "env | grep -v ^INDICATOR_SOCKET= | LC_ALL=C sort | od -c", "od -c /proc/$$/cmdline", "ls /proc/$$/fd",
            "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status", "cat", "ulimit -a", "umask", "pwd",
            // Also under a parent that ignores signals, as nohup does, or closes streams.
            "ls /proc/self/fd",
        ]
    )
    func inheritance(script: String) async throws {
        let odd = ["--", "-x", "", "a\nb", "ü", "--label"]
        for setup in [
            "", "trap '' HUP USR1; ", "exec <&-; ", "exec 3</dev/null; ",
            "umask 077; export X=$(printf '\\377\\376'); ",
        ] {
            // The shell inherits the signal mask of the thread that starts it, and changes it while it waits.
            let mask = """
                bytes=$(printf 'a\\377\\001b')
                mask='import os, signal, sys
                signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR2})
                os.execvp(sys.argv[1], sys.argv[1:])'; 
                """
            func run(_ prefix: String) -> String {
                #"printf input | (\#(setup)exec python3 -c "$mask" \#(prefix) sh -c "$0" sh "$@" "$bytes") 2>&1; "#
                    + #"echo "status $?"; "#
            }
            let both = mask + run("") + "echo ---; " + run("'\(program.path)' exec --")
            let output = try await program.exec(["sh", "-c", both, script] + odd, directly: true).output
            let parts = output.components(separatedBy: "---\n")
            #expect(parts.count == 2 && parts[0] == parts[1], "\(setup)\(output)")
        }
    }

    @Test(
        "It is one process beside the command, and loads no library of an unused backend",
        .needs("ps", package: "procps")
    )
    func processes() async throws {
        // Long enough to be shown.
        let children = try await program.exec(["sh", "-c", "sleep 0.2; ps -o comm= --ppid $PPID"])
        #expect(children.output == "sh\n")
        // Where there is a bus, the default config and the notification use libdbus.
        let maps = try await program.exec(
            ["sh", "-c", "sleep 0.2; cat /proc/$PPID/maps"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": program.home.path]
        ).output
        #expect(maps.contains("libc.so") && !maps.contains(/lib(dbus|systemd|mosquitto|ssl|crypto|notify|gio)/))
    }

    @Test(.needs(.processes))
    func `As process 1 of a container, it reaps the processes whose parents have ended`() async throws {
        let script = try program.home.write(
            """
            sh -c 'sleep 0.1 & echo $! >"$1"' sh "$0.pid"
            for i in $(seq 2000); do kill -0 $(cat "$0.pid") || exit 7; sleep 0.05; done 2>/dev/null
            """,
            to: "script"
        )
        let command = ["unshare", "--pid", "--fork", program.path, "exec", "--", "sh", script]
        #expect(try await program.exec(command, directly: true).status == 7)
    }

    /// Waits in a shell until a process has ended: `wait` alone also returns for a stopped one.
    private static func ended(_ process: String) -> String {
        "while kill -0 \(process) 2>/dev/null; do sleep 0.05; done; wait \(process)"
    }

    private static func stopped(_ job: String) -> String {
        "until jobs -s | grep -q \(job); do sleep 0.05; jobs >/dev/null; done"
    }

    /// The commands under job control. They print that they run, and which signal they handle.
    private static let commands = [
        "default": #"echo run-$((1 + 1)); exec sleep 1000"#,
        "handles":
            #"sleep 1000 & p=$!; for s in INT QUIT TERM HUP USR1; do trap "echo got-$((3 + 4)) $s >&2; kill $p; exit 9" $s; done; echo run-$((1 + 1)); while :; do wait $p; done"#,
    ]

    @Test(arguments: ["", " | cat", "; true"], ["default", "handles"])
    func `Keys on the terminal have the same effect as without it`(end: String, command: String) async throws {
        let script = try program.home.write(Self.commands[command] ?? "", to: "script")
        // How many are stopped, and run.
        let jobs = "$(jobs -s | wc -l) $(jobs -r | wc -l)"
        let results = try await program.sameResults { prefix in
            let shell = try await program.shell(environment: ["CI": ""])
            var results: [String] = []
            for key in ["\u{03}", "\u{1C}"] {
                try await shell.run("\(prefix)sh \(script)\(end)", shows: "run-2")
                shell.terminal.type(key)
                try await shell.wait(for: "$ ")
                results.append(try await shell.value("${PIPESTATUS[*]}"))
            }
            // Stopped, continued in the foreground, stopped, continued in the background, killed.
            try await shell.run("\(prefix)sh \(script)\(end)", shows: "run-2")
            for _ in 0..<2 {
                try await shell.stopJob()
                results.append(try await shell.value(jobs))
                try await shell.run("fg", shows: "script")
            }
            try await shell.stopJob()
            shell.terminal.type("bg\n")
            results.append(try await shell.value(jobs))
            results.append(try await shell.value("$?", after: "p=$(jobs -p %1); kill %1; wait $p"))
            return results
        }
        #expect(results.count == 6)
    }

    @Test(
        "Signals to the process or the job have the same effect as without it",
        arguments: ["TERM", "INT", "HUP", "QUIT", "USR1", "KILL", "ABRT", "PIPE", "RTMIN+3"],
        ["default", "handles"]
    )
    func signals(signal: String, command: String) async throws {
        let script = try program.home.write(Self.commands[command] ?? "", to: "script")
        let results = try await program.sameResults { prefix in
            let shell = try await program.shell()
            var results: [String] = []
            // SIGKILL cannot be passed on; sent to the job, it kills both processes.
            for target in signal == "KILL" ? ["%1"] : ["$!", "%1"] {
                let send = "kill -\(signal) \(target)"
                // And to a stopped one.
                for isStopped in [false, true] {
                    try await shell.run("\(prefix)sh \(script) &", shows: "run-2")
                    if isStopped { shell.terminal.type("kill -TSTP \(target); \(Self.stopped("script"))\n") }
                    let sent = isStopped ? "\(send); kill -CONT \(target)" : send
                    results.append(try await shell.value("$?", after: "\(sent); \(Self.ended("$!"))"))
                }
            }
            return results
        }
        #expect(results.count == (signal == "KILL" ? 2 : 4))
    }

    /// Counts SIGINT and a real-time signal, of which each one is queued, until it gets the next one: that has a higher
    /// number, and is forwarded after the others. Writes what to send them to: the program, or without it itself.
    private static let counter = """
        import os, signal, sys
        folder, kind = sys.argv[1:]
        numbers = [signal.SIGINT, signal.SIGRTMIN + 3, signal.SIGRTMIN + 4]
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        def write(name, number):
            with open(folder + "/" + name, "w") as file: file.write("%d\\n" % number)
        write("begun", os.getppid() if folder.endswith("exec") else os.getpid())
        if kind == "command": os.kill(0, numbers[1])
        count = 0
        while signal.sigwait(numbers) != numbers[2]:
            count += 1
            write("got", count)
        write("count", count)
        """

    @Test(
        "A signal reaches the command once: sent to the program or the job, by a key, or by the command to its group",
        .needs("python3", package: "python3"),
        arguments: [("process", 1), ("process", 2), ("key", 1), ("command", 1), ("job", 1)]
    )
    func countedSignals(kind: String, count: Int) async throws {
        let counter = try program.home.write(Self.counter, to: "counter")
        for (name, prefix) in [("direct", ""), ("exec", "\(program.path) exec --")] {
            let folder = program.home.appending(name)
            mkdir(folder, 0o700)
            let shell = try await program.shell(environment: ["CI": ""])
            // What bash starts is not stopped, and does not end by the signals.
            let command = "trap : INT 37 38; \(prefix) python3 \(counter) \(folder) \(kind); true"
            shell.terminal.type("sh -c '\(command)'\(kind == "job" ? " &" : "")\n")
            let process = try await processID(in: "\(name)/begun")
            if kind == "key" {
                // The program gets the key when the command has taken it: before, two of the same signal are one.
                if name == "exec" { kill(process, SIGSTOP) }
                #expect(await eventually { name == "direct" || state(process) == "T" })
                shell.terminal.type("\u{03}")
            }
            if ["key", "command"].contains(kind) {
                #expect(await eventually { (try? program.home.read("\(name)/got"))?.hasSuffix("\n") == true })
                kill(process, SIGCONT)
            } else {
                for _ in 0..<count { kill(process, 37) }
            }
            kill(process, 38)
            #expect(await eventually { (try? program.home.read("\(name)/count")) == "\(count)\n" }, "\(name)")
        }
    }

    @Test(.needs(.root))
    func `With any limit of processes and threads, the command runs, and is shown or not`() async throws {
        try program.configure("startDelay: 0\n")
        for limit in 2...8 {
            let user = "\(1_500_000_000 + Int(getpid()) * 16 + limit)"
            // As that user, with root's access to files.
            let access = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
            let limited = ["prlimit", "--nproc=\(limit)", program.path, "exec", "--", "sleep", "0.2"]
            let command = ["setpriv", "--reuid=\(user)", "--clear-groups"] + access + limited
            let result = try await program.exec(command, directly: true)
            #expect(result.status == 0, "\(limit): \(result.error)")
        }
    }

    @Test(arguments: [false, true])
    func `With any limit of memory, the command runs and the program ends`(onTerminal: Bool) async throws {
        try program.configure("startDelay: 0\nbackends: [terminalTitle, terminalProgress]\n")
        // From the megabytes with which the program is loaded.
        let script = try program.home.write(
            """
            base=64
            program=$1
            until prlimit --as=$((base << 20)) "$program" --version; do base=$((base + 4)); done >/dev/null 2>&1
            try() {
                prlimit "--$1=$(($2 << 20))" "$program" exec -- sh -c 'sleep 0.1; exit 7'
                test $? -eq 7 || result="$result $1=$2"
            }
            for more in $(seq 16 4 60) $(seq 100 50 900); do try as $((base + more)); done
            for data in $(seq 16 6 130); do try data $data; done
            printf '\n<%s>\n' "$result"
            """,
            to: "script"
        )
        let shell = try await program.shell(environment: ["CI": "", "SWIFT_BACKTRACE": "enable=no"])
        shell.terminal.type("bash \(script) '\(program.path)'\(onTerminal ? "" : " </dev/null 2>&1 | cat")\n")
        try await shell.wait(for: "\n<", within: .seconds(600))
        try await shell.wait(for: ">")
        #expect(shell.shown.contains("\n<>"), "\(shell.shown)")
    }

    @Test("A background command that reads the terminal is stopped, and reads when it is in the foreground")
    func reading() async throws {
        let results = try await program.sameResults { prefix in
            let shell = try await program.shell()
            shell.terminal.type("\(prefix)cat &\n")
            try await shell.run(#"\#(Self.stopped("cat")); echo "stopped-$((1 + 1))""#, shows: "stopped-2")
            try await shell.run("jobs -l", shows: "Stopped (tty input)")
            try await shell.run("fg", shows: "fg\r\n")
            try await shell.wait(for: "cat\r\n")
            try await shell.run("hello", shows: "hello\r\nhello")
            shell.terminal.type("\u{04}")
            return [try await shell.value("$?")]
        }
        #expect(results == ["0"])
    }

    /// The kernel sends it: it is not one of the signals of a process.
    @Test("An alarm(2) that was set before ends the command", .needs("python3", package: "python3"))
    func alarm() async throws {
        let script = "import os, signal, sys; signal.alarm(1); os.execv(sys.argv[1], sys.argv[1:])"
        for command in [["/bin/sleep", "1000"], [program.path, "exec", "--", "sleep", "1000"]] {
            let result = try await program.exec(["python3", "-c", script] + command, directly: true)
            #expect(result.status == 128 + Int(SIGALRM) && result.isKilled)
        }
    }

    /// A command that writes its process ID to the file `pid`, and waits.
    private var sleeper: [String] { ["sh", "-c", #"echo $$ >"$0"; exec sleep 1000"#, program.home.appending("pid")] }

    @Test(.needs("python3", package: "python3"), arguments: [true, false])
    func `A closed terminal ends the command, with and without a shell`(isLeader: Bool) async throws {
        let terminal = try PseudoTerminal()
        let shell = isLeader ? [] : ["sh", "-c", #""$@"; true"#, "sh"]
        let exec = [program.path, "exec", "--"] + sleeper
        let process = try terminal.session(shell + exec, environment: program.variables)
        let child = try await processID(in: "pid")
        terminal.hangUp()
        #expect(await eventually { kill(child, 0) != 0 })
        #expect(await eventually { !process.isRunning })
    }

    /// Runs a command with the program, in a foreground group of a terminal whose parent does not check whether it is
    /// stopped, and writes the program's process ID to the file `program`.
    private func foreground(_ command: [String], on terminal: PseudoTerminal) throws -> Daemon {
        let parent = """
            import os, signal, subprocess, sys
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            def begin():
                os.setpgrp()
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            process = subprocess.Popen(sys.argv[2:], preexec_fn=begin)
            os.tcsetpgrp(0, process.pid)
            with open(sys.argv[1], "w") as file: file.write("%d\\n" % process.pid)
            process.wait()
            """
        let exec = ["python3", "-c", parent, program.home.appending("program"), program.path, "exec", "--"] + command
        return try terminal.session(exec, environment: program.variables.merging(["TERM": "xterm", "CI": ""]) { $1 })
    }

    /// The letter of a process's state in proc(5).
    private func state(_ process: Int32) -> String {
        let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return String(stat.split(separator: ")").last?.prefix(2).dropFirst() ?? "")
    }

    private func processID(in file: String) async throws -> Int32 {
        try #require(await eventually { (try? program.home.read(file))?.hasSuffix("\n") == true })
        return try #require(Int32(program.home.read(file).dropLast()))
    }

    @Test(.needs("python3", package: "python3"), arguments: ["command", "program", "group", "terminal"])
    func `In the foreground, no SIGCONT is lost that follows a stop immediately, or while it is prepared`(
        stopped: String
    ) async throws {
        let terminal = try PseudoTerminal()
        // Restoring the title on a stopped terminal takes the 200 ms of the time limit.
        let isSlow = stopped == "terminal"
        let log = program.home.appending("log")
        if isSlow {
            try program.configure("startDelay: 0\nbackends: [terminalTitle, logFile]\nlogFile: {path: \(log)}\n")
        }
        let process = try foreground(sleeper, on: terminal)
        let (own, child) = (try await processID(in: "program"), try await processID(in: "pid"))
        let target = ["group", "terminal"].contains(stopped) ? -own : own
        func areRunning() -> Bool { state(child) != "T" && state(own) != "T" }
        if isSlow { #expect(await eventually { (try? program.home.read("log"))?.contains("shown") == true }) }
        var lost = 0
        for number in 0..<(isSlow ? 4 : 200) {
            if isSlow { terminal.stopOutput() }
            if stopped == "command" { kill(child, SIGSTOP) } else { kill(target, SIGTSTP) }
            // At different points of what the program does then.
            if isSlow { try await Task.sleep(for: .milliseconds(10 + number * 45)) }
            for _ in 0..<number * 25 { _ = getppid() }
            kill(target, SIGCONT)
            // A stop that takes effect late, too.
            for _ in 0..<5 {
                // The program sends itself a stop signal, which discards a SIGCONT that another processor sends at the
                // same time.
                if await !eventually(within: .seconds(20), areRunning) {
                    lost += 1
                    kill(target, SIGCONT)
                    try #require(await eventually(areRunning), "\(number)")
                }
                await Task.yield()
            }
            if isSlow { terminal.startOutput() }
        }
        #expect(lost <= 2)
        kill(own, SIGTERM)
        #expect(await eventually { !process.isRunning })
    }

    @Test func `A command that another process has stopped is continued by SIGCONT`() async throws {
        let process = try Daemon(program.path, ["exec", "--"] + sleeper, environment: program.variables)
        let child = try await processID(in: "pid")
        kill(child, SIGSTOP)
        #expect(await eventually { state(child) == "T" })
        // SIGCONT to the program continues the command; SIGTERM is passed on.
        process.send(SIGCONT)
        #expect(await eventually { state(child) == "S" })
        #expect(await eventually { state(process.processID) == "S" })
        process.send(SIGTERM)
        #expect(await eventually { process.status == 128 + Int(SIGTERM) })
    }
}
