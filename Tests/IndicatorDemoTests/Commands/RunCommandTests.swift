import TestSupport

@testable import IndicatorCommands
@testable import indicator_demo

@Suite struct RunCommandTests {
    private struct Report: Decodable {
        struct Requests: Decodable { var total, succeeded, failed, cancelled, fromCache: Int }
        struct Change: Decodable {
            var atSeconds: Double
            var visible: Bool
        }
        struct Backend: Decodable {
            var name, kind, state: String
            var updates: Int
            var error: String?
        }
        var requests: Requests
        var visibility: [Change]
        var expectedVisibility: [Change]
        var backends: [Backend]
        var problems, omissions: [String]
    }

    /// The whole run in a pipe, with the log, a backend that cannot run, and one that fails at its first update.
    @Test func `Shows the indicator for real requests and reports it`() async throws {
        let demo = try TestedProgram("indicator-demo")
        let fifo = demo.home.appending("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let config = "backends: [logFile, terminalTitle, audit]\naudit: {kind: logFile, path: \(fifo)}\n"
        let path = try demo.home.write(config, to: "config.yaml")
        let server = try await DemoServer()
        let result = try await demo.run(["run", "--json", "--config", path, "--base-url", server.url.absoluteString])
        await server.stop()
        // On a busy machine, the indicator may be late.
        let errors = result.error.split(separator: "\n").filter { !$0.hasPrefix("indicator-demo: wrongly ") }
        #expect(errors == [] && (result.status == 0) == result.error.isEmpty, "\(result.status) \(result.error)")
        #expect(!result.output.contains("\u{1B}") && !result.output.contains("\r"))
        let report = try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
        #expect(report.problems == [])
        #expect(report.omissions == [])
        let icons = 20
        // Ten that are timed, two feeds, the icons twice, two posts, and seven that httpbin answers, too.
        #expect(report.requests.total == 21 + 2 * icons)
        // One is not found, one is refused, one is a teapot.
        #expect(report.requests.failed == 3)
        #expect(report.requests.cancelled == 1)
        #expect(report.requests.succeeded == 17 + 2 * icons)
        #expect(report.requests.fromCache == 2 + icons)
        #expect(report.expectedVisibility.first?.visible == true)
        #expect(report.visibility.first?.visible == true)
        #expect(report.visibility.last?.visible == false)
        #expect(report.backends.map(\.name) == ["logFile", "terminalTitle", "audit"])
        let log = try #require(report.backends.first)
        #expect(log.kind == "logFile" && log.state == "running" && log.updates > 0 && log.error == nil)
        for backend in report.backends.dropFirst() {
            #expect(backend.state == "unavailable" && backend.updates == 0 && backend.error != nil, "\(backend)")
        }
        #expect(result.output.contains(#""error":null"#))
        let lines = try demo.home.read("state/indicator-demo/indicator.log").split(separator: "\n")
        #expect(lines.count >= report.visibility.count)
    }

    @Test(.needs(.httpbin, .nightly)) func `Uses the real httpbin`() async throws {
        let httpbin = try await Httpbin()
        let demo = try TestedProgram("indicator-demo")
        let result = try await demo.run("--backend", "logFile", "--base-url", httpbin.url.absoluteString)
        // On a busy machine, the indicator may be late.
        #expect(result.status == 0 || result.output.contains("\n  wrongly "), "\(result.output)\(result.error)")
        #expect(!result.output.contains("\u{1B}") && !result.output.contains("\r"))
        #expect(result.output.contains("All responses were as expected."), "\(result.output)")
        #expect(result.output.contains("no feeds and no icons: the server has no store"))
        for line in [
            "GET /delay/0.9: 200", "GET /status/418: 418", "GET /redirect/3: 200", "GET /bytes/1024: 200",
            "GET /etag/demo, twice: 200, unchanged", "GET /cache/60, twice: 200, from cache",
            "POST /post (JSON): 200", "POST /post (picture): 200",
        ] {
            #expect(result.output.contains(line), "\(line)\n\(result.output)")
        }
        #expect(!result.output.contains("icons again"))
    }

    @Test(.needs("python3", package: "python3")) func `Fails when the echo differs from the request`() async throws {
        // Answers like httpbin, but does not echo what is posted.
        let server = try Daemon("python3", ["-u", "-c", Self.lyingServer], package: "python3")
        #expect(await eventually { server.output.contains("\n") })
        let url = server.output.trimmingCharacters(in: .newlines)
        let demo = try TestedProgram("indicator-demo")
        let result = try await demo.run("run", "--json", "--backend", "logFile", "--base-url", url)
        #expect(result.status == 1)
        let report = try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
        let problem = try #require(report.problems.first { $0.hasPrefix("POST /post (JSON): ") })
        #expect(problem.hasSuffix("as JSON, but the server received {\"title\":\"something else\"}"))
        #expect(result.error.contains("indicator-demo: \(problem)\n"))
        #expect(report.problems.contains { $0.hasPrefix("POST /post (picture): ") })
        #expect(report.problems.contains { $0.hasPrefix("GET /cache/60, twice: ") })
    }

    private static let lyingServer = """
        import http.server
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = b'{"args": {"probe": "indicator"}, "json": {"title": "something else"}, "form": {}, "files": {}}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            do_POST = do_GET
            def log_message(self, *arguments): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(f"http://127.0.0.1:{server.server_port}")
        server.serve_forever()
        """

    @Test func `Reports that a server cannot be used`() async throws {
        let refused = try await TestedProgram("indicator-demo").run("run", "--base-url", "http://127.0.0.1:1")
        #expect(refused.status == 1 && refused.output == "")
        #expect(refused.error.hasPrefix("Error: the server cannot be used: http://127.0.0.1:1"), "\(refused.error)")
        let server = try await DemoServer()
        let elsewhere = try await TestedProgram("indicator-demo").run("run", "--base-url", "\(server.url)/nothing/here")
        await server.stop()
        #expect(elsewhere.status == 1)
        #expect(elsewhere.error.contains("/nothing/here supports none of the demo's requests"))
    }

    @Test(.needs("tmux", package: "tmux"))
    func `The title and bars below whole lines are shown in a terminal`() async throws {
        let demo = try TestedProgram("indicator-demo")
        try await Tmux.withServer { tmux in
            let before = try await tmux.title
            let backends = "--backend terminalTitle --backend terminalProgress --backend logFile"
            let variables = demo.assignments().map { "'\($0)'" }.joined(separator: " ")
            let command = "env \(variables) '\(demo.path)' run --start-delay 0.1 \(backends)"
            let output = demo.home.appending("output")
            try await tmux.command("pipe-pane", "-O", "cat >'\(output)'")
            try await tmux.type("unset CI; clear; \(command); echo \"status $?\"")
            try await expectEventually { try await tmux.screen.contains(#/status \d/#) }
            #expect(try await tmux.title == before)
            // Each is shown for a part of the run only, so this is what the program has written.
            func hasWritten(_ text: Regex<Substring>) async throws {
                try await expectEventually { try demo.home.read("output").contains(text) }
            }
            try await hasWritten(#/\]0;[^\u{7}\u{1B}]*GET \//#)
            // The request, perhaps with a bar, and the time.
            try await hasWritten(#/GET /.* \d:\d\d/#)
            let text = try await tmux.command("capture-pane", "-p", "-S", "-")
            let lines = text.split(separator: "\n")
            #expect(lines.contains { $0.contains(#/^terminalProgress +available +/dev/pts/\d+$/#) })
            let events = lines.filter { $0.contains(#/^ +\d+\.\d\d s  [^ ] /#) }
            #expect(events.count >= 20, "\(lines)")
            // Nothing of a bar is left behind them.
            #expect(events.allSatisfy { !$0.contains(#/ \d:\d\d|[━─╸]|[⠁-⣿]/#) }, "\(events)")
            #expect(!lines.contains { $0.contains(#/^[⠁-⣿] /#) }, "\(lines)")
            #expect(text.contains("GET icons: 20 times 200") && text.contains("GET icons again: 20 times from cache"))
            for line in [
                "GET /missing: 404", "GET closed port: connection refused", "POST /post (JSON): 200",
                "POST /post (picture): 200", "All responses were as expected.", "indicator   ",
            ] {
                #expect(text.contains(line), "\(line)\n\(text)")
            }
            // On a busy machine, the indicator may be late.
            let isAsExpected = text.contains(/The indicator was shown (once|twice|\d+ times), as expected/)
            #expect(text.contains("status \(isAsExpected ? 0 : 1)"))
            #expect(isAsExpected || text.contains("not shown and hidden as expected:\n  wrongly "), "\(text)")
        }
    }
}
