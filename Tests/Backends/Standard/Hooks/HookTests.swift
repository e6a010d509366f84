import InMemoryLogging
@testable import IndicatorCore
import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

/// Programs and web services that are told of events.
@Suite struct HookTests {
    private func shown(_ label: String, attention: String? = nil) -> IndicatorUpdate {
        var snapshot = IndicatorSnapshot.shown(label)
        snapshot.activities[0].attention = attention
        return IndicatorUpdate(snapshot)
    }

    private func hidden(_ finished: [FinishedActivity]) -> IndicatorUpdate {
        IndicatorUpdate(IndicatorSnapshot(), finished: finished)
    }

    private let log = InMemoryLogHandler()
    private var logger: Logger { Logger(label: "test", factory: { _ in log }) }
    private var messages: [String] { log.entries.map(\.message.description) }

    /// A backend of the standard registry with the settings of a config file.
    private func backend(_ kind: String, _ values: [String: SettingValue]) throws -> BackendDriver<HookBackend> {
        let kind = try #require(BackendRegistry.standard.kind(named: kind))
        let context = BackendContext(name: kind.name, applicationName: "app", logger: logger)
        return BackendDriver(try #require(try kind.with(values).make(context) as? HookBackend))
    }

    /// A backend that reports ends as they come.
    private func hook(
        _ settings: HookSettings = HookSettings(events: Set(HookEvent.Kind.allCases)),
        every interval: Duration = .zero,
        _ run: @escaping @Sendable (HookEvent) throws -> Void
    ) -> HookBackend {
        var settings = settings
        settings.reportInterval = interval
        return HookBackend(name: "hook", applicationName: "app", settings: settings, logger: logger) { event, _ in
            try run(event)
        }
    }

    // MARK: - Settings

    @Test(arguments: [
        (#"[sh, '"$@"', "Done, {title}", "  two  ", ""]"#, ["sh", #""$@""#, "Done, {title}", "  two  ", ""]),
        ("'sh, -c'", ["sh", "-c"]), (nil, ["sh", "-c"]),
    ])
    func `The arguments of a program are those of a list, or in a text or a variable, with commas between them`(
        written: String?,
        words: [String]
    ) throws {
        let environment = written == nil ? ["INDICATOR_COMMAND_RUN": "sh,-c"] : [:]
        let source = ConfigurationSource(for: "app", environment: environment, registry: .standard)
        let text = "backends: [command]\n" + (written.map { "command: {run: \($0)}" } ?? "")
        var reader = ConfigurationReader(source, text: text, path: "indicator.yaml")
        #expect(reader.read().backends.map { $0.values["run"] } == [.list(words)])
    }

    // MARK: - Events

    @Test func `each event calls the function once, and only those that are selected`() async throws {
        let events = Locked<[HookEvent]>([])
        let hook = BackendDriver(hook { event in events.withLock { $0.append(event) } })
        func update(_ snapshot: IndicatorUpdate) async throws -> [String] {
            events.withLock { $0 = [] }
            try await hook.update(snapshot)
            return events.withLock { $0.map { "\($0.kind) \($0.title): \($0.text)" } }
        }
        let ends: [FinishedActivity] = [
            .init("Build", .failed("exit 2")), .init("short", seconds: 9), .init("no", .cancelled),
        ]
        for (snapshot, expected) in [
            (shown("Build"), ["shown Build: In progress"]), (shown("Build"), []),
            (shown("Build", attention: "Pass\u{1B}phrase?"), ["attention Build: Passphrase?"]),
            (shown("Build", attention: "Pass\u{1B}phrase?"), []),
            (hidden(ends), ["finished Build: Failed after 12 s: exit 2", "hidden app: No longer in progress"]),
            (hidden([FinishedActivity("Test")]), ["finished Test: Done after 12 s"]),
        ] {
            #expect(try await update(snapshot) == expected)
        }
    }

    @Test(arguments: [true, false])
    func `What a function that throws did not report is logged, and not repeated`(isEnding: Bool) async throws {
        let events = Locked<[String]>([])
        let hook = hook(HookSettings(after: .zero)) { event in
            events.withLock { $0.append(event.title) }
            throw Unavailability(reason: "no signal")
        }
        let clock = VirtualClock()
        let manager = IndicatorManager(backends: [hook], clock: clock)
        for name in ["first", "second"] {
            manager.begin(name).end()
            if !isEnding { await clock.advance(by: .seconds(10), settling: manager) }
        }
        await manager.shutdown()
        #expect(events.withLock(\.self) == (isEnding ? ["second"] : ["first", "second"]))
        let texts = isEnding ? ["second: Ended; 1 more has ended"] : ["first: Ended", "second: Ended"]
        #expect(messages == texts.map { "'hook' did not report '\($0)': no signal" })
        #expect(manager.backendStatuses[0].outages == 0)
    }

    @Test func `Ends of the same seconds are one event, about a failure, and no question waits for it`() async throws {
        let texts = Locked<[String]>([])
        let hook = BackendDriver(
            hook(HookSettings(after: .zero), every: .seconds(600)) { event in
                texts.withLock { $0.append("\(event.title): \(event.text)") }
            }
        )
        let ends = [FinishedActivity("Disk", .failed("full"))] + (0..<100).map { FinishedActivity("\($0)") }
        for end in [FinishedActivity("first")] + ends { try await hook.update(hidden([end])) }
        try await hook.update(shown("Sign", attention: "Passphrase?"))
        #expect(texts.withLock(\.self) == ["first: Done after 12 s", "Sign: Passphrase?"])
        await hook.stop()
        #expect(texts.withLock(\.last) == "Disk: Failed after 12 s: full; 100 more have ended")
    }

    // MARK: - Programs

    @discardableResult
    private func run(_ words: String..., seconds: Double = 60, isEnding: () -> Bool = { false })
        throws(Unavailability) -> String
    {
        try HelperProgram(words, timeLimit: .seconds(seconds)).run(readsOutput: true, isEnding: isEnding)
    }

    @Test func `a program gets its arguments as they are, filled in once, and no terminal`() async throws {
        let folder = try TemporaryDirectory()
        let script = """
            #!/bin/sh
            for argument in "$@"; do printf '[%s]' "$argument"; done >"$0.out"
            [ -t 0 ] || [ -t 1 ] || [ -t 2 ] || read -r line || echo none >>"$0.out"
            """
        let program = try folder.write(script, to: "program")
        // Not executed itself: a process that another test starts may still have it open for writing (ETXTBSY).
        let words = [
            "sh", program, "{title}", "a b; $(id) `id` {{X}} {{", "{event}{outcome}{seconds}", "{message}", "-{app}-",
        ]
        let hook = try await backend("command", ["run": .list(words)]).started()
        let label = "{text} \"$HOME\" %s"
        try await hook.update(hidden([FinishedActivity(label, .failed("one\ntwo"))]))
        #expect(
            try folder.read("program.out")
                == "[\(label)][a b; $(id) `id` {X} {][finishedfailed12][one two][-app-]none\n"
        )
    }

    @Test func `An event is not lost when the program of an earlier one still runs at the end`() async throws {
        let folder = try TemporaryDirectory()
        let words = ["sh", "-c", #"echo "$1" >>"$0"; until [ -e "$0.go" ]; do sleep 0.05; done; echo "$1" >>"$0""#]
        let run = words + [folder.appending("out"), "{title}"]
        let hook = try backend("command", ["run": .list(run), "timeLimit": 600])
        let manager = IndicatorManager(backends: [hook.backend])
        manager.isEnabled = true
        func lines() -> [String] {
            ((try? folder.read("out")) ?? "").split(separator: "\n").map(String.init).sorted()
        }
        ManagedActivity("first", in: manager, lasted: .seconds(20)).end(.succeeded)
        await expectEventually { lines() == ["first"] }
        ManagedActivity("second", in: manager, lasted: .seconds(20)).end(.succeeded)
        await manager.shutdown()
        await expectEventually { lines() == ["first", "second"] }
        try folder.write("", to: "out.go")
        await expectEventually { lines() == ["first", "first", "second", "second"] }
    }

    /// On a busy machine, the tenth of a second may be over before.
    @Test func `At the end of the app, a program that fails at once is noticed`() throws {
        var isNoticed = false
        for _ in 0..<5 where !isNoticed {
            let folder = try TemporaryDirectory()
            let script = #"echo $$ >"$0"; until [ -e "$0.go" ]; do sleep 0.01; done; exit 3"#
            do throws(Unavailability) {
                try run("sh", "-c", script, folder.appending("pid")) {
                    var text = ""
                    while !text.hasSuffix("\n") { text = (try? folder.read("pid")) ?? "" }
                    _ = try? folder.write("", to: "pid.go")
                    while !hasEnded(text.dropLast()) { usleep(1000) }
                    return true
                }
            } catch { isNoticed = true }
        }
        #expect(isNoticed)
    }

    /// Whether a process is a zombie, or has gone.
    private func hasEnded(_ process: Substring) -> Bool {
        let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return status?.contains(") Z ") ?? true
    }

    @Test(arguments: [
        (["sh", "-c", "echo 'no \u{1B}]0;x phone' >&2; echo >&2; exit 3"], "'sh' ended with status 3: no ]0;x phone"),
        (["sh", "-c", "kill -9 $$"], "'sh' was ended by signal 9"),
        (["sh", "-c", "seq 60000 >&2; echo no >&2; exit 1"], "'sh' ended with status 1: no"),
        (["sh", "-c", "exec yes >&2"], "'sh' was ended, because it wrote more than 512 KiB: y"),
        (["/usr/bin"], "'/usr/bin' is a folder, or not executable; give the path of a program (chmod +x)"),
        (["/etc/passwd"], "'/etc/passwd' is a folder, or not executable; give the path of a program (chmod +x)"),
        (["no-such-program"], "there is no program 'no-such-program'; install it, or give its path"),
    ])
    func `a failure says which program, how it ended, and the last line of its errors`(words: [String], text: String) {
        let error = #expect(throws: Unavailability.self) {
            try HelperProgram(words, timeLimit: .seconds(60)).run(readsOutput: true)
        }
        #expect(error?.description == text)
    }

    @Test func `a program has a session, no open files, and only the output that is read`() throws {
        #expect(try run("sh", "-c", "echo a; echo b >&2") == "a\n")
        // Inherited otherwise.
        let descriptor = open("/dev/null", O_RDONLY)
        defer { close(descriptor) }
        let script = "read -r id a b c d session rest </proc/$$/stat; echo $((session - id)); ls /proc/$$/fd"
        #expect(try run("sh", "-c", script) == "0\n0\n1\n2\n")
        // Sway's windows may take more than a pipe.
        #expect(try run("seq", "-w", "60000").count == 360_000)
        let unread = HelperProgram(
            ["sh", "-c", "x=$(readlink /proc/$$/fd/1); echo $x >&2; exit 1"],
            timeLimit: .seconds(60)
        )
        #expect(throws: Unavailability(reason: "'sh' ended with status 1: /dev/null")) {
            try unread.run()
        }
    }

