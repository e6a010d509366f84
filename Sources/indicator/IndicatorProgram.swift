import ArgumentParser
import Foundation
import IndicatorCommands

/// The tool for users: its name, its version, and the commands that it is made of.
@main
struct IndicatorProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "indicator",
        abstract: "Show the work of any command as an activity, and look at indicators.",
        discussion: """
            'exec' runs a command and shows it wherever your config file says, as long as it lasts.

            There is no 'begin' and no 'end' for scripts. An activity lasts as long as the process that began it, so \
            that nothing sticks when a script dies; 'begin' would end before the next line of the script runs. Put \
            what belongs together into one command: indicator exec --label Backup -- sh -c 'first && second'

            EXAMPLES
              indicator exec -- make -j4                run a command, and show it
              indicator exec --notify failures -- make  a notification only if it fails
              indicator backends                        what can run here, and what would help
              indicator watch                           every indicator on the session bus, as it changes
              indicator check-config                    which settings are in effect, and from where

            EXIT STATUS
              0   success
              1   failure
              64  wrong usage, or a trace that is not understood
              78  wrong configuration
              'exec' ends as its command does; 127 if there is no such command, 126 if it cannot be run.
            """,
        version: Program.version,
        subcommands: [
            ExecCommand.self, WatchCommand.self, BackendsCommand.self, CheckConfigCommand.self, ReplayCommand.self,
        ]
    )

    /// Not asynchronous: `exec` must not wait for the threads of Swift tasks, which most commands that it runs do not
    /// outlast.
    static func main() {
        Program.name = "indicator"
        do {
            try requireCommand()
            var command = try parseAsRoot()
            guard let asynchronous = command as? any AsyncParsableCommand else { return try command.run() }
            StandardStreams.openMissing()
            // This thread does not use it any more.
            nonisolated(unsafe) var parsed = asynchronous
            Task.detached {
                do {
                    try await parsed.run()
                    exit(withError: nil)
                } catch {
                    end(with: error)
                }
            }
            dispatchMain()
        } catch {
            end(with: error)
        }
    }
}
