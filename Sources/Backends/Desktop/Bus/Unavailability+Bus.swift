import BackendConfiguration

/// Why the indicator is not on a message bus.
extension Unavailability {
    /// The text is neither `session` nor `system` nor an address of a socket.
    static func invalidBusAddress(_ text: String, _ reason: String) -> Self {
        Self(
            reason: "'\(text)' is not a D-Bus address: \(reason)",
            help: "write session, system, or an address such as unix:path=/run/user/1000/bus"
        )
    }

    static func noLibDBus(_ reason: String) -> Self {
        Self(reason: "libdbus cannot be loaded: \(reason)", help: "install it (apt-get install libdbus-1-3)")
    }

    static let noSessionBus = Self(
        reason: "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set and $XDG_RUNTIME_DIR/bus does not exist",
        help: "log in to a session that has one, or start the program with dbus-run-session (package dbus)"
    )

    /// - Parameter wasReached: whether the bus had accepted the connection.
    static func noBus(at address: String, wasReached: Bool, _ reason: String) -> Self {
        Self(
            reason: "the bus at '\(address)' \(wasReached ? "was lost" : "cannot be reached"): \(reason)",
            help: "check that the bus runs and that this user may connect to it"
        )
    }

    static func refusedBusName(_ name: String, _ reason: String) -> Self {
        Self(
            reason: "the bus does not allow this user to own '\(name)': \(reason)",
            help: """
                allow it with <policy user="NAME"><allow own="\(name)"/></policy> in a file in /etc/dbus-1/system.d, \
                for a session bus in /etc/dbus-1/session.d; or choose another bus with the setting 'bus'
                """
        )
    }

    static func takenBusName(_ name: String) -> Self {
        Self(
            reason: "other processes own '\(name)' and all alternatives to it",
            help: "choose another name with the setting 'name'"
        )
    }

    /// The process has reached its limit of threads or descriptors.
    static let noResourcesForBus = Self(
        reason: "there are no resources for a connection to the bus: \(SpareDescriptors.problem)",
        help: "see ulimit -n and ulimit -u"
    )
}
