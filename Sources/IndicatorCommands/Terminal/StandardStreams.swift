import Foundation

/// The three streams that every program has.
package enum StandardStreams {
    /// Opens `/dev/null` for those that the program was started without (`>&-`).
    ///
    /// Otherwise the next file or connection that is opened would take the place of standard output, and get what is
    /// printed.
    package static func openMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest free number is the missing one, because those before it are open.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
