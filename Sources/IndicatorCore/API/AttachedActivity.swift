import Synchronization

/// An activity in a container that it does not keep working: what a tracker shows in an indicator.
///
/// It begins and ends as often as wanted. The calls must not overlap, except ``detach()``.
package final class AttachedActivity: @unchecked Sendable {
    // `@unchecked`: the caller makes one call at a time.

    private let engine: IndicatorEngine
    private let group: ActivityRecord?
    /// Not a `ManagedActivity`, which would keep the indicator working.
    private lazy var key = ActivityKey(ObjectIdentifier(self))
    private var isInProgress = false
    private let isDetached = Atomic(false)

    /// Makes an activity that has not begun; `nil` if the container is a group that has ended.
    package init?(in container: ActivityContainer) {
        let engine = container.lease.engine
        self.engine = engine
        let activity = container as? ManagedActivity
        group = activity.flatMap { activity in
            engine.read { machine, now in activity.handle.record(in: &machine.list, at: now) }
        }
        if activity != nil, group == nil { return nil }
    }

    /// Nothing more is to be shown.
    package func detach() { isDetached.store(true, ordering: .releasing) }

    /// Whether nothing more is to be shown, or can: the indicator was shut down, or the group has ended.
    package var isOver: Bool {
        if isDetached.load(ordering: .acquiring) { return true }
        let (isClosed, hasGroupEnded) = engine.read { machine, _ in (machine.isShutDown, group?.hasEnded ?? false) }
        return isClosed || hasGroupEnded && !isInProgress
    }

    /// Begins the activity, or changes its details.
    package func show(label: String?, progress: Double?) {
        // Without effect if it is in progress.
        engine.start(key, label: label, progress: progress, in: group)
        engine.update(key) { ($0.label, $0.progress) = (label, progress) }
        isInProgress = true
    }

    /// Ends the activity; without effect if it is not in progress.
    package func end() {
        engine.stop(key)
        isInProgress = false
    }
}
