import TestSupport

/// `indicator exec`, and what a shell does with it.
extension TestedProgram {
    /// Runs a command with `indicator exec` on a terminal of a type. Returns what is written to the terminal.
    func written(
        _ options: [String],
        _ command: [String],
        on type: String,
        environment: [String: String] = [:]
    ) async throws -> String {
        let terminal = try PseudoTerminal()
        let arguments = assignments(environment) + [path, "exec"] + options + ["--"] + command
        let ending = try await terminal.run("env", arguments, type: type)
        #expect(ending.error == "", "\(ending)")
        return String(decoding: terminal.read(), as: UTF8.self)
    }

    /// Checks that something has the same results without the program and with it, in front of a shell's command.
    @discardableResult
    func sameResults(_ body: (_ prefix: String) async throws -> [String]) async throws -> [String] {
        let (direct, exec) = (try await body(""), try await body("'\(path)' exec -- "))
        #expect(direct == exec)
        return direct
    }

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

    func exec(
        _ command: [String],
        options: [String] = [],
        directly: Bool = false,
        environment: [String: String] = [:]
    ) async throws -> Command.Result {
        let arguments = directly ? Array(command.dropFirst()) : ["exec"] + options + ["--"] + command
        return try await run(arguments, of: directly ? command[0] : nil, environment: environment)
    }

    func shell(_ shell: [String] = InteractiveShell.bash, environment: [String: String] = [:]) async throws
        -> InteractiveShell
    {
        try await InteractiveShell(shell, environment: variables.merging(environment) { $1 })
    }
}
