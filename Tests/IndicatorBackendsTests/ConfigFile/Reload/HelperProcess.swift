import Foundation
import TestSupport

/// A `configuration-helper` process, killed when the value is deallocated.
final class HelperProcess {
    private let process = Process()
    private let input = Pipe()
    private let folder: TemporaryDirectory
    /// The number of lines that ``says(_:)`` has passed.
    private var lineCount = 0

    /// Starts the helper.
    ///
    /// - Parameters:
    ///   - arguments: the helper's arguments.
    ///   - wrapper: the path and arguments of a program that starts the helper; by default it is started directly.
    ///   - standardInput: standard input instead of the pipe that ``send(_:)`` writes to.
    ///   - environment: the helper's environment; by default that of the tests.
    init(
        _ arguments: [String],
        wrapper: [String] = [],
        standardInput: FileHandle? = nil,
        environment: [String: String]? = nil
    ) throws {
        folder = try TemporaryDirectory()
        let words = wrapper + [try Command.built("configuration-helper")] + arguments
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        if let environment { process.environment = environment }
        // Not a pipe with a `readabilityHandler`, which can crash libdispatch when it is removed.
        process.standardOutput = FileHandle(forWritingAtPath: try folder.write("", to: "output"))
        process.standardInput = standardInput ?? input
        try process.run()
    }

    deinit {
        // Also ends a helper behind a wrapper, for which `waitUntilExit` waits.
        try? input.fileHandleForWriting.close()
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    var processID: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    /// The signal that ended the process; `nil` while it runs, or when it exited.
    var endingSignal: Int32? {
        guard !process.isRunning, process.terminationReason == .uncaughtSignal else { return nil }
        return process.terminationStatus
    }

    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    func send(_ command: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
    }

    /// Waits for a line on standard output.
    func says(_ line: String) async -> Bool {
        await says { $0 == line } != nil
    }

    /// Waits for a matching line on standard output, after the last one that was found, and returns it.
    func says(_ isExpected: (String) -> Bool) async -> String? {
        var found: String?
        _ = await eventually {
            let lines = ((try? folder.read("output")) ?? "").components(separatedBy: "\n").dropLast()
            guard let index = lines.dropFirst(lineCount).firstIndex(where: isExpected) else { return false }
            found = lines[index]
            lineCount = index + 1
            return true
        }
        return found
    }
}
