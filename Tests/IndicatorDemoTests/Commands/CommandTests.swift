import Foundation
import TestSupport
import Testing

@testable import IndicatorCommands
@testable import indicator_demo

@Suite struct CommandTests {
    @Test func printsItsVersion() async throws {
        let result = try await DemoProgram().run("--version")
        #expect(result.output == "0.1.0\n")
        #expect(result.status == 0)
    }

    @Test(arguments: ["run", "replay", "check-config", "backends", "serve"])
    func helpDescribesACommand(command: String) async throws {
        let result = try await DemoProgram().run(command, "--help")
        #expect(result.status == 0)
        #expect(result.output.contains("OVERVIEW: "))
        #expect(result.output.contains("USAGE: indicator-demo \(command)"))
        #expect(result.error == "")
    }

    @Test func helpNamesTheCommandsAndTheExitStatus() async throws {
        let result = try await DemoProgram().run("--help")
        for word in ["run (default)", "replay", "check-config", "backends", "serve", "EXIT STATUS", "78  wrong"] {
            #expect(result.output.contains(word), "\(word)")
        }
    }

    @Test(arguments: [
        ["run", "--nonsense"], ["nonsense"], ["replay"], ["run", "--start-delay", "nan"],
        ["run", "--completion-delay=-1"],
        ["run", "--base-url", "nonsense"], ["run", "--backend", "nonsense"], ["serve", "--port", "70000"],
    ]) func wrongUsageEndsWithStatus64(arguments: [String]) async throws {
        let demo = try DemoProgram()
        let result =
            try await arguments.count == 1
            ? demo.run(arguments[0])
            : arguments.count == 2
                ? demo.run(arguments[0], arguments[1]) : demo.run(arguments[0], arguments[1], arguments[2])
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(result.error != "")
    }

