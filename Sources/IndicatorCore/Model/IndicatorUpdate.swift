/// What a receiver gets: the state of the indicator, and what has happened since the update that it had before.
///
/// A backend that shows the current state needs only the ``snapshot``. One that reports what happened handles
/// ``steps``, or ``finished`` if showings and hidings do not matter to it. Backends receive updates (see
/// ``IndicatorUpdates``), and so does an app, from ``IndicatorManager/updates``.
public struct IndicatorUpdate: Sendable, Equatable {
    /// How many skipped snapshots ``transitions`` lists.
    static var transitionLimit: Int { 64 }

    /// The state of the indicator.
    public var snapshot: IndicatorSnapshot

    /// What ended since the last one of ``earlier``.
    package var finishedActivities: FinishedActivities

    /// What the receiver has skipped: for each time that the indicator was shown or hidden, the last snapshot of that
    /// time, with what ended. They have none of their own.
    package internal(set) var earlier: [IndicatorUpdate] = []

    /// How many more times the indicator was shown or hidden than ``transitions`` lists.
    public internal(set) var omittedTransitions = 0

    /// Whether a backend receives the same snapshot again, for its animation; see
    /// ``BackendDelivery/animationInterval``.
    public internal(set) var isRepetition = false

    /// Makes an update, for the tests of a backend.
    public init(_ snapshot: IndicatorSnapshot, finished: [FinishedActivity] = [], isRepetition: Bool = false) {
        self.init(snapshot, FinishedActivities(latest: finished))
        self.isRepetition = isRepetition
    }

    package init(_ snapshot: IndicatorSnapshot, _ finished: FinishedActivities) {
        self.snapshot = snapshot
        finishedActivities = finished
    }

    /// The labelled activities that have ended since the previous update of the same receiver, in order: of more than
    /// 64, the last failures, and then the last others.
    ///
    /// A receiver gets each activity once, even if it skips snapshots; a backend whose
    /// ``IndicatorBackend/show(_:)`` throws while it shows an update gets that one's again. The first update of a
    /// receiver has none.
    public var finished: [FinishedActivity] { allFinished.latest }

    /// How many more have ended than ``finished`` lists.
    public var omittedFinished: Int { allFinished.omittedCount }

    /// What the receiver has skipped: for each time that the indicator was shown or hidden since its previous update,
    /// the last snapshot of that time, in order; the last 64. Empty for most receivers, which are as fast as the
    /// indicator.
    public var transitions: [IndicatorSnapshot] { earlier.map(\.snapshot) }

    /// The updates that a receiver gets that skips no showing and no hiding: one for each of ``transitions`` and then
    /// the current one, each with what ended until then.
    public var steps: [IndicatorUpdate] {
        var last = self
        (last.earlier, last.omittedTransitions) = ([], 0)
        return earlier + [last]
    }

    /// The storage of ``finished`` and ``omittedFinished``.
    package var allFinished: FinishedActivities {
        if earlier.isEmpty { return finishedActivities }
        var all = FinishedActivities()
        for step in steps { all.append(step.finishedActivities) }
        return all
    }
}
