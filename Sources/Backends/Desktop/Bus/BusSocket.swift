import CDBus
import Foundation

/// An element of a D-Bus address, as libdbus reads it.
struct BusSocket {
    private let values: [String: String]

    /// A value, without escapes.
    func value(_ key: String) -> String? { values[key] }

    /// The number of targets, of which a socket has one.
    var targetCount: Int { values.count }

    /// The elements of an address; none if libdbus cannot be used. Throws if the address is invalid.
    static func elements(of address: String) throws(BusError) -> [BusSocket] {
        guard LibDBus.problem == nil else { return [] }
        var error = LibDBusError()
        var entries: UnsafeMutablePointer<OpaquePointer?>?
        var count: Int32 = 0
        guard dbus.parse_address(address, &entries, &count, &error.value) != 0, let entries else { throw error.take() }
        defer { dbus.address_entries_free(entries) }
        return (0..<Int(count)).compactMap { entries[$0].map(BusSocket.init) }
    }

    private init(_ entry: OpaquePointer) {
        values = ["path", "abstract", "runtime"].reduce(into: [:]) { values, key in
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

    private enum Outcome { case connects, fails, blocks }

    /// Whether libdbus, which tries one element after the other, would wait without a limit for a bus that does not
    /// accept connections.
    static func wouldBlock(_ address: String) -> Bool {
        (try? elements(of: address))?.lazy.map(\.outcome).first { $0 != .fails } == .blocks
    }

    /// A local connection succeeds or fails at once, unless the queue of the bus is full (unix(7)).
    private var outcome: Outcome {
        guard let name = value("path") ?? value("abstract").map({ "\0\($0)" }) else { return .fails }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return .fails }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let terminator = bytes.first == 0 ? 0 : 1
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + terminator)
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return .fails }
        defer { close(descriptor) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, length) == 0 ? .connects : errno == EAGAIN ? .blocks : .fails
            }
        }
    }
}