    @Test func `a program that runs for too long is killed, with the programs that it started`() async throws {
        let folder = try TemporaryDirectory()
        let reason = "'sh' was ended, because it ran for more than 10.0 s"
        #expect(throws: Unavailability(reason: reason)) {
            try run("sh", "-c", "sleep 600 & echo $! >\(folder.path)/pid; wait", seconds: 10)
        }
        // A container may have no process that collects orphans: a zombie counts as ended.
        let child = try folder.read("pid").dropLast()
        await expectEventually { hasEnded(child) }
    }

    @Test func `A program that outlives its backend is no zombie afterwards, and fills no memory`() async throws {
        let folder = try TemporaryDirectory()
        let script = """
            echo $$ >"$0/pid"; until [ -e "$0/go" ]; do sleep 0.05; done
            head -c 2000000 /dev/zero >&2 || echo refused >"$0/end"
            """
        try run("sh", "-c", script, folder.path) { true }
        await expectEventually { (try? folder.read("pid"))?.hasSuffix("\n") == true }
        let process = try folder.read("pid").dropLast()
        try folder.write("", to: "go")
        await expectEventually { !FileManager.default.fileExists(atPath: "/proc/\(process)") }
        #expect(try folder.read("end") == "refused\n")
    }

    // MARK: - Web services

    /// A server that prints its requests, and answers `/403` with that status, for example.
    private static let server = """
        import http.server, json, time
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length'])).decode()
                names = ['Title', 'Priority', 'Tags', 'Authorization', 'Content-Type']
                headers = {name: self.headers[name] for name in names if name in self.headers}
                print(json.dumps([self.path, headers, body], ensure_ascii=False), flush=True)
                while self.path == '/slow': time.sleep(0.05)
                self.send_response(int(self.path[1:]) if self.path[1:].isdigit() else 200)
                if self.path == '/429': self.send_header('Retry-After', '3600')
                self.end_headers()
            def log_message(self, *arguments): pass
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    private func startServer() async throws -> (Daemon, address: String) {
        let server = try Daemon("python3", ["-c", Self.server])
        #expect(await eventually { server.output.contains("\n") })
        return (server, "http://127.0.0.1:\(server.output.trimmingCharacters(in: .whitespacesAndNewlines))")
    }

    @Test(
        .needs(.webServer),
        arguments: [
            "ntfy": #"""
            {"Title": "=?UTF-8?B?w5w=?=", "Priority": "high", "Tags": "x", \#
            "Content-Type": "text/plain; charset=utf-8"}, "Failed after 12 s: \"<a>\" \\n"
            """#,
            "slack": #"""
            {"Content-Type": "application/json"}, \#
            "{\"text\":\"Ü: Failed after 12 s: \\\"&lt;a&gt;\\\" \\\\n\"}"
            """#,
            "json": #"""
            {"Content-Type": "application/json"}, "{\"app\":\"app\",\"event\":\"finished\",\#
            \"message\":\"\\\"<a>\\\" \\\\n\",\"outcome\":\"failed\",\"seconds\":12,\#
            \"text\":\"Failed after 12 s: \\\"<a>\\\" \\\\n\",\"title\":\"Ü\"}"
            """#,
        ]
    )
    func `each format is what its services read`(_ format: String, _ expected: String) async throws {
        let (server, address) = try await startServer()
        let hook = try await backend("webhook", ["url": .string("\(address)/t"), "format": .string(format)]).started()
        try await hook.update(hidden([FinishedActivity("Ü", .failed(#""<a>" \n"#))]))
        #expect(server.output.split(separator: "\n").dropFirst() == [#"["/t", \#(expected)]"#])
    }

    /// A curl waited for an hour after the end of its app.
    @Test(
        "a redirect is an error, what is to be sent much later is one, too, and what has begun is no success",
        .needs(.webServer),
        arguments: [(301, "answered with status 301, a redirect, which is not followed"), (429, "returned error: 429")]
    )
    func refusals(_ status: Int, _ reason: String) async throws {
        let (server, address) = try await startServer()
        let settings: [String: SettingValue] = [
            "url": .string("\(address)/\(status)"), "events": ["shown"], "timeLimit": 60,
        ]
        let hook = try await backend("webhook", settings).started()
        try await hook.update(shown("Build"))
        #expect(messages.joined().contains(reason))
        #expect(server.output.contains("Build") && !server.output.contains("white_check_mark"))
    }

    @Test(.needs(.webServer)) func `Nothing waits for a slow service, and no part of an address is a list`()
        async throws
    {
        let (server, address) = try await startServer()
        for path in ["[1-3]{a,b}", "slow"] {
            let settings: [String: SettingValue] = ["url": .string("\(address)/\(path)"), "after": 0, "timeLimit": 600]
            let manager = IndicatorManager(backends: [try backend("webhook", settings).backend])
            manager.begin("=?UTF-8?B?w5w=?=").end(.succeeded)
            await manager.shutdown(timeLimit: .seconds(600))
            #expect(manager.backendStatuses[0].state == .stopped)
        }
        // In any order: on a busy machine, the first message is on its way when its indicator has ended.
        for text in [#"["/[1-3]{a,b}", {"Title": "=?UTF-8?B?PT9"#, "/slow"] { #expect(await server.prints(text)) }
        #expect(server.output.split(separator: "\n").dropFirst().count == 2)
    }

    @Test(.needs(.webServer)) func `address and token come from files, and are in no message`() async throws {
        let (server, address) = try await startServer()
        let folder = try TemporaryDirectory()
        let files: [String: SettingValue] = [
            "urlFile": .string(try folder.write("\(address)/403\n", to: "url")),
            "tokenFile": .string(try folder.write("s3cr3t\n", to: "token")),
        ]
        let hook = try await backend("webhook", files).started()
        try await hook.update(hidden([FinishedActivity("Build")]))
        let host = address.dropFirst("http://".count)
        let reason = "curl: (22) The requested URL returned error: 403"
        let lost = "'webhook' did not report 'Build: Done after 12 s'"
        #expect(messages == ["\(lost): \(host): 'curl' ended with status 22: \(reason)"])
        #expect(server.output.contains(#""Authorization": "Bearer s3cr3t""#))

        await hook.stop()
        _ = try folder.write("ftp://s3cr3t\n", to: "url")
        await #expect { try await hook.start() } throws: { "\($0)".contains("is no address that begins with") }
        _ = try folder.write("", to: "token")
        _ = try folder.write("\(address)/403\n", to: "url")
        await #expect { try await hook.start() } throws: { "\($0)".contains("has no token in its first line") }
        try FileManager.default.removeItem(atPath: folder.appending("token"))
        await #expect { try await hook.start() } throws: { "\($0)".contains("cannot be read: No such file") }
    }
}
