import IndicatorCore

/// A surface that shows nothing, and wants to hear as much as the D-Bus property does, which is on by default.
struct Surface: IndicatorBackend {
    var name: String { "surface" }
    var delivery: BackendDelivery { BackendDelivery(includesHidden: true) }

    func start() async throws {}
    func update(_ snapshot: IndicatorSnapshot) async throws {}
    func stop() async {}
}

extension IndicatorManager {
    /// An indicator with a surface, in one of its states.
    static func measured(_ situation: Situation) -> IndicatorManager {
        IndicatorManager(
            delays: situation.delays,
            isEnabled: situation != .disabled,
            backends: [Surface()]
        )
    }
}
