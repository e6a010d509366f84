import Foundation
import Synchronization

extension IndicatorManager {
    // MARK: - Activities without an identity

    /// Begins an activity without details, which ends when the returned value goes out of scope.
    ///
    /// While others are in progress, this and its end are mostly one atomic operation each. The indicator works at
    /// least until its activities have ended, even if the manager is released earlier.
    @inlinable
    public func begin() -> Activity {
        Activity(lease.begin())
    }

    /// Counts one more activity, as in AFNetworking's manager.
    public func incrementActivityCount() {
        engine.change { machine, now in machine.increment(now) }
    }

    /// Ends one of the activities that ``incrementActivityCount()`` counted; without effect if there is none.
    public func decrementActivityCount() {
        engine.change { machine, now in machine.decrement(now) }
    }

    // MARK: - Activities with an identity

    /// Starts an activity with an identity.
    ///
    /// Starting one that is in progress has no effect.
    ///
    /// - Parameters:
    ///   - id: the identity, here and in `stop`. It is compared and hashed with the indicator's lock held, so its `==`
    ///     and `hash(into:)` must not use the indicator; its `deinit` may. Integers that are equal are the same
    ///     identity whatever their types.
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    @inlinable
    public func start(_ id: some Hashable & Sendable, label: String? = nil, progress: Double? = nil) {
        lease.withEngine { $0.start(ActivityKey(id), label: label, progress: progress) }
    }

    /// Changes the details of an activity with an identity; without effect if it is not in progress.
    ///
    /// ```swift
    /// indicator.update("request-7") { $0.label = "GET /page/2" }
    /// ```
    ///
    /// - Parameters:
    ///   - id: the identity.
    ///   - change: changes a copy. See ``Activity/update(_:)``.
    public func update(_ id: some Hashable & Sendable, _ change: (inout ActivityDetails) -> Void) {
        engine.update(ActivityKey(id), change)
    }

    /// Stops an activity with an identity; without effect if it is not in progress. Backends report the outcome of an
    /// activity that has a label.
    @inlinable
    public func stop(_ id: some Hashable & Sendable, _ outcome: ActivityOutcome = .unspecified) {
        lease.withEngine { $0.stop(ActivityKey(id), outcome) }
    }
}

extension ContainerLease {
    /// Begins an activity without details.
    @inlinable
    func begin() -> ActivityHandle {
        if counter.begin() { engine.report() }
        return ActivityHandle(shares[Self.shareIndex()])
    }
}

extension EngineLease {
    /// Ends an activity without details, unless that needs the lock.
    @inlinable
    final func end() -> Bool {
        // Unmanaged: the lease retains the counter, and another retain would cost as much as the end.
        Unmanaged.passUnretained(counter)._withUnsafeGuaranteedRef { $0.end() }
    }
}

/// The details of an activity and a changed copy of them; without a record if the activity is not in progress.
struct DetailsChange: Sendable {
    var record: ActivityRecord?
    var old = ActivityDetails(since: .distantPast)
    var new = ActivityDetails(since: .distantPast)
}

extension IndicatorEngine {
    /// Starts an activity with an identity, as a member of a group if that is in progress.
    @usableFromInline
    func start(_ key: ActivityKey, label: String?, progress: Double? = nil, in group: ActivityRecord? = nil) {
        change { machine, now in machine.start(key, label: label, progress: progress, in: group, now) }
    }

    /// Changes the details of an activity; without effect if it is not in progress.
    func update(_ key: ActivityKey, _ change: (inout ActivityDetails) -> Void) {
        update(change) { $0.record(of: key, at: $1) }
    }

    func update(
        _ change: (inout ActivityDetails) -> Void,
        _ find: (inout ActivityList, ActivityList.Now) -> ActivityRecord?
    ) {
        var details = beginChange(find)
        if details.record == nil { return }
        change(&details.new)
        merge(details)
    }

    /// Finds the details of an activity, to change a copy of them.
    func beginChange(_ find: (inout ActivityList, ActivityList.Now) -> ActivityRecord?) -> DetailsChange {
        read { machine, _ in
            guard let record = find(&machine.list, { time.now }) else { return DetailsChange() }
            let old = machine.list.details(of: record)
            return DetailsChange(record: record, old: old, new: old)
        }
    }

    func merge(_ change: DetailsChange) {
        guard let record = change.record, change.new != change.old else { return }
        self.change { machine, now in machine.merge(change.new, since: change.old, into: record, now) }
    }

    /// Stops an activity, or pauses it if there is no outcome.
    @usableFromInline
    func stop(_ key: ActivityKey, _ outcome: ActivityOutcome? = .unspecified) {
        change { machine, now in machine.stop(key, outcome, now) }
    }
}
