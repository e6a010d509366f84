package import ArgumentParser
import Foundation

/// The program that contains the shared commands.
package enum Program {
    /// What `--version` prints.
    package static let version = "0.1.0"

    /// The name of the program in messages and examples, and the app name for its config file.
    ///
    /// `main` sets it before it does anything else, so no other thread reads it then.
    package nonisolated(unsafe) static var name = "indicator"
}

extension ExitCode {
    /// The command line, or a file named on it, is invalid: `EX_USAGE` of `sysexits.h`.
    package static let usage = ExitCode(EX_USAGE)
    /// The configuration is invalid: `EX_CONFIG` of `sysexits.h`.
    package static let configuration = ExitCode(EX_CONFIG)
}

/// The standard streams of the process.
package enum StandardStreams {
    /// Opens `/dev/null` for streams that were closed when the program started (`>&-`).
    ///
    /// Otherwise the next file or connection would get the descriptor of standard output, and the program's output.
    package static func openMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // `open` returns the lowest free descriptor, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
