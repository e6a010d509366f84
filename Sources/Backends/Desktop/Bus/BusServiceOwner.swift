import BackendConfiguration
import DisplayText
import Foundation

/// Follows which connection owns the name of a service. Never starts the service.
///
/// A class, because signals arrive while ``find(on:)`` waits.
final class BusServiceOwner {
    let name: String
    /// Why the service can no longer be used.
    private(set) var fault: BusServiceError?
    /// For ``BusSession/canBeginAgain``.
    private(set) var canBeginAgain: Bool?

    init(_ name: String) {
        self.name = name
    }

    /// Finds the owner, and follows changes from then on. Returns its unique name. Throws if there is none.
    @discardableResult
    func find(on bus: BusLink) async throws -> String {
        let rule = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(name)'"
        try await bus.addMatch(rule)
        do throws(BusError) {
            return try await bus.callBus("GetNameOwner", [.string(name)]).first?.text ?? ""
        } catch {
            guard error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" else { throw error }
            canBeginAgain = false
            throw BusServiceError.missing(name)
        }
    }

    /// Handles a signal.
    func receive(_ signal: BusMessage) {
        guard signal.member == "NameOwnerChanged", signal.sender == "org.freedesktop.DBus", signal.signature == "sss"
        else { return }
        let arguments = signal.arguments
        guard arguments.first?.text == name, let owner = arguments.last?.text else { return }
        if canBeginAgain != nil { canBeginAgain = !owner.isEmpty }
        fault = owner.isEmpty ? .missing(name) : .replaced(name)
    }
}

/// Why a service on a bus cannot be used.
package enum BusServiceError: BackendProblem, Sendable, Hashable {
    /// No connection owns its name.
    case missing(String)
    /// Another connection owns its name now.
    case replaced(String)

    /// The problem.
    package var reason: String {
        switch self {
        case .missing(let name): "no service owns \(name) on this bus"
        case .replaced(let name): "the service \(name) was replaced by another one"
        }
    }

    /// What to do.
    package var help: String? { "it is used as soon as it is there" }
}
