import Foundation
import Synchronization

/// A container of activities: an ``IndicatorManager``, or a ``ManagedActivity``, which is then a group.
///
/// A group counts as one activity, and its label is shown. With a named unit, such as bytes, it adds up what its
/// members do in that unit. Otherwise it counts its members, and its progress combines theirs. Ended members remain
/// included. The article <doc:TotalsGroupsAndLoops> has the rules.
///
/// Snapshots list the members after their group. Groups can be members of groups. Members may begin on any thread;
/// those that are still in progress when the group ends become independent.
///
/// A member that fails does not make its group fail, unless ``ActivityDetails/failsWithMembers`` of the group is
/// `true`.
public class ActivityContainer: @unchecked Sendable {
    // `@unchecked`: the two subclasses are in this module, and like this class have only constants that are `Sendable`.

    /// Keeps the engine open.
    @usableFromInline let lease: ContainerLease

    init(_ lease: ContainerLease) {
        self.lease = lease
    }

    func beginHandle(
        _ label: String?,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        lasted: Duration = .zero
    ) -> ActivityHandle {
        let group = self as? ManagedActivity
        if group == nil, label?.isEmpty ?? true, progress == nil, total == nil, unit == .count { return lease.begin() }
        // Allocated without the lock.
        let record = ActivityRecord(label: label, progress: progress, total: total, unit: unit, isMember: group != nil)
        lease.withEngine { engine in
            engine.change { machine, now in
                let parent = group?.handle.record(in: &machine.list, at: now)
                return machine.begin(record, in: parent, lasted: lasted, now)
            }
        }
        return ActivityHandle(lease, record: record)
    }
}

extension ActivityContainer {
    /// Begins an activity, which ends when the returned value goes out of scope.
    ///
    /// Give the value a name: `_ = indicator.begin("Copying")` ends immediately. For one that only lasts until the end
    /// of its scope, prefer `withActivity("Copying") { … }`.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1. Not needed if `total` is known.
    ///   - total: the total amount of work. See ``ActivityDetails/total``.
    ///   - unit: what `total` counts.
    public func begin(
        _ label: String? = nil,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count
    ) -> Activity {
        Activity(beginHandle(label, progress: progress, total: total, unit: unit))
    }

    /// Counts an activity while a function runs. Its outcome is ``ActivityOutcome/succeeded`` if the function returns,
    /// ``ActivityOutcome/cancelled`` if it throws a `CancellationError`, else ``ActivityOutcome/failed(_:)``.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    ///   - total: the total amount of work; of a group without a `unit`, how many members it will have.
    ///   - unit: what `total` counts. With a named one, such as ``ActivityUnit/bytes``, a group adds up what its
    ///     members do in that unit.
    ///   - body: the work. It receives the activity, which its closures may capture, and in which members may begin.
    ///     Changes after the end have no effect.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        _ body: (ManagedActivity) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let activity = ManagedActivity(label, progress: progress, total: total, unit: unit, in: self)
        do throws(Failure) {
            let result = try body(activity)
            activity.end(.succeeded)
            return result
        } catch {
            activity.end(ActivityOutcome(error))
            throw error
        }
    }

    /// The same for a function that does not use the activity.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withActivity(label) { _ throws(Failure) in try body() }
    }

    /// The same for an asynchronous function, on the actor of its caller.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (ManagedActivity) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let activity = ManagedActivity(label, progress: progress, total: total, unit: unit, in: self)
        do throws(Failure) {
            let result = try await body(activity)
            activity.end(.succeeded)
            return result
        } catch {
            activity.end(ActivityOutcome(error))
            throw error
        }
    }

    /// The same for an asynchronous function that does not use the activity.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await withActivity(label) { _ async throws(Failure) in
            // Captured, so that the function runs where the caller does (SE-0420).
            _ = isolation
            return try await body()
        }
    }
}

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
