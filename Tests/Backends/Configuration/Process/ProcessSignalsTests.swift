import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

/// Signals and `exit` in a real app with a config file. The log shows what happened to its indicator.
@Suite("Signals", .timeLimit(.minutes(10)))
struct ProcessSignalsTests {
    private let folder: TemporaryDirectory
    private let helper: String

    init() throws {
        folder = try TemporaryDirectory()
        helper = try Command.built("test-probe")
    }

    /// Starts the helper on pipes, and returns when its indicator is shown.
    private func start(_ mode: String..., backends: String = "logFile") async throws -> Daemon {
        // With a toolchain, Swift's own handler reports SIGQUIT as a crash.
        let environment = ["SWIFT_BACKTRACE": "enable=no"]
        let daemon = try Daemon(helper, ["app", try configuration(backends)] + mode, environment: environment)
        try #require(await eventually { daemon.output.contains("shown\n") && events.contains("shown") })
        return daemon
    }

    private func configuration(_ backends: String) throws -> String {
        try folder.write(
            "startDelay: 0\nbackends: [\(backends)]\nlogFile: {path: \(folder.appending("log"))}\n",
            to: "config.yaml"
        )
    }

    private func end(_ app: Daemon, by signal: Int32, at location: SourceLocation = #_sourceLocation) async {
        app.send(signal)
        await expectEventually(at: location) { app.status == 128 + Int(signal) }
    }

    private func tell(_ app: Daemon, _ command: String, at location: SourceLocation = #_sourceLocation) async {
        app.write(command)
        await expectEventually(at: location) { app.output.contains("done \(command)\n") }
    }

    private var events: [String] {
        ((try? folder.read("log")) ?? "").split(separator: "\n").compactMap { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["event"] as? String
        }
    }

    @Test(arguments: [
        SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGPIPE, SIGIO, SIGPROF, SIGPWR, SIGSTKFLT,
        SIGSYS, SIGVTALRM, SIGXCPU, SIGXFSZ, 34, 64,
    ])
    func `shut the indicator down and then end the process`(signal: Int32) async throws {
        let app = try await start()
        await end(app, by: signal)
        #expect(events == ["shown", "hidden"])
    }

    @Test(arguments: [("logFile, hanging", ""), ("logFile", "busy-pool")])
    func `do so even while another backend hangs, or the app keeps every thread of Swift's pool busy`(
        backends: String,
        mode: String
    ) async throws {
        let app = try await start(mode, backends: backends)
        await end(app, by: SIGTERM)
        #expect(events == ["shown", "hidden"])
    }

    /// The handler returns, the wait ends with EINTR, `main` runs on, and `check && deploy` deployed.
    @Test("are not forgotten when the app's wait ends by them", arguments: ["usleep", "poll", "exit"])
    func interruption(mode: String) async throws {
        let app = try await start(mode)
        #expect(await app.prints("waiting\n"))
        await end(app, by: SIGINT)
        #expect(events.first == "shown" && events.last == "hidden")
        #expect(try !folder.read("log").contains("succeeded"))
    }

    @Test(
        "cancel the work, if the app wants that, before they end the process",
        arguments: [("cancel", SIGINT), ("cancel", SIGTERM), ("success", SIGINT)]
    )
    func cancellation(mode: String, signal: Int32) async throws {
        let app = try await start(mode)
        #expect(await app.prints("working\n"))
        await end(app, by: signal)
        #expect(app.output.contains("cancelled\n"))
        #expect(events == ["shown", "finished", "hidden"])
        #expect(try folder.read("log").contains(mode == "success" ? "succeeded" : "cancelled"))
    }

    @Test func `end the process the second time, also if its work goes on`() async throws {
        let app = try await start("stubborn")
        #expect(await app.prints("working\n"))
        app.send(SIGINT)
        #expect(await app.prints("cancelled\n"))
        #expect(app.isRunning)
        await end(app, by: SIGTERM)
    }

