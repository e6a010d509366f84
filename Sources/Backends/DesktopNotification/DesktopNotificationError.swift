#if DesktopNotification
/// Why there is no notification.
public enum DesktopNotificationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The process has no login session with a bus.
    case noSessionBus
    /// The session bus cannot be reached.
    case busUnreachable(reason: String)
    /// The session bus was lost.
    case busLost
    /// The session bus was lost, and something in the process holds on to GLib's dead connection to it.
    case deadConnectionHeld
    /// Nobody shows notifications on this bus.
    case noServer
    /// The notification server, or the bus, does not answer.
    case notResponding
    /// The notification server refused.
    case refused(reason: String)

    /// What was wrong.
    public var reason: String {
        switch self {
        case .noSessionBus:
            "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set and $XDG_RUNTIME_DIR/bus does not exist"
        case .busUnreachable(let reason): "the session bus cannot be reached: \(reason)"
        case .busLost: "the session bus was lost"
        case .deadConnectionHeld:
            "the session bus was lost, and another part of the app holds on to GLib's connection to it, which GLib cannot renew"
        case .noServer: "no notification server owns org.freedesktop.Notifications on this bus"
        case .notResponding: "the notification server does not answer"
        case .refused(let reason): "the notification server refused: \(reason)"
        }
    }

    /// What to do about it; `nil` when nothing of the user's would help.
    public var help: String? {
        switch self {
        case .noSessionBus:
            "log in to a session that has one, or start the program with dbus-run-session (package dbus)"
        case .busUnreachable, .busLost: "check that the bus runs and that this user may connect to it"
        case .deadConnectionHeld: "restart the app"
        case .noServer: "install or start one, e.g. dunst"
        case .notResponding: "it is used again as soon as it does"
        case .refused: nil
        }
    }

    /// What was wrong, and what to do about it.
    public var description: String { help.map { "\(reason); \($0)" } ?? reason }
}
#endif
