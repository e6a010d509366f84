import BackendConfiguration
import DisplayText

/// Why the indicator is not on a message bus.
package enum MessageBusError: BackendProblem, Sendable, Hashable {
    /// The text is neither `session` nor `system` nor an address.
    case invalidAddress(String, reason: String)
    /// libdbus is not installed, or cannot be used.
    case noLibrary(reason: String)
    /// The process has no login session with a bus.
    case noSessionBus
    /// The bus at the address cannot be reached, or does not answer.
    case unreachable(address: String, reason: String)
    /// The bus does not allow this user to own the name.
    case nameRefused(String, reason: String)
    /// The name and all alternatives for this process are already owned.
    case nameTaken(String)
    /// The connection was lost.
    case lost(address: String, reason: String)
    /// The process has reached its limit of threads or descriptors.
    case noResources(reason: String)

    /// The problem.
    package var reason: String {
        switch self {
        case .invalidAddress(let text, let reason): "'\(text)' is not a D-Bus address: \(reason)"
        case .noLibrary(let reason): "libdbus cannot be loaded: \(reason)"
        case .noSessionBus:
            "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set and $XDG_RUNTIME_DIR/bus does not exist"
        case .unreachable(let address, let reason): "the bus at '\(address)' cannot be reached: \(reason)"
        case .nameRefused(let name, let reason): "the bus does not allow this user to own '\(name)': \(reason)"
        case .nameTaken(let name): "other processes own '\(name)' and all alternatives to it"
        case .lost(let address, let reason): "the bus at '\(address)' was lost: \(reason)"
        case .noResources(let reason): "there are no resources for a connection to the bus: \(reason)"
        }
    }

    /// What to do, if the user can do anything.
    package var help: String? {
        switch self {
        case .invalidAddress: "write session, system, or an address such as unix:path=/run/user/1000/bus"
        case .noLibrary: "install it (apt-get install libdbus-1-3)"
        case .noSessionBus:
            "log in to a session that has one, or start the program with dbus-run-session (package dbus)"
        case .unreachable, .lost: "check that the bus runs and that this user may connect to it"
        case .nameRefused(let name, _):
            """
            allow it with <policy user="NAME"><allow own="\(name)"/></policy> in a file in /etc/dbus-1/system.d, for a \
            session bus in /etc/dbus-1/session.d; or choose another bus with the setting 'bus'
            """
        case .nameTaken: "choose another name with the setting 'name'"
        case .noResources: "see ulimit -n and ulimit -u"
        }
    }
}
