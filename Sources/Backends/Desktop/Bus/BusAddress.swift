package import BackendConfiguration
import DisplayText
import Foundation

/// A message bus.
public enum DBusAddress: Sendable, Hashable, CustomStringConvertible {
    /// The bus of the user's login session: `DBUS_SESSION_BUS_ADDRESS`, or `$XDG_RUNTIME_DIR/bus`.
    ///
    /// A bus is never started: an `autolaunch:` address counts as no bus.
    case session
    /// The bus of the machine: `DBUS_SYSTEM_BUS_ADDRESS`, or `/run/dbus/system_bus_socket`.
    case system
    /// The bus at an address (D-Bus specification, "Server Addresses"), such as `unix:path=/run/user/1000/bus`.
    case address(String)

    /// Parses `session`, `system`, or an address.
    ///
    /// - Throws: `Unavailability` if it is none of them.
    package init(_ text: String) throws(Unavailability) {
        switch text {
        case "session": self = .session
        case "system": self = .system
        default:
            try Self.check(text)
            self = .address(text)
        }
    }

    /// Checks an address before anything connects to it.
    ///
    /// libdbus runs a program for `unixexec:` and `autolaunch:`, reads a file for `nonce-tcp:`, and waits for the
    /// network without a limit for `tcp:`. So every element of the list must be a local socket: `unix:` with `path`,
    /// `abstract` or `runtime` (D-Bus specification, "Server Addresses"). Does not connect.
    ///
    /// - Throws: `Unavailability`.
    package static func check(_ address: String) throws(Unavailability) {
        if address.utf8.contains(0) { throw .invalidBusAddress(address, "it contains a NUL") }
        let elements: [BusSocket]
        do {
            elements = try BusSocket.elements(of: address)
        } catch {
            throw .invalidBusAddress(address, error.text)
        }
        // Also without libdbus, which splits in the same way: in values, ';' is escaped.
        let isLocal = address.split(separator: ";").allSatisfy { $0.hasPrefix("unix:") }
        if !isLocal || elements.contains(where: { $0.targetCount != 1 }) {
            let allowed = "only 'unix:' with one of path=, abstract= and runtime= is allowed"
            throw .invalidBusAddress(address, "\(allowed); others may run programs")
        }
    }

    /// `session`, `system`, or the address.
    public var description: String {
        switch self {
        case .session: "session"
        case .system: "system"
        case .address(let address): address
        }
    }

    /// The address in this environment, checked.
    ///
    /// The variables are not trusted more than a config file: every address is checked by ``check(_:)``.
    package func resolved(in environment: [String: String]) throws(Unavailability) -> String {
        let address =
            switch self {
            case .address(let address): address
            case .system: Self.systemBus(in: environment)
            case .session: try Self.sessionBus(in: environment)
            }
        try Self.check(address)
        return address
    }

    /// Whether there may be a bus in this environment: its address is valid, and its socket exists. Does not connect.
    package func mayExist(in environment: [String: String]) -> Bool {
        // The variable may name the bus of a session that has ended.
        guard let address = try? resolved(in: environment) else { return false }
        return (try? BusSocket.elements(of: address))?.contains { element in
            element.value("path").map(FileManager.default.fileExists) ?? true
        } ?? false
    }

    private static func systemBus(in environment: [String: String]) -> String {
        let address = environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? ""
        return address.isEmpty ? "unix:path=/run/dbus/system_bus_socket" : address
    }

    private static func sessionBus(in environment: [String: String]) throws(Unavailability) -> String {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty, !address.hasPrefix("autolaunch:") {
            return address
        }
        if let folder = environment["XDG_RUNTIME_DIR"], FileManager.default.fileExists(atPath: "\(folder)/bus") {
            return "unix:path=\(BusSocket.escaped("\(folder)/bus"))"
        }
        throw .noSessionBus
    }
}
