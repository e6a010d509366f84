import BackendConfiguration
import CIndicatorDBus
import DisplayText
import Foundation

/// Follows which connection owns the name of a service. Never starts the service.
///
/// A class, because signals arrive while ``find(on:)`` waits.
package final class BusServiceOwner {
    private let missing: Unavailability
    private let replaced: Unavailability
    private let name: String
    /// The unique name of the one that was found.
    private(set) var owner = ""
    /// Why the service can no longer be used.
    private(set) var fault: Unavailability?
    /// Whether the service has appeared, or another one in its place, since ``find(on:)``.
    private(set) var hasAppeared = false

    /// - Parameter help: what to do if there is none.
    init(_ name: String, help: String = "it is used as soon as it is there") {
        self.name = name
        missing = Unavailability(reason: "no service owns \(name) on this bus", help: help)
        replaced = Unavailability(reason: "the service \(name) was replaced by another one")
    }

    /// Finds the owner, and follows changes from then on. Throws if there is none.
    func find(on bus: BusLink) async throws {
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
        fault = owner.isEmpty ? missing : replaced
    }
}
