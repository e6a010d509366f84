import ArgumentParser
import IndicatorCommands

/// The demo program.
@main
struct IndicatorDemo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "indicator-demo",
        abstract: "Watch real requests drive an activity indicator.",
        discussion: """
            Without a command, 'run' makes HTTP requests to a server of its own, and shows the indicator in the \
            terminal's title, as a notification, on D-Bus and in a log file, as far as these are available.

            EXAMPLES
              indicator-demo                            run the demo
              indicator-demo --backend terminalTitle    on this backend only
              indicator-demo backends                   which backends can run here
              indicator-demo watch                      all indicators on the session bus
              indicator-demo replay trace.jsonl         when it would have been shown
              indicator-demo check-config               the settings, and their sources

            EXIT STATUS
              0   success
              1   the run failed
              64  wrong usage, or an invalid trace
              71  no thread can be created
              78  wrong configuration
            """,
        version: Program.version,
        subcommands: [
            RunCommand.self, ReplayCommand.self, CheckConfigCommand.self, BackendsCommand.self, WatchCommand.self,
            ServeCommand.self,
        ],
        defaultSubcommand: RunCommand.self
    )

    static func main() {
        Program.name = "indicator-demo"
        runProgram()
    }
}
