import Foundation
import IndicatorBackends
import Logging

/// An app with live progress that executes the commands in a file, usually a FIFO, one per line.
///
/// Usage: `test-probe progress CONFIG COMMANDS`. It appends each executed command to `COMMANDS.done`.
///
/// | command | does |
/// |---|---|
/// | `begin NAME` | begins an activity with that label |
/// | `bytes NAME COMPLETED TOTAL` | sets its progress in bytes |
/// | `end NAME`, `fail NAME TEXT` | ends it |
/// | `log TEXT` | logs through `IndicatorLogHandler` |
/// | `print TEXT`, `piece TEXT` | prints to `TerminalOutput.shared`, with or without a line break |
/// | `capture`, `plain TEXT` | captures the standard streams; prints with `print` |
/// | `child TEXT`, `piece-child TEXT` | lets a child process print, with or without a line break |
/// | `raw TEXT`, `part TEXT` | writes directly to standard error, with or without a line break |
/// | `shutdown` | shuts the indicator down |
/// | `exit`, `return` | ends the process |
enum ProgressProbe {
    static func run(_ arguments: [String]) async throws {
        beginProbe()
        let commands = arguments[1]
        let indicator = IndicatorManager.configured(from: ConfigurationSource(for: "helper", path: arguments[0]))
        kept = indicator
        let logger = Logger(label: "helper") { label in
            IndicatorLogHandler(wrapping: StreamLogHandler.standardError(label: label))
        }
        var activities: [Substring: ManagedActivity] = [:]
        dup2(open(commands, O_RDWR), STDIN_FILENO)
        guard let answers = fopen(commands + ".done", "a") else { exit(2) }
        while let line = readLine() {
            let words = line.split(separator: " ", maxSplits: 1)
            let rest = words.count > 1 ? words[1] : ""
            let parts = rest.split(separator: " ", maxSplits: 1)
            switch words.first {
            case "begin": activities[rest] = ManagedActivity(String(rest), in: indicator)
            case "bytes":
                let numbers = parts[1].split(separator: " ").compactMap { Int($0) }
                let activity = activities[parts[0]]
                activity?.unit = .bytes
                activity?.total = numbers[1]
                activity?.completed = numbers[0]
            case "end": activities.removeValue(forKey: rest)?.end(.succeeded)
            case "fail": activities.removeValue(forKey: parts[0])?.end(.failed(String(parts[1])))
            case "log": logger.info("\(rest)")
            case "print": print(rest, to: &TerminalOutput.shared)
            case "piece": print(rest, terminator: "", to: &TerminalOutput.shared)
            case "capture": TerminalOutput.captureStandardStreams()
            case "plain": print(rest)
            case "child", "piece-child":
                let format = words[0] == "child" ? #"%s\n"# : "%s"
                let script = #"printf '%.2s' "$0"; printf "$1" "${0#??}""#
                try runShell(script, String(rest), format, to: TerminalOutput.shared.descriptor)
            case "raw": write(STDERR_FILENO, String(rest) + "\n", rest.utf8.count + 1)
            case "part": write(STDERR_FILENO, String(rest), rest.utf8.count)
            case "shutdown": await indicator.shutdown()
            case "exit": exit(3)
            case "return": return
            default: break
            }
            fputs("\(line)\n", answers)
            fflush(answers)
        }
    }

    // Written once, before anything else happens.
    nonisolated(unsafe) private static var kept: IndicatorManager?
}
