import ArgumentParser
import IndicatorCommands
import IndicatorBackends

/// The command-line tool `indicator`.
@main
struct IndicatorProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "indicator",
        abstract: "Show any command as an activity, and inspect indicators.",
        discussion: """
            'exec' runs a command, and shows it on the backends of your config file while it runs.

            EXAMPLES
              indicator exec -- make -j4                run a command and show it
              indicator exec --notify failures -- make  notify only if it fails
              indicator backends                        which backends can run here
              indicator watch                           all indicators on the session bus
              indicator check-config                    the settings, and their sources

            EXIT STATUS
              0   success
              1   failure
              64  wrong usage, or an invalid trace
              71  no thread can be created
              78  wrong configuration
              'exec' ends with the status of its command; 127 if it does not exist, 126 if it cannot be run.
            """,
        version: Program.version,
        subcommands: [
            ExecCommand.self, WatchCommand.self, BackendsCommand.self, CheckConfigCommand.self, ReplayCommand.self,
            ShellInitCommand.self, ReportCommand.self,
        ]
    )

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        if let command = ExecCommand.reading(words) { command.runCommand() }
        guard words.first == "report", let status = try? ReportCommand.status(words[1...]) else { runProgram() }
        ReportCommand.send(status)
    }
}
