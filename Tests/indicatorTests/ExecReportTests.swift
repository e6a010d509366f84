import TestSupport

/// What a command under `indicator exec` reports of its own work, through to the log file.
@Suite("Reports under exec") struct ExecReportTests {
    private let program: TestedProgram
    private let runtime: String

    init() throws {
        program = try TestedProgram()
        runtime = program.home.appending("run")
        try FileManager.default.createDirectory(atPath: runtime, withIntermediateDirectories: true)
        let log = program.home.appending("log")
        try program.configure("startDelay: 0\nbackends: [logFile]\nlogFile: {path: \(log), format: json}\n")
    }

    /// Runs a shell script under exec, in which `report` and `nested` are this program's `report` and `exec`, and
    /// returns what has finished according to the log.
    private func finished(_ script: String, options: [String] = [], environment: [String: String] = [:]) async throws
        -> [String]
    {
        let path = program.path
        let functions = """
            report() { '\(path)' report "$@"; }
            nested() { '\(path)' exec "$@"; }
            shown() { until grep -q "$1" '\(program.home.appending("log"))' 2>/dev/null; do sleep 0.05; done; }
            """
        let variables = ["XDG_RUNTIME_DIR": runtime].merging(environment) { $1 }
        let command = ["sh", "-c", "\(functions)\n\(script)"]
        let result = try await program.exec(command, options: options, environment: variables)
        #expect(result.error == "")
        let left = try FileManager.default.contentsOfDirectory(atPath: runtime).flatMap {
            (try? FileManager.default.contentsOfDirectory(atPath: "\(runtime)/\($0)")) ?? []
        }
        #expect(left == [], "no socket is left")
        return try program.finished().map(\.text)
    }

    @Test(arguments: [
        ("report working Copying; shown Copying", ["Copying, succeeded"]),
        ("report working Copying; shown Copying; exit 3", ["Copying, failed, exit status 3"]),
        ("report error 'disk full'; shown full", ["sh, failed, disk full"]),
        ("report done; shown succeeded; exit 3", ["sh, succeeded"]),
        ("report done; report working Next; shown Next; exit 3", ["sh, succeeded", "Next, failed, exit status 3"]),
        ("report working; shown sh; report idle; shown hidden; exit 3", []),
        ("report working --id a; report done --id a; shown '\"a\"'", ["a, succeeded", "sh, succeeded"]),
        ("rm -r \"$XDG_RUNTIME_DIR/indicator\"; report done; exit 3", ["sh, failed, exit status 3"]),
        // Before it is shown, and when nothing is heard.
        ("report error early", ["sh, failed, early"]),
        ("INDICATOR_SOCKET= report error unheard; exit 0", []),
        ("INDICATOR_SOCKET=/nonexistent report error unheard; exit 0", []),
    ])
    func `Work ends as it is reported, or else as the command does`(script: String, expected: [String]) async throws {
        let ended = try await finished(script)
        // A fast command that succeeds is not shown, on a fast machine.
        #expect(ended == expected || expected == [] && ended == ["sh, succeeded"])
    }

    @Test("A nested command has a socket of its own, and the outer one keeps what it knows")
    func nested() async throws {
        let script = """
            outer=$INDICATOR_SOCKET
            nested sh -c "test \\"\\$INDICATOR_SOCKET\\" != '$outer'" || exit 5
            test -z "$NOTIFY_SOCKET" && test "$INDICATOR_SOCKET" = "$outer" || exit 6
            report done; shown succeeded
            """
        #expect(try await finished(script, environment: ["NOTIFY_SOCKET": ""]).contains("sh, succeeded"))
    }

    private static let showing = ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.7.5", "CI": ""]

