import Foundation
import TestSupport
import Testing

@testable import indicator_demo

@Suite struct RunCommandTests {
    private struct Report: Decodable {
        struct Requests: Decodable { var total, succeeded, failed, cancelled: Int }
        struct Change: Decodable {
            var atSeconds: Double
            var visible: Bool
        }
        struct Backend: Decodable {
            var name, kind, state: String
            var updates, dropped: Int
            var error: String?
        }
        var requests: Requests
        var visibility: [Change]
        var expectedVisibility: [Change]
        var backends: [Backend]
    }

    @Test func showsTheIndicatorForRealRequestsAndReportsIt() async throws {
        let demo = try DemoProgram()
        let result = try await demo.run("run", "--json")
        #expect(result.status == 0, "\(result.error)")
        #expect(result.error == "")
        let report = try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
        #expect(report.requests.total == 10)
        #expect(report.requests.succeeded == 7)
        #expect(report.requests.failed == 2)
        #expect(report.requests.cancelled == 1)
        #expect(report.visibility.map(\.visible) == report.expectedVisibility.map(\.visible))
        #expect(report.visibility.first?.visible == true)
        #expect(report.visibility.last?.visible == false)
        let log = try #require(report.backends.first { $0.name == "logFile" })
        #expect(
            log.kind == "logFile" && log.state == "running" && log.updates > 0 && log.dropped == 0 && log.error == nil
        )
        let title = try #require(report.backends.first { $0.name == "terminalTitle" })
        #expect(title.state == "unavailable" && title.updates == 0 && title.error != nil)
        #expect(result.output.contains(#""error" : null"#))
        let lines = try demo.home.read("state/indicator-demo/indicator.log").split(separator: "\n")
        #expect(lines.count >= report.visibility.count)
    }

    @Test func printsNoEscapeSequenceIntoAPipe() async throws {
        let result = try await DemoProgram().run(
            "--backend",
            "logFile",
            "--start-delay",
            "0.2",
            environment: ["COLUMNS": "70"]
        )
        #expect(result.status == 0, "\(result.error)")
        #expect(result.error == "")
        #expect(!result.output.contains("\u{1B}") && !result.output.contains("\r"))
        #expect(result.output.contains("GET /missing: 404 Not Found"))
        #expect(result.output.contains("GET closed port: connection refused"))
        #expect(result.output.contains("indicator shown"))
        #expect(result.output.contains("as the rules say"))
        let rows = result.output.split(separator: "\n").filter { $0.contains("━") || $0.contains("█") }
        #expect(rows.count >= 7)
        #expect(rows.allSatisfy { TextWidth.columns(of: String($0)) <= 70 })
    }

    @Test func usesAnotherServer() async throws {
        let server = try await DemoServer()
        let result = try await DemoProgram().run(
            "run",
            "--json",
            "--backend",
            "logFile",
            "--base-url",
            server.url.absoluteString
        )
        await server.stop()
        let report = try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
        #expect(report.requests.succeeded == 7)
        #expect(report.backends.map(\.name) == ["logFile"])
    }

    @Test func aTerminalHasItsTitleBackAfterTheRun() async throws {
        let demo = try DemoProgram()
        try await Tmux.withServer { tmux in
            let before = try await tmux.title
            try await tmux.type("clear; \(demo.shellCommand) run --backend terminalTitle; echo \"status $?\"")
            #expect(try await eventually { try await tmux.title.contains("GET /download") })
            #expect(try await eventually { try await tmux.screen.contains("status 0") })
            #expect(try await tmux.title == before)
            let screen = try await tmux.screen
            // On a busy machine the requests may come so late that the gap between them is too short to see.
            #expect(screen.contains(/The indicator was shown (once|twice|\d+ times), as the rules say/))
            #expect(screen.contains("indicator   "))
        }
    }

    @Test(arguments: ["INT", "TERM"]) func aTerminalHasItsTitleBackAfterASignal(signal: String) async throws {
        let demo = try DemoProgram()
        let pidFile = demo.home.appending("pid")
        try await Tmux.withServer { tmux in
            let before = try await tmux.title
            let command = "echo $$ > \(pidFile); exec \(demo.shellCommand) run --backend terminalTitle"
            let script = try demo.home.write(command, to: "script")
            try await tmux.type("clear; sh \(script)")
            #expect(try await eventually { try await tmux.title.contains("GET /download") })
            let pid = try demo.home.read("pid").trimmingCharacters(in: .newlines)
            #expect(try await Command.run("/bin/kill", ["-\(signal)", pid]).status == 0)
            #expect(try await eventually { try await tmux.title == before })
            // On a line of its own: a shell gives up the rest of a line whose command is ended by SIGINT.
            try await tmux.type("echo \"status $?\"")
            let status = signal == "INT" ? 130 : 143
            #expect(try await eventually { try await tmux.screen.contains("status \(status)") })
        }
    }
}
