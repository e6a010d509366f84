import BackendConfiguration
import CIndicatorDBus
import IndicatorCore
import Foundation

/// A service on a bus, which a session needs: see ``BusConnection/find(_:)``. It is never started.
///
/// Only used on the thread of the bus.
public final class BusService {
    // A class, because signals arrive while `find` waits.

    /// The name on the bus.
    public let name: String
    /// The unique name of the connection that owns the name; empty before the service is found.
    public private(set) var owner = ""

    private let missing: Unavailability
    /// Why the service can no longer be used.
    private(set) var fault: Unavailability?
    /// Whether the service has appeared, or another one in its place, since ``find(on:)``.
    private(set) var hasAppeared = false

    /// Describes a service.
    ///
    /// - Parameters:
    ///   - name: the name on the bus, such as `org.kde.StatusNotifierWatcher`.
    ///   - help: what to do if there is none, for the user.
    public init(_ name: String, help: String = "it is used as soon as it is there") {
        self.name = name
        missing = Unavailability(reason: "no service owns \(name) on this bus", help: help)
    }

    /// Finds the owner, and follows changes from then on. Throws if there is none.
    func find(on bus: BusConnection) async throws {
        let rule = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(name)'"
        try await bus.addMatch(rule)
        do throws(BusError) {
            owner = try await bus.callBus("GetNameOwner", [.string(name)]).first?.text ?? ""
            guard dbus.validate_bus_name(owner, nil) != 0 else { throw .invalidName }
        } catch {
            guard error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" else { throw error }
            throw missing
        }
    }

    /// Handles a signal.
    func receive(_ signal: BusMessage) {
        guard signal.member == "NameOwnerChanged", signal.sender == "org.freedesktop.DBus", signal.signature == "sss"
        else { return }
        let arguments = signal.arguments
        guard arguments.first?.text == name, let owner = arguments.last?.text else { return }
        hasAppeared = !owner.isEmpty
        let replaced = Unavailability(reason: "the service \(name) was replaced by another one")
        fault = owner.isEmpty ? missing : replaced
    }
}
