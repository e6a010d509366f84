import TestSupport

/// A process of `test-probe app`, which prints changes of the start delay, and its log to the same stream.
final class HelperProcess {
    let daemon: Daemon
    /// The number of lines that ``says(to:at:_:)`` has passed.
    private var lineCount = 0

    /// Starts the helper.
    ///
    /// - Parameters:
    ///   - arguments: the helper's arguments.
    ///   - wrapper: a program that starts the helper, and its arguments.
    ///   - standardInput: a descriptor for standard input instead of the pipe for commands.
    ///   - environment: the helper's environment; by default that of the tests.
    init(
        _ arguments: [String],
        wrapper: [String] = [],
        standardInput: Int32? = nil,
        environment: [String: String]? = nil
    ) throws {
        let only = environment.map { ["env", "-i"] + $0.map { "\($0.key)=\($0.value)" } } ?? []
        let words = only + wrapper + [try Command.built("test-probe"), "app"] + arguments + ["delays"]
        daemon = try Daemon("sh", ["-c", #"exec "$@" 2>&1"#, "sh"] + words, standardInput: standardInput)
    }

    /// Waits for a line, after a command or a signal.
    func says(_ line: String, to command: String? = nil, at number: Int32? = nil) async -> Bool {
        await says(to: command, at: number) { $0 == line } != nil
    }

    /// Waits for a matching line, after the last one that was found, and returns it.
    func says(to command: String? = nil, at number: Int32? = nil, _ isExpected: (String) -> Bool) async -> String? {
        if let command { daemon.write(command) }
        if let number { daemon.send(number) }
        var found: String?
        _ = await eventually {
            let lines = daemon.output.components(separatedBy: "\n").dropLast()
            guard let index = lines.dropFirst(lineCount).firstIndex(where: isExpected) else { return false }
            (found, lineCount) = (lines[index], index + 1)
            return true
        }
        return found
    }
}
