import TestSupport

/// Where `indicator exec` shows a command and its outcome.
@Suite struct ExecOutcomeTests {
    private let program: TestedProgram

    init() throws {
        program = try TestedProgram()
        try Self.configure(program)
    }

    private static func configure(_ program: TestedProgram, backends: String = "logFile", more: String = "") throws {
        let log = program.home.appending("log")
        try program.configure("startDelay: 0\nbackends: [\(backends)]\nlogFile: {path: \(log), format: json}\n\(more)")
    }

    /// A script that runs another one as soon as the command is shown.
    private func whenShown(_ script: String) -> String {
        "until grep -q shown '\(program.home.appending("log"))' 2>/dev/null; do sleep 0.05; done; \(script)"
    }

    @Test(
        "Nothing is written into a command's output, as a capture or cron has it, unless the user wants plain lines",
        arguments: [
            ([:], isPlain: false), (["CI": "true"], false), (["INDICATOR_ACCESSIBLE": "true"], false),
            (["INDICATOR_TERMINAL_PROGRESS_MODE": "plain"], true),
        ]
    )
    func captures(environment: [String: String], isPlain: Bool) async throws {
        try Self.configure(program, backends: "terminalTitle, terminalProgress, logFile")
        let script = whenShown("echo own >&2; exit 3")
        let variables = ["TERM": "xterm", "CI": "", "NO_COLOR": "1"].merging(environment) { $1 }
        let lines = try await program.exec(["sh", "-c", script], environment: variables).error.split(separator: "\n")
        // Whether there is a line of the beginning depends on which backend is the first one to be shown.
        #expect(lines.contains("own") && (lines.count > 1) == isPlain, "\(lines)")
    }

    @Test func `A failure is reported however short the command, and also before the start delay`() async throws {
        let hook = "run: [sh, -c, 'echo hook >\(program.home.appending("hook"))'], whenDone: failures, after: 0"
        try Self.configure(program, backends: "logFile, command", more: "command: {\(hook)}\n")
        try program.home.write("", to: "hook")
        let result = try await program.exec(["false"], options: ["--notify", "failures", "--after", "0"])
        #expect(result.status == 1 && result.error == "")
        #expect(try await eventually { try program.home.read("hook") == "hook\n" })
        #expect(try program.finished().last?.message == "exit status 1")
        try program.home.write("", to: "hook")
        let missing = try await program.exec(["/nowhere/backup"], options: ["--notify", "failures", "--after", "0"])
        #expect(missing.status == 127)
        let message = "cannot run '/nowhere/backup': No such file or directory"
        #expect(try await eventually { try program.home.read("hook") == "hook\n" })
        #expect(try program.finished().last?.message == message)
    }

    @Test func `Errors are ASCII in the locale C, and the name is still recognizable`() async throws {
        let result = try await program.exec(["größe-fehlt"], environment: ["LC_ALL": "C"])
        #expect(result.error == "indicator: cannot run 'gr\\u{00F6}\\u{00DF}e-fehlt': No such file or directory\n")
        try program.home.write("startDelay: zwölf\n", to: "wrong.yaml")
        let path = program.home.appending("wrong.yaml")
        let check = try await program.run(["check-config", path], environment: ["LC_ALL": "C"])
        #expect(check.error.contains("zw\\u{00F6}lf"), "\(check.error)\(check.output)")
        #expect((check.error + check.output).utf8.allSatisfy { $0 < 0x80 })
    }

    @Test(arguments: [
        ("exit 0", "succeeded", nil), ("exit 3", "failed", "exit status 3"),
        ("kill -TERM $$", "failed", "killed by SIGTERM"), ("kill -34 $$", "failed", "killed by signal 34"),
        ("kill -INT $$", "cancelled", nil), ("exit 130", "failed", "exit status 130"),
        // As after Ctrl-C, which a command handles.
        ("kill -INT $PPID; exit 130", "cancelled", nil), ("kill -INT $PPID; exit 3", "failed", "exit status 3"),
    ])
    func `The outcome is the exit status`(script: String, outcome: String, message: String?) async throws {
        _ = try await program.exec(["sh", "-c", whenShown(script)])
        let line = try #require(try program.finished().last)
        #expect(line.label == "sh" && line.outcome == outcome && line.message == message)
    }

