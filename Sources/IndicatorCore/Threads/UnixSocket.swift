package import Foundation

/// Sockets between the programs of a machine (unix(7)).
package enum UnixSocket {
    /// Makes one that never waits; negative, with the reason in `errno`, if there is none.
    package static func make(_ type: __socket_type) -> CInt {
        let flags = SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        return StandardStreams.excluding(socket(AF_UNIX, CInt(type.rawValue | flags), 0))
    }

    /// Calls `body` with the address of a path, or of an abstract name after a zero character; returns -1 with
    /// ENAMETOOLONG for one of more than 107 bytes.
    package static func withAddress<Result: SignedInteger>(
        _ name: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            errno = ENAMETOOLONG
            return -1
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // A path ends with a zero byte; a name has no other than the first.
        let length = MemoryLayout<sa_family_t>.size + bytes.count + (bytes.first == 0 ? 0 : 1)
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }
}

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
