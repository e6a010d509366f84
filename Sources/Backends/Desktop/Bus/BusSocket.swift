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
        guard LibDBus.problem == nil, dbus.parse_address(address, &entries, &count, nil) != 0, let entries else {
            return []
        }
        defer { dbus.address_entries_free(entries) }
        return (0..<Int(count)).compactMap { entries[$0].map(BusSocket.init) }
    }

    private init(_ entry: OpaquePointer) {
        transport = dbus.address_entry_get_method(entry).map { String(cString: $0) } ?? ""
        values = ["path", "abstract", "host", "port"].reduce(into: [:]) { values, key in
            values[key] = dbus.address_entry_get_value(entry, key).map { String(cString: $0) }
        }
    }

    /// A text in the form that a value of an address has.
    static func escaped(_ text: String) -> String {
        // The specification's optionally-escaped bytes, in every version of it.
        let plain = Set("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz/.".utf8)
        return text.utf8.map { byte in
            plain.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// How long a bus may take to accept a connection over TCP.
    private static let limit: Int32 = 2000

    private enum Outcome { case connects, fails, blocks }

    /// Whether libdbus, which tries one element after the other, would wait without a limit for a bus that does not
    /// accept connections.
    static func wouldBlock(_ address: String) -> Bool {
        elements(of: address).lazy.map(\.outcome).first { $0 != .fails } == .blocks
    }

    private var outcome: Outcome {
        switch transport {
        case "unix": unixAddress.map(outcome) ?? .fails
        case "tcp": outcomeOverTCP
        default: .fails
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
    private func outcome(_ address: (bytes: sockaddr_un, length: socklen_t)) -> Outcome {
        Self.withSocket(AF_UNIX) { descriptor in
            withUnsafePointer(to: address.bytes) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, address.length) == 0 ? .connects : errno == EAGAIN ? .blocks : .fails
                }
            }
        }
    }

    private var outcomeOverTCP: Outcome {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(value("host") ?? "localhost", value("port"), &hints, &found) == 0, let found else {
            return .fails
        }
        defer { freeaddrinfo(found) }
        return Self.withSocket(found.pointee.ai_family) { descriptor in
            if connect(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 { return .connects }
            guard errno == EINPROGRESS else { return .fails }
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            if poll(&request, 1, Self.limit) == 0 { return .blocks }
            return request.revents & Int16(POLLERR | POLLHUP) == 0 ? .connects : .fails
        }
    }

    private static func withSocket(_ family: Int32, _ body: (Int32) -> Outcome) -> Outcome {
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { return .fails }
        defer { close(descriptor) }
        return body(descriptor)
    }
}
