/// A service manager's socket.
package final class ServiceManager: Sendable {
    package let descriptor: Int32
    private let name: sockaddr_un
    private let length: socklen_t

    package init(address: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        self.name = name
        length = socklen_t(2 + bytes.count + (bytes[0] == 0 ? 0 : 1))
        guard withName({ bind(descriptor, $0, length) }) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    private func withName(_ body: (UnsafePointer<sockaddr>) -> CInt) -> CInt {
        withUnsafePointer(to: name) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
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
        _ = withName { connect(sender, $0, length) }
        while send(sender, "X=1", 3, Int32(MSG_DONTWAIT)) > 0 {}
    }
}