    @Test(
        "The label is the option's, or the command's name",
        arguments: [
            (["--label", "Backup of ü"], ["sh", "-c"], "Backup of ü"), ([], ["/bin/sh", "-c"], "sh"),
            ([], ["env", "sh", "-c"], "env sh"), ([], ["env", "SECRET=x", "sh", "-c"], "env"),
            (["--label", ""], ["sh", "-c"], "sh"), (["--label", " "], ["sh", "-c"], "sh"), ([], [""], "command"),
        ]
    )
    func labels(options: [String], command: [String], label: String) async throws {
        _ = try await program.exec(command + [whenShown("exit 0")], options: options)
        #expect(try program.finished().last?.label == label)
    }

    @Test(arguments: [
        "backends: [terminalTitle, dbusProperty, telegraph\n", "startDelay: yes\n", "\u{0}",
        "backends: [logFile]\nlogFile: {path: /dev/null/file}\n", "backends: []\n",
    ])
    func `A command runs despite a broken config file, and without a terminal or a bus`(text: String) async throws {
        try program.configure(text)
        let result = try await program.exec(["sh", "-c", "sleep 0.5; echo done; exit 4"])
        #expect(result.status == 4 && result.output == "done\n")
        // What was configured and not shown, once, also without a terminal.
        let isFine = text == "backends: []\n"
        #expect(result.error.split(separator: "\n").count == (isFine ? 0 : 1), "\(result.error)")
        #expect(isFine || result.error.hasPrefix("indicator: "))
    }

    @Test func `The app that a command is run for has its own config file`() async throws {
        try FileManager.default.moveItem(
            atPath: program.home.appending("config/indicator"),
            toPath: program.home.appending("config/other")
        )
        _ = try await program.exec(["sh", "-c", whenShown("exit 0")], options: ["--app", "other"])
        #expect(try program.finished().last?.outcome == "succeeded")
    }

    // MARK: - Notifications

    @Test(arguments: [
        ("--after 0", "exit 3", "sh;Failed: exit status 3"), ("--after 0", "exit 0", "sh;Done"),
        ("--after 0 --notify failures", "exit 3", "sh;Failed: exit status 3"),
        ("--after 0 --notify failures", "exit 0", nil), ("--after 0 --notify never", "exit 3", nil),
        ("--after 0", "kill -INT $$", nil), ("--after 0 --label a;b\u{1B}c", "exit 0", "a,bc;Done"),
        // A short command.
        ("", "exit 3", nil),
    ])
    func `One notification by the terminal itself, over SSH`(options: String, script: String, text: String?)
        async throws
    {
        let (options, remote) = (options.split(separator: " ").map(String.init), ["SSH_CONNECTION": "::1 2 ::1 22"])
        let command = ["sh", "-c", whenShown(script)]
        let written = try await program.written(options, command, on: "foot", environment: remote)
        let expected = text.map { "\u{1B}]777;notify;\($0)\u{1B}\\" } ?? ""
        #expect(written.replacing(#/ after \d+ s/#, with: "") == expected)
    }

