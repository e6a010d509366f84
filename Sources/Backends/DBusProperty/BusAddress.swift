#if DBus
import Foundation

/// Which message bus is meant.
public enum DBusAddress: Sendable, Hashable, CustomStringConvertible {
    /// The bus of the user's login session: `DBUS_SESSION_BUS_ADDRESS`, or `$XDG_RUNTIME_DIR/bus`.
    ///
    /// Never one that would have to be started first: an `autolaunch:` address counts as no bus.
    case session
    /// The bus of the machine: `DBUS_SYSTEM_BUS_ADDRESS`, or `/run/dbus/system_bus_socket`.
    case system
    /// The bus at an address (D-Bus specification, "Server Addresses"), such as `unix:path=/run/user/1000/bus`.
    case address(String)

    /// Reads `session`, `system`, or an address.
    ///
    /// - Throws: ``DBusPropertyError/invalidAddress(_:reason:)`` when it is none of them.
    public init(_ text: String) throws(DBusPropertyError) {
        switch text {
        case "session": self = .session
        case "system": self = .system
        default:
            if text.utf8.contains(0) { throw .invalidAddress(text, reason: "it contains a NUL") }
            if let fault = faultOfBusAddress(text) { throw .invalidAddress(text, reason: fault) }
            self = .address(text)
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

    /// The address, where these environment variables hold.
    package func resolved(in environment: [String: String]) throws(DBusPropertyError) -> String {
        switch self {
        case .address(let address): return address
        case .system: return environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket"
        case .session:
            if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty,
                !address.hasPrefix("autolaunch:")
            {
                return address
            }
            if let folder = environment["XDG_RUNTIME_DIR"], FileManager.default.fileExists(atPath: "\(folder)/bus") {
                return "unix:path=\(folder)/bus"
            }
            throw .noSessionBus
        }
    }
}
#endif
