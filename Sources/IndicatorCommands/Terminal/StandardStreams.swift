import Foundation

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
