import TestSupport

@Suite struct CommandTests {
    @Test(arguments: [
        ("--version", ["0.1.0\n"]),
        ("--help", ["run (default)", "replay", "check-config", "backends", "serve", "EXIT STATUS", "78  wrong"]),
    ])
    func `The version, and a help with all commands, are printed`(option: String, texts: [String]) async throws {
        let result = try await TestedProgram("indicator-demo").run(option)
        #expect(result.status == 0 && result.error == "")
        for text in texts { #expect(result.output.contains(text)) }
    }

    @Test(arguments: [
        (["run", "--nonsense"], "Unknown option '--nonsense'"), (["replay"], "Missing expected argument"),
        (
            ["run", "--completion-delay=-1"],
            "Error: The value '-1' is invalid for '--completion-delay <seconds>': expected a number of seconds"
        ),
        (["replay", "-", "--minimum-visible-time", "nan"], "'nan' is invalid for '--minimum-visible-time"),
        (["run", "--start-delay", "inf"], "'inf' is invalid for '--start-delay"),
        (["run", "--base-url", "nonsense"], "'nonsense' is invalid for '--base-url"),
        (["run", "--backend", "nonsense"], "'nonsense'"), (["serve", "--port", "70000"], "70000"),
        (
            ["nonsense"],
            "Error: There is no command 'nonsense'; the commands are run, replay, check-config, backends, watch, serve."
        ),
    ])
    func `Wrong usage is named and ends with status 64`(arguments: [String], message: String) async throws {
        let result = try await TestedProgram("indicator-demo").run(arguments, environment: ["COLUMNS": "120"])
        #expect(result.status == 64 && result.output == "")
        #expect(result.error.contains(message), "\(result.error)")
    }

    @Test(arguments: [["run", "--config", "FILE"], ["backends"]])
    func `A wrong config file ends a command with status 78`(arguments: [String]) async throws {
        let demo = try TestedProgram("indicator-demo")
        let path = try demo.home.write("backends: [nonsense]\n", to: "bad.yaml")
        let arguments = arguments.map { $0 == "FILE" ? path : $0 }
        let result = try await demo.run(arguments, environment: ["INDICATOR_CONFIG": path])
        #expect(result.status == 78 && result.output == "")
        #expect(result.error.hasPrefix("\(path):1:12: error: unknown backend 'nonsense'"))
    }

    @Test(.needs("curl", package: "curl")) func `Serve answers until it is terminated`() async throws {
        let program = try Command.built("indicator-demo")
        let script = #"""
            exec 3< <((echo "$BASHPID"; exec "$0" serve); echo "status $?")
            read -u 3 pid; read -u 3 url
            for path in /fast /status/418 /nothing; do curl -s -o /dev/null -w '%{http_code}\n' "$url$path"; done
            curl -s --data hello -o /dev/null -w '%{http_code}\n' "$url/upload?ms=1"
            kill -TERM "$pid"; cat <&3
            """#
        let result = try await Command.run("/usr/bin/env", ["bash", "-c", script, program])
        #expect(result.output == "200\n418\n404\n200\nstatus 143\n")
        #expect(result.error.contains("GET /status/418  responds with this status code\n"))
    }
}
