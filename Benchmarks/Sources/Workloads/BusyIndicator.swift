import IndicatorCore

/// An indicator with other activities in progress.
public final class BusyIndicator: Sendable {
    private let manager: IndicatorManager
    private let other: ManagedActivity

    /// Creates an indicator with a few activities in progress.
    public convenience init(_ situation: Situation) {
        self.init(situation, label: nil)
    }

    /// Creates a busy indicator.
    ///
    /// - Parameters:
    ///   - situation: the state of the indicator.
    ///   - others: how many activities with an identity are always in progress.
    ///   - label: the label of another one.
    init(_ situation: Situation, others: Int = Names.otherCount, label: String? = nil) {
        manager = .measured(situation)
        for id in Names.others(others) { manager.start(id) }
        other = ManagedActivity(label, in: manager)
    }

    /// Begins and ends an activity repeatedly.
    public func beginAndEnd(_ times: Int) {
        for _ in 0..<times {
            let activity = manager.begin()
            activity.end()
        }
    }

    func beginAndEndWithLabel(_ times: Int) {
        let labels = Names.labels
        for index in 0..<times {
            let activity = manager.begin(labels[index & 63])
            activity.end()
        }
    }

    func startAndStop(_ times: Int) {
        let ids = Names.requests
        for index in 0..<times {
            manager.start(ids[index & 63])
            manager.stop(ids[index & 63])
        }
    }

    func advance(_ times: Int) {
        for _ in 0..<times { other.advance(by: 1) }
    }

    func readSnapshot(_ times: Int) {
        for _ in 0..<times { consume(manager.snapshot) }
    }
}

/// The same identities in the classic manager's set.
final class BusySet: Sendable {
    private let set: LockedSet

    init(others: Int = Names.otherCount) {
        set = LockedSet(inProgress: Names.others(others))
    }

    func startAndStop(_ times: Int) {
        let ids = Names.requests
        for index in 0..<times {
            set.start(ids[index & 63])
            set.stop(ids[index & 63])
        }
    }
}
