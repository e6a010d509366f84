import Foundation
import IndicatorCore
import IndicatorThreads

/// A program that runs during a test, until it is ended or the value is deallocated.
package final class Daemon: Sendable {
    /// Its process identifier.
    package let processID: Int32
    /// Where its standard output goes.
    package let outputPath: String

    private let ending: Ending
    private let input: Locked<FileHandle>
    private let folder: TemporaryDirectory

    private final class Ending: Sendable {
        let status = Locked<Int?>(nil)
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: a path, or a name to look up in `PATH`.
    ///   - arguments: its arguments.
    ///   - environment: added to that of the test; an empty value removes the variable.
    ///   - package: the Debian package of the program, for the message if it is not installed.
    package init(
        _ program: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        package: String? = nil
    ) throws {
        folder = try TemporaryDirectory()
        outputPath = try folder.write("", to: "output")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Command.find(program, package: package))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }.filter {
            !$0.value.isEmpty
        }
        let pipe = Pipe()
        process.standardInput = pipe
        process.standardOutput = FileHandle(forWritingAtPath: outputPath)
        process.standardError = FileHandle(forWritingAtPath: try folder.write("", to: "error"))
        let ending = Ending()
        process.terminationHandler = { process in
            let status = Int(process.terminationStatus) + (process.terminationReason == .exit ? 0 : 128)
            ending.status.withLock { $0 = status }
        }
        // A program inherits the mask of the thread, and libdispatch blocks nearly all signals on its threads. Without
        // SIGCHLD and SIGHUP, GNU screen does not end.
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
        self.ending = ending
        input = Locked(pipe.fileHandleForWriting)
        processID = process.processIdentifier
    }

    deinit {
        if isRunning { send(SIGKILL) }
    }

    /// Whether it runs, or is stopped.
    package var isRunning: Bool { status == nil }

    /// How it ended, as a shell reports it: its exit status, or 128 and the signal's number. `nil` while it runs.
    package var status: Int? { ending.status.withLock { $0 } }

    /// What it has written to standard output so far.
    package var output: String { (try? folder.read("output")) ?? "" }

    /// What it has written to standard error so far.
    package var errors: String { (try? folder.read("error")) ?? "" }

    /// Writes a line to its standard input.
    package func write(_ line: String) {
        input.withLock { try? $0.write(contentsOf: Data((line + "\n").utf8)) }
    }

    /// Sends it a signal.
    package func send(_ signal: Int32) {
        kill(processID, signal)
    }

    /// Ends it, and waits until it has ended.
    package func end(_ signal: Int32 = SIGKILL) async {
        guard isRunning else { return }
        send(signal)
        send(SIGCONT)
        _ = await eventually { !isRunning }
    }
}
