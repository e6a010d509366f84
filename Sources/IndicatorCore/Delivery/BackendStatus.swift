/// What a backend is doing.
public enum BackendState: Sendable, Hashable, CustomStringConvertible {
    /// It is acquiring its resources for the first time.
    case starting
    /// It was started and receives updates.
    case running
    /// It cannot show anything now; it is retried at growing intervals.
    case unavailable(reason: String)
    /// It has taken longer than its time limit to start, to show an update or to end, and still does.
    case stalled
    /// It was removed, or the manager was shut down.
    case stopped

    /// The name of the state, without the reason.
    package var name: String {
        switch self {
        case .starting: "starting"
        case .running: "running"
        case .unavailable: "unavailable"
        case .stalled: "stalled"
        case .stopped: "stopped"
        }
    }

    /// The name of the state and, when there is one, the reason.
    public var description: String {
        if case .unavailable(let reason) = self { "unavailable: \(reason)" } else { name }
    }
}

/// The status of a backend. See ``IndicatorManager/backendStatuses``.
public struct BackendStatus: Sendable, Hashable {
    /// The backend's name.
    public var name: String
    /// What it is doing.
    public var state: BackendState
    /// How many updates it has shown.
    public var updatesDelivered = 0
    /// How often it has become unavailable.
    public var outages = 0
    /// The text of the last error, kept after the backend has recovered; `nil` if there was none.
    public var lastError: String?
    /// How many ended activities and showings it had not shown when it was ended; 0 before.
    public var lost = 0
}