    /// The shutdown came first, which forgets the mistakes.
    @Test(
        "A note about mistakes in the config file follows the command; it is not in a capture of its output",
        arguments: [true, false],
        [
            (#"exec "$@" 2>/dev/tty"#, 3),
            (#"[ "$("$@" 2>&1)" = own ] || { echo mixed; exit 5; }; echo own >/dev/tty"#, 0),
        ]
    )
    func mistakes(hasMistake: Bool, script: (text: String, status: Int)) async throws {
        try program.configure(hasMistake ? "strtDelay: 3\n" : "startDelay: 3\n")
        let terminal = try PseudoTerminal()
        let exec = [program.path, "exec", "--", "sh", "-c", "sleep 0.5; echo own >&2; exit 3"]
        let command = ["-c", script.text, "sh", "env"] + program.assignments() + exec
        #expect(try await terminal.run("sh", command, type: "xterm").status == script.status)
        let note = "indicator: the configuration has mistakes; see 'indicator check-config'"
        let lines = String(decoding: terminal.read(), as: UTF8.self).split(whereSeparator: \.isNewline)
        #expect(lines.contains("own"))
        #expect(lines.contains { $0.hasSuffix(note) } == hasMistake, "\(lines)")
    }

    @Test(
        .needs(.notifications),
        arguments: [([], "exit 3", "Failed: exit status 3"), (["--notify", "failures"], "exit 0", nil)]
    )
    func `One notification on the desktop, and none while the command runs`(
        options: [String],
        script: String,
        body: String?
    ) async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let program = try TestedProgram(bus: bus)
        let path = program.home.appending("go")
        let command = Task {
            try await program.exec(
                ["sh", "-c", "until [ -e '\(path)' ]; do sleep 0.05; done; \(script)"],
                options: ["--after", "0", "--label", "Build"] + options
            )
        }
        // The program has found the server.
        #expect(await eventually { monitor.output.contains("GetCapabilities") })
        #expect(try await server.displayedCount == 0)
        try program.home.write("", to: "go")
        _ = try await command.value
        try await monitor.catchUp()
        #expect(monitor.shown.count == (body == nil ? 0 : 1))
        guard let shown = monitor.shown.first else { return }
        #expect(shown.summary == "Build" && shown.applicationName == "indicator" && shown.identifier == 0)
        #expect(shown.body.replacing(#/ after \d+ s/#, with: "") == body)
        #expect(shown.hints["urgency"] == "y 1" && shown.hints["transient"] == nil && shown.timeout == -1)
        #expect(shown.icon == "utilities-terminal" && shown.hints["category"] == nil)
        #expect(try await eventually { try await server.displayedCount == 1 })
    }

    @Test(.needs(.notifications))
    func `An outcome that the notification server refuses is reported, once, with the reason`() async throws {
        let policy = #"<deny send_interface="org.freedesktop.Notifications" send_member="Notify"/>"#
        let bus = try await PrivateBus(policy: policy)
        let server = try await NotificationServer(on: bus)
        let program = try TestedProgram(bus: bus)
        let result = try await program.exec(["false"], options: ["--notify", "always", "--after", "0"])
        let lines = result.error.split(separator: "\n")
        #expect(lines.count == 1 && lines[0].contains(/did not report 'false: Failed.*': \w+/), "\(result)")
        withExtendedLifetime(server) {}
    }

    /// The titles and bodies of the notifications on a terminal that shows some.
    private func notifications(
        _ options: [String],
        _ command: [String],
        environment: [String: String] = [:]
    ) async throws -> [String] {
        try await program.written(options, command, on: "foot", environment: environment)
            .matches(of: /\]777;notify;([^\u{1B}]*)\u{1B}/).map { String($0.1) }
    }

    @Test(.needs(.screen))
    func `A shell's command leaves no notification while the window of its terminal is focused`() async throws {
        let screen = try await Screen()
        let property = "_NET_ACTIVE_WINDOW"
        func count(_ options: [String], _ more: [String: String]) async throws -> Int {
            let variables = ["DISPLAY": screen.display, "WINDOWID": "4194316"].merging(more) { $1 }
            return try await notifications(options + ["--after", "0"], ["true"], environment: variables).count
        }
        let shell = ["--lasted", "20"]
        #expect(try await count(shell, [:]) == 1, "unknown")
        for (active, shown) in [("0x40000c", 0), ("0x40000d", 1)] {
            let arguments = ["-root", "-f", property, "32x", "-set", property, active]
            _ = try await screen.run("xprop", arguments, package: "x11-utils")
            #expect(try await count(shell, [:]) == shown)
            #expect(try await count(shell, ["TMUX": "/nowhere,1,0"]) == 0, "tmux itself shows none")
            #expect(try await count(shell, ["SSH_TTY": "/dev/pts/0"]) == 1)
        }
    }

