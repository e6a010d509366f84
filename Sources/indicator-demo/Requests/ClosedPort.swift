import Foundation

/// A port of this machine that refuses connections. It is bound, so that no other process can listen on it.
final class ClosedPort: Sendable {
    private let descriptor: Int32
    /// The port.
    let number: UInt16

    /// Binds a port; `nil` when that fails.
    init?() {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        number = UInt16(bigEndian: address.sin_port)
        guard isBound else { return nil }
    }

    // Also runs when `init` returns `nil`.
    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
