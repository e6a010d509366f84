/// Runs `indicator-demo`, without a terminal and without the user's own configuration.
package struct DemoProgram {
    /// The user's home folder, for the program.
    package let home: TemporaryDirectory
    private let path: String

    package init() throws {
        path = try Command.built("indicator-demo")
        home = try TemporaryDirectory()
    }

    /// The environment variables that isolate the program from the user's environment.
    package var variables: [String: String?] {
        [
            "HOME": home.path, "XDG_CONFIG_HOME": home.appending("config"), "XDG_STATE_HOME": home.appending("state"),
            "XDG_CONFIG_DIRS": home.appending("xdg"), "LC_ALL": "C.UTF-8", "COLUMNS": nil, "NO_COLOR": nil,
            "INDICATOR_CONFIG": nil, "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(home.appending("no-bus"))",
        ]
    }

    /// The same for a shell: assignments to put before a command, and the program's path.
    package var shellCommand: String {
        let assignments = variables.compactMap { key, value in value.map { "\(key)='\($0)'" } }
        return "env \(assignments.sorted().joined(separator: " ")) '\(path)'"
    }

    /// Runs the program to its end.
    package func run(
        _ arguments: String...,
        input: String = "",
        environment: [String: String?] = [:]
    ) async throws -> Command.Result {
        try await run(arguments, input: input, environment: environment)
    }

    /// Runs the program to its end.
    package func run(
        _ arguments: [String],
        input: String = "",
        environment: [String: String?] = [:]
    ) async throws -> Command.Result {
        let environment = variables.merging(environment) { $1 }
        return try await Command.run(path, arguments, environment: environment, input: input, isSession: true)
    }
}