    /// There is no bus.
    @Test(
        "Over SSH, a missing bus is reported only if the terminal cannot report the end",
        arguments: [("xterm-256color", "/dev/pts/0", true), ("foot", "", true), ("xterm-256color", "", false)]
    )
    func missingBus(type: String, remote: String, isQuiet: Bool) async throws {
        let notification = "desktopNotification: {whenDone: failures, after: 0}\n"
        try Self.configure(program, backends: "desktopNotification, dbusProperty, logFile", more: notification)
        let terminal = try PseudoTerminal()
        let exec = [program.path, "exec", "--", "sh", "-c", whenShown("exit 3")]
        let command = program.assignments(["SSH_TTY": remote]) + exec
        let ending = try await terminal.run("env", command, type: type)
        #expect(ending.error.isEmpty == isQuiet, "\(ending)")
        #expect(terminal.read().isEmpty != isQuiet, "the bell, or a notification")
    }

    @Test func `Where no notification arrives, the bell rings over SSH and in tmux, and nowhere else`() async throws {
        for (variables, isExpected) in [
            (["TMUX": "/nowhere,1,0"], true), (["STY": "1.x"], true), (["SSH_TTY": "/dev/pts/0"], true), ([:], false),
        ] {
            for options in [["--notify", "never"], ["--notify", "failures"], []] {
                let all = options + ["--lasted", "20"]
                let text = try await program.written(all, ["true"], on: "xterm-256color", environment: variables)
                #expect((text == "\u{07}") == (isExpected && options.isEmpty), "\(variables): \(text.debugDescription)")
                #expect(text.isEmpty || text == "\u{07}")
            }
        }
    }

