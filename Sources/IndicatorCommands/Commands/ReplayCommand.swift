package import ArgumentParser
import Foundation
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

            Or it is a log of the backend logFile, in JSON: why was the indicator shown at 14:02?

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
        help: ArgumentHelp("Seconds of work before the indicator is shown. (default: 1)", valueName: "seconds"),
        transform: Duration.seconds
    )
    var startDelay: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds without work before it is hidden. (default: 0.2)", valueName: "seconds"),
        transform: Duration.seconds
    )
    var completionDelay: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Minimum seconds that it stays shown. (default: 0)", valueName: "seconds"),
        transform: Duration.seconds
    )
    var minimumVisibleTime: Duration?

    @Flag(help: "Print a JSON line each time it is shown or hidden, instead of the timeline.")
    var json = false

    package init() {}

    package func run() async throws {
        let delays: [IndicatorDelays.Setting: Duration?] = [
            .startDelay: startDelay, .completionDelay: completionDelay, .minimumVisibleTime: minimumVisibleTime,
        ]
        let name = trace == "-" ? "standard input" : trace
        let replay: Replay
        do throws(TraceError) {
            replay = try Replay(Self.contents(of: trace), overrides: delays.compactMapValues(\.self))
        } catch {
            let line = error.line.map { "\($0):" } ?? ""
            try? Output.error.write("\(name):\(line) error: \(error.message)\n")
            throw ExitCode.usage
        }
        if let first = replay.unreadableLines.first {
            let text = "lines that are not those of a log are left out: \(replay.unreadableLines.count)"
            try? Output.error.write("\(name):\(first): warning: \(text)\n")
        }
        if replay.steps.isEmpty, replay.changes.isEmpty {
            try? Output.error.write("\(name): no events\n")
        } else if json {
            try Output.standard.write(replay.json)
        } else {
            let lines = TimelineRenderer(style: .standardOutput()).render(replay.timeline)
            try Output.standard.write(lines.map { $0 + "\n" }.joined())
        }
    }

    private static func contents(of path: String) throws(TraceError) -> Data {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TraceError("cannot be opened: \(String(cString: strerror(errno)))") }
        do {
            return try FileHandle(fileDescriptor: descriptor, closeOnDealloc: path != "-").readToEnd() ?? Data()
        } catch {
            throw TraceError("cannot be read: \(String(cString: strerror(errno)))")
        }
    }
}
