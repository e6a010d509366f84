/// A program of this package, without the user's own configuration, bus and terminal.
package struct TestedProgram {
    /// The user's home folder, for the program.
    package let home: TemporaryDirectory
    package let path: String
    private let bus: String

    /// - Parameter bus: its session bus; without one, there is none.
    package init(_ name: String = "indicator", bus: PrivateBus? = nil) throws {
        path = try Command.built(name)
        home = try TemporaryDirectory(endsProcesses: true)
        self.bus = bus?.address ?? "unix:path=\(home.appending("no-bus"))"
    }

    /// The environment variables that isolate the program from the user's environment; an empty value removes the
    /// variable.
    package var variables: [String: String] {
        [
            "HOME": home.path, "XDG_CONFIG_HOME": home.appending("config"), "XDG_STATE_HOME": home.appending("state"),
            "XDG_CONFIG_DIRS": home.appending("xdg"), "LC_ALL": "C.UTF-8", "INDICATOR_CONFIG": "", "SSH_CONNECTION": "",
            "SSH_TTY": "", "DBUS_SESSION_BUS_ADDRESS": bus, "PS1": "$ ", "HISTFILE": "", "COLUMNS": "", "NO_COLOR": "",
        ]
    }

    /// The variables that have values, for env(1).
    package func assignments(_ environment: [String: String] = [:]) -> [String] {
        variables.merging(environment) { $1 }.filter { !$0.value.isEmpty }.map { "\($0.key)=\($0.value)" }
    }

    /// Runs it, or another program in its place, to the end, without a terminal.
    package func run(
        _ arguments: [String],
        of other: String? = nil,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> Command.Result {
        let environment = variables.merging(environment) { $1 }
        return try await Command.run(other ?? path, arguments, environment: environment, input: input, isSession: true)
    }

    /// The same, with the arguments one by one.
    package func run(
        _ arguments: String...,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> Command.Result {
        try await run(arguments, input: input, environment: environment)
    }
}
