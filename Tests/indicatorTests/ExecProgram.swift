import Subprocess
import SystemPackage
import TestSupport

/// The program under test, without the user's own configuration, bus and terminal.
struct ExecProgram {
    struct Result {
        var status: TerminationStatus
        var output: String
        var error: String
    }

    /// The user's home folder, for the program.
    let home: TemporaryDirectory
    let path: String
    var bus: String

    init(bus: PrivateBus? = nil) throws {
        path = try Command.built("indicator")
        home = try TemporaryDirectory(endsProcesses: true)
        self.bus = bus?.address ?? "unix:path=\(home.appending("no-bus"))"
    }

    /// The environment variables that isolate the program from the user's environment; an empty value removes the
    /// variable.
    var variables: [String: String] {
        [
            "HOME": home.path, "XDG_CONFIG_HOME": home.appending("config"), "XDG_STATE_HOME": home.appending("state"),
            "XDG_CONFIG_DIRS": home.appending("xdg"), "LC_ALL": "C.UTF-8", "INDICATOR_CONFIG": "", "SSH_CONNECTION": "",
            "SSH_TTY": "", "DBUS_SESSION_BUS_ADDRESS": bus, "PS1": "$ ", "HISTFILE": "",
        ]
    }

    /// The variables that have values, for env(1).
    func assignments(_ environment: [String: String] = [:]) -> [String] {
        variables.merging(environment) { $1 }.filter { !$0.value.isEmpty }.map { "\($0.key)=\($0.value)" }
    }

    /// Runs a command with `indicator exec` on a terminal of a type. Returns what is written to the terminal.
    func written(
        _ options: [String],
        _ command: [String],
        on type: String,
        environment: [String: String] = [:],
        status: Int? = nil
    ) async throws -> String {
        let terminal = try PseudoTerminal()
        let arguments = assignments(environment) + [path, "exec"] + options + ["--"] + command
        let ending = try await terminal.run("env", arguments: arguments, terminalType: type)
        #expect(ending.errors == "" && ending.status == status ?? ending.status, "\(ending)")
        return String(decoding: terminal.read(), as: UTF8.self)
    }

    /// Checks that something has the same results without the program and with it, in front of a shell's command.
    ///
    /// - Returns: the results.
    @discardableResult
    func sameResults(_ body: (_ prefix: String) async throws -> [String]) async throws -> [String] {
        let (direct, exec) = (try await body(""), try await body("'\(path)' exec -- "))
        #expect(direct == exec)
        return direct
    }

    /// Writes the config file.
    func configure(_ text: String) throws {
        try home.write(text, to: "config/indicator/indicator.yaml")
    }

    /// A line of a log in JSON.
    struct Line: Decodable {
        var event: String
        var label: String?
        var outcome: String?
        var message: String?

        var text: String { [label, outcome, message].compactMap { $0 }.joined(separator: ", ") }
    }

    /// What has finished according to the file `log`; empty without it.
    func finished() throws -> [Line] {
        let lines = (try? home.read("log"))?.split(separator: "\n") ?? []
        return try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
            .filter { $0.event == "finished" }
    }

    /// Runs a command with `indicator exec`, or directly.
    func run(
        _ command: [String],
        options: [String] = [],
        directly: Bool = false,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> Result {
        try await run(
            directly ? command[0] : path,
            arguments: directly ? Array(command.dropFirst()) : ["exec"] + options + ["--"] + command,
            input: input,
            environment: environment
        )
    }

    /// Runs the program with arguments, without a terminal.
    func run(
        _ executable: String? = nil,
        arguments: [String],
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> Result {
        var options = PlatformOptions()
        options.createSession = true
        let variables = variables.merging(environment) { $1 }.map {
            (Environment.Key(stringLiteral: $0), $1.isEmpty ? nil : $1)
        }
        let result = try await Subprocess.run(
            .path(FilePath(try Command.find(executable ?? path))),
            arguments: Arguments(arguments),
            environment: .inherit.updating(Dictionary(uniqueKeysWithValues: variables)),
            platformOptions: options,
            input: .string(input),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        return Result(status: result.terminationStatus, output: result.standardOutput, error: result.standardError)
    }

    /// Starts a shell with job control.
    func shell(
        _ shell: [String] = InteractiveShell.bash,
        package: String = "bash",
        environment: [String: String] = [:]
    ) async throws -> InteractiveShell {
        try await InteractiveShell(shell, package: package, environment: variables.merging(environment) { $1 })
    }
}
