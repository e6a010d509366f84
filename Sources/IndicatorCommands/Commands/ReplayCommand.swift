package import ArgumentParser
import IndicatorCore

/// `replay`: when a trace would show and hide the indicator.
package struct ReplayCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Compute from a file of events when the indicator would have been shown and hidden.",
        discussion: """
            The time is that of the events: a trace of a day is replayed immediately. After the last event, running \
            delays expire.

            A trace is JSON Lines with one event per line and non-decreasing times in seconds:
              {"time": 0, "event": "start", "id": "a"}
              {"time": 1.8, "event": "stop", "id": "a"}
            The events are start, stop, enable and disable. Activities without 'id' are only counted.

            Alternatively, it is an object with delays and events. The options override its delays:
              {"startDelay": 1, "completionDelay": 0.2, "minimumVisibleTime": 0, "events": [...]}

            Or it is a log of the backend logFile, in JSON: why was the indicator shown at 14:02? Nothing is computed \
            then: a log has when the indicator was shown, and the activities with a label that have ended.

            EXAMPLES
              \(Program.name) replay ~/.local/state/my-app/indicator.log
              \(Program.name) replay trace.jsonl
              \(Program.name) replay trace.jsonl --start-delay 0.5 --json
              my-log-to-trace < access.log | \(Program.name) replay - --json
            """
    )

    @Argument(help: ArgumentHelp("The file with the events; - is standard input.", valueName: "trace"))
    var trace: String

    // Unconditional: "-1" is an invalid number, not another option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds of work before the indicator is shown. (default: 1)", valueName: "seconds")
    )
    var startDelay: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds without work before it is hidden. (default: 0.2)", valueName: "seconds")
    )
    var completionDelay: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Minimum seconds that it stays shown. (default: 0)", valueName: "seconds")
    )
    var minimumVisibleTime: Seconds?

    @Flag(help: "Print a JSON line each time it is shown or hidden, instead of the timeline.")
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
                try? Output.error.write("\(TraceInput.name(of: trace)): error: \(error)\n")
                throw ExitCode.usage
            } catch let error as ValidationError {
                try? Output.error.write("\(TraceInput.name(of: trace)): error: \(error.message)\n")
                throw ExitCode.usage
            }
            if !replayer.hasEvents {
                try? Output.error.write("\(TraceInput.name(of: trace)): no events\n")
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
