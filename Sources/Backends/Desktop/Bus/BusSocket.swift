import CDBus
import Foundation

/// An element of a D-Bus address, as libdbus reads it.
struct BusSocket {
    /// The transport, such as `unix`.
    let transport: String
    private let values: [String: String]

    /// A value, without escapes.
    func value(_ key: String) -> String? { values[key] }

    /// The elements of an address; none if it is invalid.
    static func elements(of address: String) -> [BusSocket] {
        var entries: UnsafeMutablePointer<OpaquePointer?>?
        var count: Int32 = 0
        guard dbus_parse_address(address, &entries, &count, nil) != 0, let entries else { return [] }
        defer { dbus_address_entries_free(entries) }
        return (0..<Int(count)).compactMap { entries[$0].map(BusSocket.init) }
    }

    private init(_ entry: OpaquePointer) {
        transport = dbus_address_entry_get_method(entry).map { String(cString: $0) } ?? ""
        values = ["path", "abstract", "host", "port"].reduce(into: [:]) { values, key in
            values[key] = dbus_address_entry_get_value(entry, key).map { String(cString: $0) }
        }
    }

    /// A text in the form that a value of an address has.
    static func escaped(_ text: String) -> String {
        guard let escaped = dbus_address_escape_value(text) else { return text }
        defer { dbus_free(escaped) }
        return String(cString: escaped)
    }

    /// How long a bus may take to accept a connection over TCP.
    private static let limit: Int32 = 2000

    /// Whether a connection would block: the bus does not accept connections, and libdbus would wait for it without a
    /// limit.
    var wouldBlock: Bool {
        switch transport {
        case "unix": unixAddress.map(wouldBlock) ?? false
        case "tcp": wouldBlockOverTCP
        default: false
        }
    }

    private var unixAddress: (bytes: sockaddr_un, length: socklen_t)? {
        guard let name = value("path") ?? value("abstract").map({ "\0\($0)" }) else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let terminator = bytes.first == 0 ? 0 : 1
        return (address, socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + terminator))
    }

    /// A local connection succeeds or fails at once, unless the queue of the bus is full (unix(7)).
    private func wouldBlock(_ address: (bytes: sockaddr_un, length: socklen_t)) -> Bool {
        Self.withSocket(AF_UNIX) { descriptor in
            withUnsafePointer(to: address.bytes) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, address.length) != 0 && errno == EAGAIN
                }
            }
        }
    }

    private var wouldBlockOverTCP: Bool {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(value("host") ?? "localhost", value("port"), &hints, &found) == 0, let found else {
            return false
        }
        defer { freeaddrinfo(found) }
        return Self.withSocket(found.pointee.ai_family) { descriptor in
            guard connect(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) != 0, errno == EINPROGRESS
            else { return false }
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            return poll(&request, 1, Self.limit) == 0
        }
    }

    private static func withSocket(_ family: Int32, _ body: (Int32) -> Bool) -> Bool {
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return body(descriptor)
    }
}