    @Test func theErrorForAnUnknownCommandListsTheCommands() async throws {
        let demo = try DemoProgram()
        let result = try await demo.run("nonsense", environment: ["COLUMNS": "50"])
        #expect(result.status == 64)
        #expect(
            result.error == """
                Error: There is no command 'nonsense'; the
                commands are run, replay, check-config, backends,
                watch, serve.
                Usage: indicator-demo <subcommand>
                  See 'indicator-demo --help' for more
                    information.

                """
        )
    }

    @Test(arguments: ["-1", "nan", "inf", "1e300"]) func aWrongDelayNamesTheOption(value: String) async throws {
        let demo = try DemoProgram()
        for (command, option) in [("run", "--completion-delay"), ("replay", "--minimum-visible-time")] {
            let trace = command == "run" ? [] : ["-"]
            let result = try await demo.run([command, option, value] + trace, environment: ["COLUMNS": "120"])
            #expect(result.status == 64)
            let message = "Error: '\(option)' is '\(value)'; expected a number of seconds from 0 to 100 years"
            #expect(result.error.hasPrefix(message), "\(result.error)")
        }
    }

    @Test(arguments: [40, 50, 60, 80, 120]) func helpFitsTheTerminal(columns: Int) async throws {
        let demo = try DemoProgram()
        for command in ["run", "replay", "check-config", "backends", "watch", "serve"] {
            let result = try await demo.run(command, "--help", environment: ["COLUMNS": "\(columns)"])
            for line in result.output.split(separator: "\n") where line.count > columns {
                // A text without spaces is not split.
                let word = line.drop { $0 == " " }
                #expect(!word.contains(" "), "\(command): \(line)")
            }
        }
    }

    @Test func helpKeepsItsIndentation() throws {
        let text = """
            USAGE: tool run [--config <file>] [--backend <name> ...] [--json]
              GET /stream  sends its body little by little for so long
              tool run --backend logFile --start-delay 0.3
            A sentence that is longer than a line is.
            """
        #expect(
            HelpText.wrapped(text, to: 36) == """
                USAGE: tool run [--config <file>]
                       [--backend <name> ...]
                       [--json]
                  GET /stream  sends its body little
                               by little for so long
                  tool run --backend logFile
                    --start-delay 0.3
                A sentence that is longer than a
                line is.
                """
        )
    }

    @Test func anOptionThatFillsTheFirstColumnIsWrappedBelowTheSecond() {
        let text = "  --start-delay <seconds> Seconds of work before the indicator is shown. (default: 1)"
        #expect(
            HelpText.wrapped(text, to: 60) == """
                  --start-delay <seconds> Seconds of work before the
                                          indicator is shown. (default: 1)
                """
        )
    }

    @Test func completionScriptsAreNotWrapped() async throws {
        let demo = try DemoProgram()
        let narrow = try await demo.run("--generate-completion-script", "zsh", environment: ["COLUMNS": "40"])
        let wide = try await demo.run("--generate-completion-script", "zsh", environment: ["COLUMNS": "400"])
        #expect(narrow.status == 0)
        #expect(narrow.output == wide.output)
    }

    @Test func checkConfigReportsEveryMistake() async throws {
        let demo = try DemoProgram()
        let path = try demo.home.write("startdelay: 1\nlogFile:\n  keep: -3\n", to: "bad.yaml")
        let result = try await demo.run("check-config", path)
        #expect(result.status == 78)
        #expect(result.output == "")
        let lines = result.error.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("\(path):1:1: error: unknown key 'startdelay'") == true)
        #expect(lines.last?.hasPrefix("\(path):3:9: error: ") == true)
    }

    @Test func checkConfigPrintsEverySettingWithItsSource() async throws {
        let demo = try DemoProgram()
        let path = try demo.home.write("startDelay: 0.5\nbackends: [logFile]\n", to: "good.yaml")
        let result = try await demo.run("check-config", path, environment: ["INDICATOR_COMPLETION_DELAY": "0.3"])
        #expect(result.status == 0)
        #expect(result.error == "")
        let lines = result.output.split(separator: "\n").map {
            $0.split(separator: " ", maxSplits: 2).map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(lines.contains(["startDelay", "0.5", "\(path):1"]))
        #expect(lines.contains(["completionDelay", "0.3", "environment variable INDICATOR_COMPLETION_DELAY"]))
        #expect(lines.contains(["minimumVisibleTime", "0", "default"]))
    }

    @Test func aWrongConfigFileEndsARunWithStatus78() async throws {
        let demo = try DemoProgram()
        let path = try demo.home.write("backends: [nonsense]\n", to: "bad.yaml")
        let result = try await demo.run("run", "--config", path)
        #expect(result.status == 78)
        #expect(result.output == "")
        #expect(result.error.hasPrefix("\(path):1:12: error: unknown backend 'nonsense'"))
    }

    @Test func backendsPrintsAvailabilityAndHelp() async throws {
        let result = try await DemoProgram().run("backends")
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("logFile") && $0.contains("available") && $0.contains("/indicator.log") })
        #expect(
            lines.contains {
                $0.hasPrefix("terminalTitle") && $0.contains("unavailable") && $0.contains("no controlling terminal")
            }
        )
        #expect(lines.contains { $0.hasPrefix("terminalProgress ") })
        #expect(!result.output.contains("\u{1B}"))
    }

    @Test func backendsUsesTheConfigFileAndItsSections() async throws {
        let demo = try DemoProgram()
        let folder = demo.home.appending("audit")
        let path = try demo.home.write(
            """
            backends: [audit, terminalTitle]
            audit:
              kind: logFile
              path: \(folder)/audit.log
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
        #expect(lines.contains { $0.contains(/^ +advice: start the app in a terminal/) })
        #expect(lines.count { $0.hasPrefix("terminalTitle ") } == 1)
    }

    @Test(arguments: [34, 50, 80]) func backendsWrapsAtTheWidthOfTheTerminal(columns: Int) async throws {
        let result = try await DemoProgram().run("backends", environment: ["COLUMNS": "\(columns)"])
        for line in result.output.split(separator: "\n") {
            // In a pipe, paths are not split.
            let isPath = line.split(separator: " ").contains { $0.contains("/") }
            #expect(TextWidth.columns(of: String(line)) <= columns || isPath, "\(line)")
        }
    }

    @Test func backendsEndsWithStatus78WhenTheConfigFileIsWrong() async throws {
        let demo = try DemoProgram()
        let path = try demo.home.write("backends: [nonsense]\n", to: "bad.yaml")
        let result = try await demo.run("backends", environment: ["INDICATOR_CONFIG": path])
        #expect(result.status == 78)
        #expect(result.output == "")
        #expect(result.error.hasPrefix("\(path):1:12: error: unknown backend 'nonsense'"))
    }

    @Test func checkConfigPrintsAReferenceThatIsAConfigFile() async throws {
        let demo = try DemoProgram()
        let reference = try await demo.run("check-config", "--reference")
        #expect(reference.status == 0)
        let path = try demo.home.write(reference.output, to: "reference.yaml")
        let result = try await demo.run("check-config", path)
        #expect(result.status == 0)
        #expect(result.error == "")
        #expect(result.output.hasPrefix("\(path): no mistakes\n"))
    }

    @Test func serveAnswersUntilItIsTerminated() async throws {
        let program = try Command.built("indicator-demo")
        let script = #"""
            exec 3< <((echo "$BASHPID"; exec "$0" serve); echo "status $?")
            read -u 3 pid; read -u 3 url
            for path in /fast /status/418 /nothing; do curl -s -o /dev/null -w '%{http_code}\n' "$url$path"; done
            curl -s --data hello -o /dev/null -w '%{http_code}\n' "$url/upload?ms=1"
            kill -TERM "$pid"; cat <&3
            """#
        let result = try await Command.run("/usr/bin/env", ["bash", "-c", script, program])
        #expect(result.output == "200\n418\n404\n201\nstatus 0\n")
        #expect(result.error.contains("GET /status/418  responds with this status code\n"))
    }
}
