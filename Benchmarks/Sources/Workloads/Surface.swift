import IndicatorCore

/// A backend that shows nothing.
struct Surface: IndicatorBackend {
    var delivery: BackendDelivery

    var name: String { "surface" }

    func show(_ updates: IndicatorUpdates) async { for await _ in updates {} }
}

/// Which changes of the indicator a backend receives.
public enum Audience: Sendable {
    /// None: there is no backend.
    case nobody
    /// Changes while the indicator is shown, like the terminal title.
    case whileShown
    /// All changes, up to ten times a second, like the D-Bus property, which is on by default.
    case always

    fileprivate var surfaces: [any IndicatorBackend] {
        switch self {
        case .nobody: []
        case .whileShown: [Surface(delivery: BackendDelivery())]
        case .always: [Surface(delivery: BackendDelivery(includesHidden: true))]
        }
    }
}

extension IndicatorManager {
    /// An indicator in a state.
    static func measured(_ situation: Situation, audience: Audience = .always) -> IndicatorManager {
        IndicatorManager(
            delays: situation.delays,
            isEnabled: situation != .disabled,
            backends: audience.surfaces
        )
    }
}
