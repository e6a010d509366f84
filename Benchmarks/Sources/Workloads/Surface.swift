import IndicatorCore

/// A surface that shows nothing.
struct Surface: IndicatorBackend {
    var delivery: BackendDelivery

    var name: String { "surface" }

    func start() async throws {}
    func update(_ snapshot: IndicatorSnapshot) async throws {}
    func stop() async {}
}

/// Who is told of the indicator.
public enum Audience: Sendable {
    /// Nobody.
    case nobody
    /// A surface like the terminal title: it hears of changes while the indicator is shown.
    case whileShown
    /// A surface like the D-Bus property, which is on by default: it hears of all changes, up to ten times a second.
    case always

    fileprivate var surfaces: [any IndicatorBackend] {
        switch self {
        case .nobody: []
        case .whileShown: [Surface(delivery: .latestWins)]
        case .always: [Surface(delivery: BackendDelivery(includesHidden: true))]
        }
    }
}

extension IndicatorManager {
    /// An indicator in one of its states.
    static func measured(_ situation: Situation, audience: Audience = .always) -> IndicatorManager {
        IndicatorManager(
            delays: situation.delays,
            isEnabled: situation != .disabled,
            backends: audience.surfaces
        )
    }
}