    @Test func `What a command reports is in the status that a terminal shows`() async throws {
        try program.configure("startDelay: 0\nbackends: [terminalTitle]\n")
        let script = """
            report() { '\(program.path)' report "$@"; }
            key() { read -r line </dev/tty; }
            report working --id a; report blocked --id b; key; report error --id a; key; report done; key
            """
        let variables = program.assignments(Self.showing.merging(["XDG_RUNTIME_DIR": runtime]) { $1 })
        let terminal = try PseudoTerminal()
        async let ending = terminal.run("env", variables + [program.path, "exec", "sh", "-c", script], type: "xterm")
        for states in [["working", "blocked"], ["error"], ["done"]] {
            for state in states { #expect(await terminal.shows("7501;state=\(state)")) }
            terminal.type("\n")
        }
        #expect(try await ending.status == 0)
        var emulator = TitleEmulator()
        emulator.receive(Array(terminal.transcript.utf8))
        #expect(Set(emulator.statesSet) == ["working", "blocked", "error", "done", "clear"], "\(terminal.transcript)")
        #expect(Array(emulator.records.values) == ["done"])
    }

    @Test(
        "Where no backend notifies of a reported end, the terminal does, also if the command ends at once; not of idle",
        arguments: [("error 'disk full'", 1), ("idle 'disk full'", 0)]
    )
    func notice(report: String, count: Int) async throws {
        let script = "'\(program.path)' report \(report)"
        let environment = ["XDG_RUNTIME_DIR": runtime]
        let command = ["sh", "-c", script]
        let written = try await program.written(["--after", "0"], command, on: "foot", environment: environment)
        #expect(written.matches(of: /\]777;notify;/).count == count, "\(written)")
    }

    @Test func `Without exec, a terminal that shows the status gets the report, and no other`() async throws {
        for (variables, expected) in [
            (Self.showing, "\u{1B}]7501;state=working:progress=40:title=Q29weQ==\u{1B}\\"), ([:], ""),
            (Self.showing.merging(["INDICATOR_SOCKET": "/nonexistent"]) { $1 }, ""),
        ] {
            let terminal = try PseudoTerminal()
            // In the background of a terminal that stops what writes.
            let script = "stty tostop </dev/tty; set -m; '\(program.path)' report working --progress 40 Copy & wait $!"
            let arguments = ["-uCI", "-uTERM_PROGRAM"] + program.assignments(variables) + ["sh", "-c", script]
            let ending = try await terminal.run("env", arguments)
            #expect(ending.status == 0 && ending.output + ending.error == "")
            #expect(String(decoding: terminal.read(), as: UTF8.self) == expected)
        }
    }

    @Test func `Where no socket can be made, there is no variable, and the command runs as without`() async throws {
        // Its descriptor would be missed elsewhere.
        let script = "ulimit -n 10; exec '\(program.path)' exec -- sh -c 'test -z \"$INDICATOR_SOCKET\" && exit 3'"
        let variables = ["INDICATOR_SOCKET": "/inherited"]
        let result = try await program.exec(["sh", "-c", script], directly: true, environment: variables)
        #expect(result.status == 3 && result.error == "")
    }

    @Test(.needs(.mounts)) func `On a full disk, reports arrive by another folder`() async throws {
        let command = ["env"] + program.assignments(["XDG_RUNTIME_DIR": runtime]) + [program.path, "exec", "--"]
        let script = "'\(program.path)' report error early; exit 3"
        let result = try await SmallDisk.run(command + ["sh", "-c", script], size: "8k,nr_inodes=1", over: runtime)
        #expect(result.status == 3 && result.error == "")
        #expect(try program.home.read("log").contains("\"message\":\"early\""))
    }

    @Test(.needs(.sudo)) func `Under sudo, reports arrive if it keeps the variable`() async throws {
        for (option, message) in [("--preserve-env=INDICATOR_SOCKET", "early"), ("-n", "exit status 3")] {
            let script = "sudo -n \(option) '\(program.path)' report error early; exit 3"
            #expect(try await finished(script).last == "sh, failed, \(message)")
        }
    }

    @Test func `What a killed exec leaves is removed by the next one`() async throws {
        let script = "'\(program.path)' exec -- sh -c 'kill -9 $PPID; echo $INDICATOR_SOCKET' | cat"
        let environment = ["XDG_RUNTIME_DIR": runtime]
        let left = try await program.exec(["sh", "-c", script], directly: true, environment: environment)
        let path = left.output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(FileManager.default.fileExists(atPath: path))
        // One that is shown.
        _ = try await finished("exit 3")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "Wrong usage of report is explained, with status 64; everything else is 0",
        arguments: [
            "": 64, "busy": 64, "working --progress x": 64, "working --progress= 40": 64, "working --done 3": 64,
            "working two words": 64,
            "working --id a//b": 64, "working --id": 64, "working --label x": 64, "blocked --kind x": 64,
            "working --progress 4 --done 3 --total 7": 64,
            "done {\"message\":\"ok\"}": 0, "working --done 3 --total 7 --id=a/b Text": 0,
            "blocked --kind question --progress 40% Text {}": 0,
        ] as [String: Int]
    )
    func usage(line: String, status: Int) async throws {
        let result = try await program.run(["report"] + line.split(separator: " ").map(String.init))
        #expect(result.status == status && result.output == "")
        #expect(result.error.isEmpty == (status == 0))
        if line == "working --progress x" { #expect(result.error.contains("40 or 40%"), "\(result.error)") }
    }
}
