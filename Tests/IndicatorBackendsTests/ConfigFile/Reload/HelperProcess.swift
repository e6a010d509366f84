import Foundation
import IndicatorCore
import IndicatorThreads
import TestSupport

/// A `configuration-helper` process, killed when the value is deallocated.
final class HelperProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let lines = Lines()

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
        let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let helper = folder.appending(path: "configuration-helper").path
        let words = wrapper + [helper] + arguments
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        if let environment { process.environment = environment }
        process.standardOutput = output
        process.standardInput = standardInput ?? input
        let lines = lines
        output.fileHandleForReading.readabilityHandler = { lines.append($0.availableData) }
        try process.run()
    }

    deinit {
        output.fileHandleForReading.readabilityHandler = nil
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
            found = lines.take(isExpected)
            return found != nil
        }
        return found
    }
}

/// The unread lines from a pipe.
private final class Lines: Sendable {
    private struct State {
        var lines: [String] = []
        var rest: [UInt8] = []
    }

    private let state = Locked(State())

    func append(_ data: Data) {
        state.withLock { state in
            state.rest += data
            var parts = state.rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            state.rest = parts.popLast().map(Array.init) ?? []
            state.lines += parts.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    func take(_ isExpected: (String) -> Bool) -> String? {
        state.withLock { state in
            guard let index = state.lines.firstIndex(where: isExpected) else { return nil }
            defer { state.lines.removeSubrange(...index) }
            return state.lines[index]
        }
    }
}
