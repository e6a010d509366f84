package import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorCore
import Synchronization

/// Standard output or standard error, unbuffered.
package struct Output: Sendable {
    package static let standard = Output(descriptor: STDOUT_FILENO)
    package static let error = Output(descriptor: STDERR_FILENO)

    package let descriptor: Int32

    /// Writes a text; an error message in the characters of the locale.
    package func write(_ text: String) throws {
        let bytes = Array((descriptor == STDERR_FILENO ? SafeText.message(text) : text).utf8)
        let number = TerminalOutput.writeAll(bytes, to: descriptor)
        if number != 0 { throw OutputError(number: number) }
    }

    /// Ends the program by `SIGPIPE` when the reader of standard output closes it, even if nothing is written then: a
    /// panel that has crashed leaves no process behind.
    package static func endWithReader() {
        _ = ThreadStarter.start(named: "ind-output") {
            // Without a requested event, only errors and hang-ups are reported.
            var wait = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            while poll(&wait, 1, -1) < 0, errno == EINTR {}
            signal(SIGPIPE, SIG_DFL)
            // To the process: all signals are blocked on this thread.
            kill(getpid(), SIGPIPE)
        }
    }
}

/// A text could not be written.
private struct OutputError: Error {
    /// The `errno`; `EPIPE` when the reader has closed the pipe.
    var number: Int32
}

/// A value as a line of JSON Lines.
package enum JSONLine {
    package static func text(of value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

extension ParsableCommand {
    /// Runs the program whose root command this is.
    ///
    /// Not asynchronous: starting Swift's concurrency runtime takes longer than most commands of `exec`.
    package static func runProgram() -> Never {
        do {
            try requireCommand(in: CommandLine.arguments.dropFirst().first)
            var command = try parseAsRoot()
            guard let asynchronous = command as? any AsyncParsableCommand else {
                try command.run()
                exit(withError: nil)
            }
            StandardStreams.openMissing()
            ThreadStarter.isShortageFatal.store(true, ordering: .relaxed)
            // This thread no longer uses it.
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

    /// Throws if the first argument is not a command. ArgumentParser would report it as an unexpected argument of the
    /// default command.
    private static func requireCommand(in argument: String?) throws {
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let name = argument, !name.hasPrefix("-"), !(names + ["help"]).contains(name) else { return }
        throw ValidationError("There is no command '\(name)'; the commands are \(names.joined(separator: ", ")).")
    }

    /// Prints the requested help or an error's message, and ends the process with its status, or by `SIGPIPE`.
    private static func end(with error: any Error) -> Never {
        if let error = error as? OutputError {
            if error.number == EPIPE {
                signal(SIGPIPE, SIG_DFL)
                raise(SIGPIPE)
            }
            let reason = String(cString: strerror(error.number))
            try? Output.error.write("\(Program.name): error: cannot write to standard output: \(reason)\n")
            Foundation.exit(ExitCode.failure.rawValue)
        }
        let text = fullMessage(for: error, columns: nil)
        guard exitCode(for: error) != .success, !text.isEmpty else { exit(withError: error) }
        // The control characters of arguments are escaped.
        try? Output.error.write(text + "\n")
        Foundation.exit(exitCode(for: error).rawValue)
    }
}
