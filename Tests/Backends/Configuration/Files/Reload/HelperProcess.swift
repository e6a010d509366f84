import TestSupport

/// A process of `test-probe configuration`, killed when the value is deallocated.
final class HelperProcess {
    private let daemon: Daemon
    /// The number of lines that ``says(_:)`` has passed.
    private var lineCount = 0

    /// Starts the helper.
    ///
    /// - Parameters:
    ///   - arguments: the helper's arguments.
    ///   - wrapper: the path and arguments of a program that starts the helper; by default it is started directly.
    ///   - standardInput: a descriptor for standard input instead of the pipe that ``send(_:)`` writes to.
    ///   - environment: the helper's environment; by default that of the tests.
    init(
        _ arguments: [String],
        wrapper: [String] = [],
        standardInput: Int32? = nil,
        environment: [String: String]? = nil
    ) throws {
        let only = environment.map { ["/usr/bin/env", "-i"] + $0.map { "\($0.key)=\($0.value)" } } ?? []
        let words = only + wrapper + [try Command.built("test-probe"), "configuration"] + arguments
        daemon = try Daemon(words[0], Array(words.dropFirst()), standardInput: standardInput)
    }

    var processID: Int32 { daemon.processID }
    var isRunning: Bool { daemon.isRunning }
    /// The signal that ended the process; `nil` while it runs, or when it exited.
    var endingSignal: Int32? { daemon.status.flatMap { $0 > 128 ? Int32($0 - 128) : nil } }

    func signal(_ number: Int32) { daemon.send(number) }

    func send(_ command: String) { daemon.write(command) }

    /// Waits for a line on standard output, after a command or a signal.
    func says(_ line: String, to command: String? = nil, at number: Int32? = nil) async -> Bool {
        await says(to: command, at: number) { $0 == line } != nil
    }

    /// Waits for a matching line on standard output, after the last one that was found, and returns it.
    func says(to command: String? = nil, at number: Int32? = nil, _ isExpected: (String) -> Bool) async -> String? {
        if let command { send(command) }
        if let number { signal(number) }
        var found: String?
        _ = await eventually {
            let lines = daemon.output.components(separatedBy: "\n").dropLast()
            guard let index = lines.dropFirst(lineCount).firstIndex(where: isExpected) else { return false }
            found = lines[index]
            lineCount = index + 1
            return true
        }
        return found
    }
}
