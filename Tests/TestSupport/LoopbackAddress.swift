/// An address on loopback that no other test uses, and a port that is free there: for servers that cannot choose a port
/// themselves.
package struct LoopbackAddress: Sendable {
    package let host: String
    package let port: Int

    /// The address as an URL of MQTT.
    package var mqtt: String { "mqtt://\(host):\(port)" }

    package init() throws {
        // All of 127.0.0.0/8 is loopback.
        let bytes = [127] + (0..<3).map { _ in UInt8.random(in: 1...254) }
        host = bytes.map(String.init).joined(separator: ".")
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = bytes.reduce(0) { $0 << 8 | UInt32($1) }.bigEndian
        // The kernel chooses the port: one that no server on all addresses has, either.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EADDRINUSE) }
        port = Int(UInt16(bigEndian: address.sin_port))
    }
}
