package import ArgumentParser
import Foundation

extension ExitCode {
    /// The command line, or a file named on it, is invalid: `EX_USAGE` of `sysexits.h`.
    package static let usage = ExitCode(EX_USAGE)
    /// The configuration is invalid: `EX_CONFIG` of `sysexits.h`.
    package static let configuration = ExitCode(EX_CONFIG)
}
