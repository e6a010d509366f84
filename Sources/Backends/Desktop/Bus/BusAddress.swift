import BackendConfiguration
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
    /// - Throws: `MessageBusError.invalidAddress` if it is none of them.
    package init(_ text: String) throws(MessageBusError) {
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
    /// libdbus runs a program for `unixexec:` and `autolaunch:` and reads a file for `nonce-tcp:`, so every element of
    /// the list must be a socket: `unix:` with `path`, `abstract` or `runtime`, or `tcp:` (D-Bus specification, "Server
    /// Addresses"). Does not connect.
    ///
    /// - Throws: `MessageBusError.invalidAddress`; the reason has the element and its position.
    package static func check(_ address: String) throws(MessageBusError) {
        if address.utf8.contains(0) { throw .invalidAddress(address, reason: "it contains a NUL") }
        if let fault = faultOfBusAddress(address) { throw .invalidAddress(address, reason: fault) }
        // libdbus splits the same way: in values, ';', ',' and '=' are escaped.
        var position = 1
        for element in address.split(separator: ";", omittingEmptySubsequences: false) {
            defer { position += element.unicodeScalars.count + 1 }
            // libdbus allows one ';' at the end.
            if element.isEmpty { continue }
            if let fault = fault(ofElement: element) {
                throw .invalidAddress(address, reason: "the element at character \(position) \(fault)")
            }
        }
    }

    /// Why an element of a list of addresses is rejected; `nil` if it is a plain socket.
    private static func fault(ofElement element: Substring) -> String? {
        let transport = element.prefix { $0 != ":" }
        switch transport {
        case "tcp": return nil
        case "unix":
            let keys = element.dropFirst(transport.count + 1).split(separator: ",").map { $0.prefix { $0 != "=" } }
            let targets = keys.filter { ["path", "abstract", "runtime"].contains($0) }
            return targets.count == 1 ? nil : "needs one of path=, abstract= and runtime= after 'unix:'"
        default:
            let name = SafeText.singleLine(String(transport), limit: 40)
            return "begins with '\(name):'; only 'unix:' and 'tcp:' are allowed, others may run programs"
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
    package func resolved(in environment: [String: String]) throws(MessageBusError) -> String {
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
        return BusSocket.elements(of: address).contains { element in
            element.value("path").map(FileManager.default.fileExists) ?? true
        }
    }

    private static func systemBus(in environment: [String: String]) -> String {
        let address = environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? ""
        return address.isEmpty ? "unix:path=/run/dbus/system_bus_socket" : address
    }

    private static func sessionBus(in environment: [String: String]) throws(MessageBusError) -> String {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty, !address.hasPrefix("autolaunch:") {
            return address
        }
        if let folder = environment["XDG_RUNTIME_DIR"], FileManager.default.fileExists(atPath: "\(folder)/bus") {
            return "unix:path=\(BusSocket.escaped("\(folder)/bus"))"
        }
        throw .noSessionBus
    }
}
