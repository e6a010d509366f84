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
