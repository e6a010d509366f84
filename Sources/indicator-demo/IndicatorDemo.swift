import ArgumentParser
import IndicatorCommands

/// The program: its name, its version, and the commands that it is made of.
@main
struct IndicatorDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "indicator-demo",
        abstract: "Watch real requests drive an activity indicator.",
        discussion: """
            Without a command, `run` makes HTTP requests against a server of its own and shows the indicator in the \
            terminal's title, as a notification, on D-Bus and in a log file: wherever it can here.

            EXAMPLES
              indicator-demo                            run the demo
              indicator-demo --backend terminalTitle    on this surface only
              indicator-demo backends                   what can run here, and what would help
              indicator-demo watch                      every indicator on the session bus, as it changes
              indicator-demo replay trace.jsonl         what would the indicator have done?
              indicator-demo check-config               which settings are in effect, and from where

            EXIT STATUS
              0   success
              1   the run failed
              64  wrong usage, or a trace that is not understood
              78  wrong configuration
            """,
        version: Program.version,
        subcommands: [
            RunCommand.self, ReplayCommand.self, CheckConfigCommand.self, BackendsCommand.self, WatchCommand.self,
            ServeCommand.self,
        ],
        defaultSubcommand: RunCommand.self
    )

    static func main() async {
        Program.name = "indicator-demo"
        StandardStreams.openMissing()
        do {
            try requireCommand()
            var command = try parseAsRoot()
            guard var asynchronous = command as? any AsyncParsableCommand else { return try command.run() }
            try await asynchronous.run()
        } catch {
            end(with: error)
        }
    }
}
