package import ArgumentParser
import Foundation
import IndicatorCore
import IndicatorThreads

/// The program that contains the shared commands.
package enum Program {
    /// What `--version` prints.
    package static let version = "0.1.0"

    /// The name of the program in messages and examples, and the app name for its config file. A program sets it first.
    /// Default: `indicator`.
    package static var name: String {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    private static let storage = Locked("indicator")
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
