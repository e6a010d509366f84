package import BackendConfiguration
import CIndicatorDBus
import IndicatorCore
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
    /// network without a limit for `tcp:`. So every element of the list must be a local socket: `unix:` with `path` or
    /// `abstract` (D-Bus specification, "Server Addresses"). Does not connect.
    ///
    /// - Throws: `Unavailability`.
    package static func check(_ address: String) throws(Unavailability) {
        guard let fault = fault(of: address) else { return }
        throw Unavailability(
            reason: "'\(address)' is not a D-Bus address: \(fault)",
            help: "write session, system, or an address such as unix:path=/run/user/1000/bus"
        )
    }

    private static func fault(of address: String) -> String? {
        if address.utf8.contains(0) { return "it contains a NUL" }
        do throws(BusError) {
            let haveOne = try BusSocket.elements(of: address).allSatisfy { ($0.path == nil) != ($0.abstract == nil) }
            // Also without libdbus, which splits in the same way: in values, ';' is escaped.
            let areLocal = address.split(separator: ";").allSatisfy { $0.hasPrefix("unix:") }
            let allowed = "only 'unix:' with path= or abstract= is allowed"
            return haveOne && areLocal ? nil : "\(allowed); others may run programs"
        } catch {
            return error.text
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
            case .system: environment["DBUS_SYSTEM_BUS_ADDRESS"].flatMap { $0.isEmpty ? nil : $0 } ?? Self.systemBus
            case .session: try Self.sessionBus(in: environment)
            }
        try Self.check(address)
        return address
    }

    /// Whether there may be a bus in this environment, for the choice of `backends: auto`: its address is valid, and
    /// its socket exists. Does not connect.
    public func mayExist(in environment: [String: String]) -> Bool {
        // The variable may name the bus of a session that has ended.
        guard let address = try? resolved(in: environment) else { return false }
        return (try? BusSocket.elements(of: address))?.contains { element in
            element.path.map(FileManager.default.fileExists) ?? true
        } ?? false
    }

    /// Whether a service is on the bus of this environment: for the choice of `backends: auto`.
    ///
    /// Connects, and waits for the bus for at most 0.1 seconds. Starts nothing.
    public func hasService(_ name: String, in environment: [String: String]) -> Bool {
        guard SpareDescriptors.exist(), mayExist(in: environment), let address = try? resolved(in: environment),
            let connection = try? LibDBusConnection(address: address)
        else { return false }
        var hasService: Bool?
        connection.call(.busCall("Hello"), within: nil) { _ in }
        connection.call(.busCall("NameHasOwner", [.string(name)]), within: .milliseconds(100)) {
            hasService = (try? $0.get().arguments) == [.boolean(true)]
        }
        while hasService == nil {
            var (descriptors, deadline) = connection.interest()
            poll(&descriptors, nfds_t(descriptors.count), WakeUp.milliseconds(until: deadline))
            connection.turn(descriptors)
        }
        return hasService ?? false
    }

    private static let systemBus = "unix:path=/run/dbus/system_bus_socket"

    private static func sessionBus(in environment: [String: String]) throws(Unavailability) -> String {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty, !address.hasPrefix("autolaunch:") {
            return address
        }
        if let folder = environment["XDG_RUNTIME_DIR"], FileManager.default.fileExists(atPath: "\(folder)/bus") {
            return "unix:path=\(BusSocket.escaped("\(folder)/bus"))"
        }
        let missing = "DBUS_SESSION_BUS_ADDRESS is not set and $XDG_RUNTIME_DIR/bus does not exist"
        throw Unavailability(
            reason: "there is no session bus: \(missing)",
            help: "log in to a session that has one, or start the program with dbus-run-session (package dbus)"
        )
    }
}

/// An element of a D-Bus address, as libdbus reads it.
struct BusSocket {
    /// What it connects to, one of them.
    let path: String?
    let abstract: String?

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
        path = dbus.address_entry_get_value(entry, "path").map { String(cString: $0) }
        abstract = dbus.address_entry_get_value(entry, "abstract").map { String(cString: $0) }
    }

    /// A text in the form that a value of an address has.
    static func escaped(_ text: String) -> String {
        // The specification's optionally-escaped bytes, in every version of it.
        let plain = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz/."
        return text.addingPercentEncoding(withAllowedCharacters: CharacterSet(charactersIn: plain)) ?? text
    }

    private enum Outcome { case connects, fails, blocks }

    /// Whether libdbus, which tries one element after the other, would wait without a limit for a bus that does not
    /// accept connections.
    static func wouldBlock(_ address: String) -> Bool {
        (try? elements(of: address))?.lazy.map(\.outcome).first { $0 != .fails } == .blocks
    }

    /// A local connection succeeds or fails at once, unless the queue of the bus is full (unix(7)).
    private var outcome: Outcome {
        guard let name = path ?? abstract.map({ "\0\($0)" }) else { return .fails }
        let descriptor = UnixSocket.make(SOCK_STREAM)
        guard descriptor >= 0 else { return .fails }
        defer { close(descriptor) }
        let isConnected = UnixSocket.withAddress(name) { connect(descriptor, $0, $1) } == 0
        return isConnected ? .connects : errno == EAGAIN ? .blocks : .fails
    }
}
