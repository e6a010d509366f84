import IndicatorBackends
import TestSupport

@testable import BackendConfiguration
@testable import IndicatorCommands

@Suite struct BackendsCommandTests {
    @Test func `Backends prints availability and help, with the config file and its sections`() async throws {
        let demo = try TestedProgram("indicator-demo")
        let path = try demo.home.write(
            """
            backends: [audit, terminalTitle]
            audit:
              kind: logFile
              path: \(demo.home.path)/audit.log
            logFile:
              path: \(demo.home.appending("config.yaml"))/x.log
            """,
            to: "config.yaml"
        )
        let result = try await demo.run("backends", "--config", path, environment: ["COLUMNS": "200"])
        #expect(result.status == 0, "\(result.error)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.contains { $0.contains(/^audit \(logFile\) +available +.*\/audit\.log$/) }, "\(result.output)")
        // The section of a kind that is not listed is used, too.
        #expect(lines.contains { $0.contains(/^logFile +unavailable .*config\.yaml/) }, "\(result.output)")
        #expect(lines.contains { $0.contains(/^terminalTitle +unavailable .*no controlling terminal/) })
        #expect(lines.contains { $0.contains(/^ +advice: start the app in a terminal/) })
        #expect(lines.count { $0.hasPrefix("terminalTitle ") } == 1)
        #expect(lines.contains { $0.hasPrefix("terminalProgress ") } && !result.output.contains("\u{1B}"))
    }

    @Test func `The same reason is printed once`() {
        let backends = [("dbusProperty", "no bus"), ("desktopJob", "no bus"), ("launcherEntry", "no file")].map {
            let problem = Unavailability(reason: $1, help: "log in")
            return BackendAvailability(name: $0, kind: $0, isUsed: false, availability: .failure(problem))
        }
        let table = BackendTable(style: TerminalStyle(columns: 80, isTerminal: false, environment: ["LANG": "C.UTF-8"]))
            .text(of: backends)
        let lines = table.split(separator: "\n").map { $0.replacing(#/ {2,}/#, with: " | ") }
        #expect(
            lines.dropFirst() == [
                "dbusProperty | unavailable | no bus", " | advice: log in",
                "desktopJob | unavailable | as dbusProperty",
                "launcherEntry | unavailable | no file", " | advice: log in",
            ]
        )
    }

    @Test(arguments: [34, 50, 80]) func `Backends wraps at the width of the terminal`(columns: Int) async throws {
        let result = try await TestedProgram("indicator-demo").run("backends", environment: ["COLUMNS": "\(columns)"])
        for line in result.output.split(separator: "\n") {
            // A path is not split, and begins a line that it does not fit into.
            let longest = line.split(separator: " ").map(\.count).max() ?? 0
            #expect(SafeText.columns(of: String(line)) <= max(columns, longest + 2), "\(line)")
        }
    }
}