    @Test(arguments: [
        (20, 0, "Done after 20 s"), (20, 3, "Failed after 20 s: exit status 3"),
        (20, 255, "Failed after 20 s: exit status 255"), (20, 128, "Failed after 20 s: exit status 128"),
        (20, 143, "Failed after 20 s: killed by SIGTERM"), (20, 130, nil),
        (20, 148, "Failed after 20 s: exit status 148"), (10, 0, "Done after 10 s"), (1, 0, nil),
    ])
    func `With --lasted, the status is that of a shell, and 10 s are enough`(lasted: Int, status: Int, body: String?)
        async throws
    {
        let options = ["--lasted", "\(lasted)", "--label", "make"]
        let shown = try await notifications(options, ["sh", "-c", "exit \(status)"])
            .map { $0.replacing(#/after (\d)\d s/#) { "after \($0.1)0 s" } }  // On a busy machine, it takes longer.
        #expect(shown == (body.map { ["make;\($0)"] } ?? []))
    }

    @Test(
        "A hundred commands leave nothing behind: no process, bus name, notification, title or line, and no file",
        .needs("tmux", package: "tmux"),
        .needs(.notifications)
    )
    func nothingIsLeft() async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let program = try TestedProgram(bus: bus)
        let terminal = "terminalTitle, terminalProgress, terminalNotification"
        try Self.configure(program, backends: "\(terminal), desktopNotification, dbusProperty, logFile")
        let log = program.home.appending("log")
        // The last ones are shown in the log, and usually by every backend: they are started at the same time.
        let shown = "until [ -s '\(log)' ]; do sleep 0.1; done; sleep 0.2"
        let script = try program.home.write(
            """
            for i in $(seq 100); do '\(program.path)' exec -- true || exit 1; done
            for i in $(seq 5); do rm -f '\(log)'; '\(program.path)' exec -- sh -c "\(shown)" || exit 2; done
            # Not through a pipe, whose other end may still be called sh.
            ps -o comm= --ppid $$ >'\(program.home.path)/config/left'; grep -vx ps '\(program.home.path)/config/left'
            echo "end $?"
            """,
            to: "script"
        )
        let assignments = program.assignments().map { "'\($0)'" }
        try await Tmux.withShell("unset CI SSH_CONNECTION SSH_TTY") { tmux in
            let title = try await tmux.title
            try await tmux.type("env \(assignments.joined(separator: " ")) sh \(script) 2>&1")
            // A hundred commands take a while on a busy machine.
            try await expectEventually(within: .seconds(300)) { try await tmux.screen.contains("end 1\nready>") }
            let screen = try await tmux.screen
            #expect(try await tmux.title == title)
            #expect(!screen.contains("━") && !screen.contains(" 0:0"), "\(screen)")
        }
        let service = "org.freedesktop.DBus"
        let names = try await bus.busctl("call", service, "/", service, "ListNames").output
        #expect(names.contains("org.freedesktop.Notifications") && !names.contains("activityindicator"), "\(names)")
        #expect(try await server.displayedCount == 0)
        #expect(try program.home.names() == ["config", "log", "script"])
    }

    @Test func `Notifications follow the config file, and --notify overrides it`() async throws {
        let settings = "terminalNotification: {after: 1000}\n"
        try Self.configure(program, backends: "logFile, terminalNotification", more: settings)
        for (options, isNotified) in [
            ([], false), (["--after", "0"], true), (["--after", "0", "--notify", "never"], false),
        ] {
            let command = ["sh", "-c", whenShown("exit 0")]
            let written = try await program.written(options, command, on: "xterm-ghostty")
            #expect(written.contains("]777;") == isNotified, "\(options): \(written.debugDescription)")
            try FileManager.default.removeItem(atPath: program.home.appending("log"))
        }
    }

    @Test(.needs("curl", package: "curl")) func `A hook that fails at the end is reported there`() async throws {
        // Not an address that curl tries again.
        let settings = "webhook: {url: 'http://[::1', after: 0}\n"
        try Self.configure(program, backends: "logFile, webhook", more: settings)
        var result = try await program.exec(["sh", "-c", whenShown("exit 0")])
        // On a busy machine, curl may fail later than it is waited for.
        for _ in 0..<20 where result.error.isEmpty {
            result = try await program.exec(["sh", "-c", whenShown("exit 0")])
        }
        #expect(result.status == 0)
        #expect(result.error.hasPrefix("indicator: 'webhook' did not report 'sh: Done"))
        #expect(result.error.contains("': [::1: 'curl' ended with status 3: curl: (3)"))
        #expect(result.error.count(where: \.isNewline) == 1)
    }

    #if MQTT
    private func broker() async throws -> MosquittoBroker {
        let broker = try await MosquittoBroker()
        try Self.configure(program, backends: "mqtt", more: "mqtt: {url: '\(broker.url)', interval: 0}\n")
        return broker
    }

    @Test(.needs("python3", package: "python3"), .needs(.broker), arguments: [false, true])
    func `A broker that cannot be used, or forbids publishing, is reported at the end`(isUsable: Bool) async throws {
        let rights = ["acl": "topic read nothing\n"]
        let broker =
            isUsable
            ? try await MosquittoBroker(settings: "allow_anonymous true\nacl_file FOLDER/acl", files: rights) : nil
        let address = try LoopbackAddress()
        let script = "while True: s.accept()[0].close(); print('closed', flush=True)"
        let closing = isUsable ? nil : try await Daemon.python(script, at: address)
        let url = broker?.url ?? address.mqtt
        try Self.configure(program, backends: "mqtt", more: "mqtt: {url: '\(url)'}\n")
        let end = program.home.appending("end")
        let command = ["exec", "--", "sh", "-c", "until [ -e '\(end)' ]; do sleep 0.05; done"]
        let exec = try Daemon(program.path, command, environment: program.variables)
        // MQTT 5, MQTT 3.1.1, and the next attempt.
        await expectEventually {
            closing.map { $0.output.count(where: \.isNewline) > 3 }
                ?? ((broker?.log.matches(of: /New client connected/).count ?? 0) > 1)
        }
        try program.home.write("", to: "end")
        #expect(await eventually { !exec.isRunning })
        let problem = isUsable ? "rejected a message: Not authorized" : "cannot be reached: it closed the connection"
        #expect(exec.errors.hasPrefix("indicator: mqtt: the broker at \(url) \(problem)"), "\(exec.errors)")
        #expect(exec.errors.count(where: \.isNewline) == 1)
    }

    @Test(
        .needs(.broker + ["rsync": "rsync"]),
        arguments: [
            ("cp large fifo", "0.", []), ("dd if=large of=fifo bs=64k", "0.", []), ("tar -cf - large >fifo", "0.", []),
            ("rsync --bwlimit=1 large copy", "0.", []),
            // As cp within one file system: the position in the source is that of the beginning.
            ("sleep 1000 3<large 4>>part", "0.4", []),
            // It also reads a smaller file, and writes to another one.
            (
                "bash -c 'dd bs=5000000 count=1 <&3; dd count=1 <&4; cat' 3<large 4<part 5>>copy", "0.5",
                ["--label", "A"]
            ),
        ]
    )
    func `--pid shows a program until it ends, and how much of the largest file that it reads it has read`(
        command: String,
        progress: String,
        options: [String]
    ) async throws {
        let broker = try await broker()
        try program.home.write(String(repeating: "x", count: 10_000_000), to: "large")
        try program.home.write(String(repeating: "x", count: 4_000_000), to: "part")
        // Nobody reads what it writes.
        // Another program first, as in the child of a shell.
        let script = "cd '\(program.home.path)'; mkfifo fifo; exec 9<>fifo; read -r; exec \(command)"
        let process = try Daemon("bash", ["-c", script], environment: ["LC_ALL": "C"])
        let show = ["exec"] + options + ["--pid", "\(process.processID)"]
        let exec = try Daemon(program.path, show, environment: program.variables)
        func shows(_ text: String) async throws -> Bool {
            try await eventually { try await broker.retained().first?.value.contains(text) == true }
        }
        func label(_ name: Substring) -> String { #""label":"\#(options.last ?? String(name))""# }
        #expect(try await shows(label("bash")))
        process.write("\n")
        #expect(try await shows("\(label(command.prefix { $0 != " " })),\"progress\":\(progress)"), "\(process.errors)")
        await process.end()
        #expect(await eventually { exec.status == 0 })
        #expect(exec.output == "" && (exec.errors == "" || exec.errors.contains("no answer in time")))
        // On a busy machine, the broker's answer may take longer than the end waits for it: then it is a loss.
        #expect(try await eventually { try await broker.retained().keys.allSatisfy { $0.hasSuffix("/lost") } })
    }

    /// Every second end was published as a loss, after 0.7 s: what had been acknowledged was waited for.
    @Test(.needs(.broker)) func `The end is no loss for other machines`() async throws {
        let broker = try await broker()
        for _ in 0..<16 { _ = try await program.exec(["sleep", "0.5"]) }
        // On a busy machine, the broker's answer may take longer than an end waits for it.
        let left = try await broker.retained()
        #expect(left.count <= 5, "\(left)")
    }

    /// Swift's own threads need about 600 MB of addresses: with less, some can be created, or none.
    @Test(arguments: [350_000, 400_000, 500_000, 600_000])
    func `Where no thread can be created, other commands end, and say why`(kibibytes: Int) async throws {
        try program.configure("backends: [mqtt]\nmqtt: {url: 'mqtt://127.0.0.1:9'}\n")
        let command = "ulimit -v \(kibibytes); exec '\(program.path)' backends"
        let indicator = try Daemon("sh", ["-c", command], environment: program.variables)
        #expect(await indicator.ends())
        switch indicator.status {
        case 0: #expect(indicator.output.contains("mqtt "))
        case 71: #expect(indicator.errors.hasPrefix("indicator: No thread can be created"))
        default: Issue.record("\(String(describing: indicator.status)): \(indicator.errors)")
        }
    }
    #endif

    @Test(arguments: [
        (["0"], 64, "Error: The value '0' is invalid for '--pid <pid>': expected the number of a process\n"),
        (["x"], 64, "Error: The value 'x' is invalid for '--pid <pid>': expected the number of a process\n"),
        (
            ["1", "--", "true"], 64,
            "Error: --pid shows a running process; it cannot be used with a command or --lasted\n"
        ),
        (["4194305"], 1, "indicator: cannot wait for process 4194305: there is no such process\n"),
    ])
    func `--pid needs the number of a running process`(arguments: [String], status: Int, error: String) async throws {
        let result = try await program.run(["exec", "--pid"] + arguments)
        #expect(result.status == status && result.error.hasPrefix(error), "\(result)")
    }
}
