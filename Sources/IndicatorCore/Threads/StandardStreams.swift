import Foundation

/// The descriptors 0 to 2. A process may have been started without them (`app <&- >&- 2>&-`): what is opened first gets
/// them then, and everything that the app prints.
package enum StandardStreams {
    /// Opens `/dev/null` for those that are closed. Also before a library opens descriptors: the app may have closed
    /// them since.
    package static func openMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // It returns the lowest free descriptor: this one, unless another thread has opened something meanwhile.
            let opened = open("/dev/null", O_RDWR)
            if opened > STDERR_FILENO { close(opened) }
        }
    }

    /// A new descriptor, or its duplicate above those of the streams, which is closed on exec; negative, with the
    /// reason in `errno`, if the new one is, or if there is none left. Every descriptor that this package itself opens
    /// passes here.
    package static func excluding(_ descriptor: CInt) -> CInt {
        guard (STDIN_FILENO...STDERR_FILENO).contains(descriptor) else { return descriptor }
        let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        let code = errno
        close(descriptor)
        errno = code
        return moved
    }
}
