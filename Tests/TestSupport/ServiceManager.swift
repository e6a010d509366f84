/// A service manager's socket.
package final class ServiceManager: Sendable {
    package let descriptor: Int32

    package init(address: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(2 + bytes.count + (bytes[0] == 0 ? 0 : 1))
        let status = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard status == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    deinit { close(descriptor) }

    /// The next datagram; `nil` if there is none.
    package func receive() -> String? {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// All datagrams.
    package func receiveAll() -> [String] {
        var all: [String] = []
        while let text = receive() { all.append(text) }
        return all
    }

    /// Fills its queue, as one that does not read.
    package func fill() {
        let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(sender) }
        var name = sockaddr_un()
        var length = socklen_t(MemoryLayout.size(ofValue: name))
        withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                getsockname(descriptor, pointer, &length)
                connect(sender, pointer, length)
            }
        }
        while send(sender, "X=1", 3, Int32(MSG_DONTWAIT)) > 0 {}
    }
}