    @Test func `delay the end by a second at most, the sum of the two limits`() {
        #expect(ProcessSignals.shutdownLimit + TerminalRegistry.restoreLimit <= .seconds(1))
    }

    @Test(arguments: ["own", "", "ignore"])
    func `that the app handles, from the start or later, or ignores are left alone`(mode: String) async throws {
        let app = try await start(mode)
        if mode.isEmpty { await tell(app, "own") }
        app.send(SIGTERM)
        if mode == "ignore" {
            await tell(app, "child")
            #expect(app.isRunning)
        } else {
            #expect(await eventually { app.status == 7 })
        }
        #expect(events == ["shown"])
    }

    @Test func `have their default action, and are not blocked, in programs that the app starts`() async throws {
        let app = try await start()
        await tell(app, "child")
        let lines = app.output.split(separator: "\n").filter { $0.hasPrefix("Sig") }
        #expect(lines.count == 3)
        for line in lines {
            let mask = try #require(line.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) })
            for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP] {
                #expect(mask & 1 << UInt64(signal - 1) == 0, "\(line)")
            }
        }
    }

    /// The app is an element of a pipe whose reader ends.
    @Test("of a closed pipe: end the app, or if it ignores them, are an error", arguments: ["print", "print-ignored"])
    func pipe(mode: String) async throws {
        let shell = #""$0" app "$1" "$2" | { read line; }; echo "${PIPESTATUS[0]}""#
        let result = try await Command.run("bash", ["-c", shell, helper, try configuration("logFile"), mode])
        #expect(result.output == (mode == "print" ? "\(128 + SIGPIPE)\n" : "0\n"))
        #expect(result.error.contains("error \(EPIPE)\n") == (mode != "print"))
        #expect(events == ["shown", "hidden"])
    }

    /// The socket of the signals was a standard stream, and each printed byte a signal.
    @Test("are not what the app prints, whichever of its streams are closed", .needs(.bus), arguments: 0..<8)
    func closedStreams(combination: Int) async throws {
        let bus = try await PrivateBus()
        let closed = ["0<&-", "1>&-", "2>&-"].enumerated().filter { combination >> $0.offset & 1 == 1 }.map(\.element)
        // What a process is started without may be a descriptor of the Swift runtime by then, which no app may close.
        for mode in ["streams", closed.isEmpty ? "late" : "streams", "streams", "streams"] {
            let shell = "exec \"$0\" app \"$1\" \(mode) \(closed.joined(separator: " "))"
            let path = try configuration("logFile, dbusProperty, desktopNotification")
            let environment = ["DBUS_SESSION_BUS_ADDRESS": bus.address]
            let result = try await Command.run("sh", ["-c", shell, helper, path], environment: environment)
            #expect(result.status == 0, "\(closed) \(result.error.suffix(300))")
            if mode == "streams" { #expect(closed.contains("1>&-") || result.output.utf8.count == 200_000) }
        }
        #expect(events.count { $0 == "hidden" } == 4)
    }

    @Test("end an app that has closed descriptors which it does not know", arguments: [SIGINT, SIGTERM])
    func closedDescriptors(signal: Int32) async throws {
        let app = try await start()
        await tell(app, "closefrom")
        await end(app, by: signal)
    }

    @Test("end a forked child, and do not affect its parent", arguments: [SIGINT, SIGQUIT, SIGTERM, SIGHUP])
    func forkedChild(signal: Int32) async throws {
        let app = try await start()
        app.write("fork")
        #expect(await eventually { app.output.contains("child ") && app.output.hasSuffix("\n") })
        let line = try #require(app.output.split(separator: "\n").last { $0.hasPrefix("child ") })
        kill(try #require(pid_t(line.dropFirst(6))), signal)
        #expect(await eventually { app.output.contains("child was ended by \(signal)\n") })
        await tell(app, "child")
        #expect(app.isRunning && events == ["shown"])
    }

    @Test(
        .needs("tmux", package: "tmux"),
        arguments: [("", "exit", 3), ("", "quick_exit", 3), ("", "return", 0), ("local", "return", 0)]
    )
    func `and exit shut the indicator down, even one that is deallocated when main returns`(
        mode: String,
        command: String,
        status: Int
    ) async throws {
        let app = try await start(mode)
        app.write(command)
        #expect(await eventually { app.status == status })
        #expect(events == ["shown", "hidden"])
    }

    /// Runs the helper in the shell of a real terminal with a title, until the busy title is shown.
    private func inTerminal(
        _ words: String = "terminal",
        backends: String = "terminalTitle, logFile",
        _ body: (Tmux) async throws -> Void
    ) async throws {
        let configuration = try configuration(backends)
        try await Tmux.withServer { tmux in
            try await tmux.command("select-pane", "-T", "the old title")
            try await tmux.type("export NO_COLOR=1 LC_ALL=C.UTF-8; unset CI")
            try await tmux.type("clear; \(helper) app \(configuration) \(words); echo status=$?")
            #expect(try await isBusy(tmux))
            try await body(tmux)
        }
    }

    private func isBusy(_ tmux: Tmux) async throws -> Bool {
        try await eventually { try await tmux.title.contains("Working") }
    }

    @Test(.needs("tmux", package: "tmux"), arguments: [nil, SIGALRM, SIGUSR1, SIGXCPU, SIGPIPE])
    func `leave no title and no bars: app | head, and kill`(signal: Int32?) async throws {
        let reader = "print | { while read line && [ ! -e \(folder.path)/end ]; do :; done; }"
        try await inTerminal(signal == nil ? reader : "terminal", backends: "terminalTitle, terminalProgress") { tmux in
            #expect(try await tmux.shows { $0.contains { $0.hasPrefix("Working ") } })
            if let signal {
                let line = try await tmux.lines.first { $0.hasPrefix("pid ") }
                kill(try #require(line.flatMap { pid_t($0.dropFirst(4)) }), signal)
            } else {
                try folder.write("", to: "end")
            }
            #expect(try await hasOldTitle(tmux))
            #expect(try await tmux.shows { $0.contains { $0.hasPrefix("status=") } })
            #expect(try await !tmux.lines.contains { $0.hasPrefix("Working ") })
        }
    }

    private func hasOldTitle(_ tmux: Tmux) async throws -> Bool {
        try await eventually { try await tmux.title == "the old title" }
    }

    @Test(.needs("tmux", package: "tmux")) func `restore the title: Ctrl-Z, and fg shows it again`() async throws {
        try await inTerminal { tmux in
            for _ in 0..<3 {
                try await tmux.press("C-z")
                // 128 plus SIGTSTP's number.
                #expect(try await eventually { try await tmux.screen.contains("status=148") })
                #expect(try await hasOldTitle(tmux))
                try await tmux.type("clear; fg; echo status=$?")
                #expect(try await isBusy(tmux))
            }
            #expect(events == ["shown"])
            try await tmux.press("C-c")
            #expect(try await hasOldTitle(tmux))
            // On a separate line: after Ctrl-C a shell skips the rest of the line.
            try await tmux.type("echo status=$?")
            #expect(try await eventually { try await tmux.screen.contains("status=130") })
        }
    }

    @Test(
        "shut the indicator down when the terminal is closed; SIGHUP before that does not",
        .needs("tmux", package: "tmux")
    )
    func closedTerminal() async throws {
        try await inTerminal { tmux in
            let line = try await tmux.lines.first { $0.hasPrefix("pid ") }
            kill(try #require(line.flatMap { pid_t($0.dropFirst(4)) }), SIGHUP)
            #expect(try await tmux.shows { $0.contains { $0.contains("SIGHUP: ") } })
            #expect(events == ["shown"])
            try await tmux.command("kill-pane")
            #expect(await eventually { events == ["shown", "hidden"] })
        }
    }
}
