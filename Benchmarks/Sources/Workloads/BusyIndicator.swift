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
    private let set: LockedSet<String>

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

/// Numbers in the classic manager's set: its fastest form, in which hashing an identity costs next to nothing.
final class BusyNumbers: Sendable {
    private let set = LockedSet(inProgress: Array(1000..<1000 + Names.otherCount))

    func startAndStop(_ times: Int) {
        for index in 0..<times {
            set.start(index & 63)
            set.stop(index & 63)
        }
    }
}

/// Many activities with a label in progress. Each time, one begins, and one ends.
final class BusyLabels: @unchecked Sendable {
    // `@unchecked`: only the measuring thread changes the activities.

    private let manager = IndicatorManager.measured(.shown)
    private let endsOldest: Bool
    /// A ring.
    private var activities: [ManagedActivity] = []
    private var next = 0

    init(count: Int, endsOldest: Bool) {
        self.endsOldest = endsOldest
        let labels = Names.labels
        for index in 0..<count { activities.append(ManagedActivity(labels[index & 63], in: manager)) }
    }

    func beginAndEnd(_ times: Int) {
        let labels = Names.labels
        for index in 0..<times {
            let newest = ManagedActivity(labels[index & 63], in: manager)
            guard endsOldest else {
                newest.end()
                continue
            }
            activities[next].end()
            activities[next] = newest
            next = next + 1 == activities.count ? 0 : next + 1
        }
    }
}
