package import ArgumentParser
import IndicatorCore

/// `replay`: what the indicator would do.
package struct ReplayCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Tell what the indicator would have done, from a file of events.",
        discussion: """
            Time is that of the events, so a trace of a day takes no time. After the last event the delays run out.

            A trace is JSON Lines, an event a line, with times that do not decrease:
              {"t_ms": 0, "event": "start", "id": "a"}
              {"t_ms": 1800, "event": "stop", "id": "a"}
            The events are start, stop, enable and disable. An activity without 'id' is only counted.

            Or it is an object with the delays and the events; the options override its delays:
              {"start_delay_ms": 1000, "completion_delay_ms": 200, "minimum_visible_time_ms": 0, "events": [...]}

            EXAMPLES
              \(Program.name) replay trace.jsonl
              \(Program.name) replay trace.jsonl --start-delay 0.5 --json
              my-log-to-trace < access.log | \(Program.name) replay - --json
            """
    )

    @Argument(help: ArgumentHelp("The file with the events; - is standard input.", valueName: "trace"))
    var trace: String

    // Unconditional: "-1" is a number that is wrong, and not another option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds of work before the indicator is shown. (default: 1)", valueName: "seconds")
    )
    var startDelay: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds of no work before it is hidden. (default: 0.2)", valueName: "seconds")
    )
    var completionDelay: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds that it stays at least, once shown. (default: 0)", valueName: "seconds")
    )
    var minimumVisibleTime: Seconds?

    @Flag(help: "Print a line of JSON for each time it is shown or hidden, instead of the timeline.")
    var json = false

    package func overrides() throws -> DelayOverrides {
        try DelayOverrides(
            startDelay: startDelay,
            completionDelay: completionDelay,
            minimumVisibleTime: minimumVisibleTime
        )
    }

    package init() {}

    package func validate() throws {
        _ = try overrides()
    }

    package func run() async throws {
        var replayer = Replayer(overrides: try overrides(), presentation: json ? .json : .timeline, output: .standard)
        try await Output.guarding {
            do {
                try TraceReader(path: trace).read(into: &replayer)
                try replayer.finish()
            } catch let error as TraceError {
                try? replayer.flush()
                try? Output.error.write("\(error)\n")
                throw ExitCode.usage
            } catch let error as InvalidDelayError {
                try? Output.error.write("\(trace): error: \(error)\n")
                throw ExitCode.usage
            }
            if !replayer.hasEvents {
                try? Output.error.write("\(trace): there are no events in it\n")
            } else if !json {
                try print(replayer)
            }
        }
    }

    private func print(_ replayer: Replayer) throws {
        let style = TerminalStyle.standardOutput()
        let lines = TimelineRenderer(style: style).render(replayer.makeTimeline())
        try Output.standard.write(lines.map { $0 + "\n" }.joined())
    }
}
