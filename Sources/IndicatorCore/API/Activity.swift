import Foundation
public import Synchronization

/// One piece of work in progress. It ends when the value goes out of scope.
///
/// Noncopyable, so that the compiler ensures that the activity ends exactly once, however the scope is left. Where such
/// a value cannot be used (in several closures, a collection, or a script's top-level code), use ``ManagedActivity``.
///
/// ```swift
/// let activity = indicator.begin("Fetching index")
/// activity.label = "Fetching page 2"
/// activity.progress = 0.4
/// activity.end(.failed("HTTP 503"))   // optional
/// ```
///
/// Any thread may use it. While others are in progress, beginning and ending one without a label are mostly one atomic
/// operation each. The indicator works at least until its activities have ended.
@dynamicMemberLookup
public struct Activity: ~Copyable, Sendable {
    @usableFromInline let handle: ActivityHandle

    @inlinable
    init(_ handle: consuming ActivityHandle) {
        self.handle = handle
    }

    /// The activity's details: ``ActivityDetails/label``, ``ActivityDetails/progress``, ``ActivityDetails/total``,
    /// ``ActivityDetails/attention`` and so on.
    ///
    /// Snapshots list activities in the order in which they began. One that began without details counts as begun when
    /// the first one is set. What the members of a group do is only in snapshots.
    public subscript<Value>(dynamicMember member: WritableKeyPath<ActivityDetails, Value>) -> Value {
        get { handle.details[keyPath: member] }
        // So that `completed += 1` adds, whatever other threads add meanwhile.
        nonmutating _modify {
            var change = handle.beginChange()
            yield &change.new[keyPath: member]
            handle.merge(change)
        }
    }

    /// Adds to ``ActivityDetails/completed``, which determines the rate and the time left. While no receiver observes
    /// the change, this is one atomic addition; a member of a group takes the indicator's lock, to add to the group.
    public func advance(by amount: Int = 1) {
        handle.advance(by: amount)
    }

    /// Changes several properties together.
    ///
    /// - Parameter change: changes a copy, without a lock. What it has changed is then merged: what other threads set
    ///   meanwhile is kept, and their steps are added.
    public func update(_ change: (inout ActivityDetails) -> Void) {
        handle.update(change)
    }

    /// Ends the activity before it goes out of scope.
    ///
    /// - Parameter outcome: how it ended. Backends report the outcome of an activity that has a label.
    @inlinable
    public consuming func end(_ outcome: ActivityOutcome = .unspecified) {
        if case .unspecified = outcome { return }
        handle.end(outcome)
    }

    @inlinable
    deinit {
        handle.endOnce()
    }
}

/// One piece of work in progress, reference-counted. It ends at ``end(_:)``, or when the last reference is released.
///
/// The same as ``Activity``, for places where a noncopyable value cannot be used, such as an escaping closure. Any
/// thread may use it. Changes after the end have no effect.
///
/// It is a group if other activities begin in it: see ``ActivityContainer``. The indicator works at least until it is
/// released.
@dynamicMemberLookup
public final class ManagedActivity: ActivityContainer, @unchecked Sendable {
    // `@unchecked`: restated. It has only constants.

    let handle: ActivityHandle

    /// Begins an activity in a container: in the indicator, or in the group that it is a member of. See
    /// ``ActivityContainer/begin(_:progress:total:unit:)``.
    public init(
        _ label: String? = nil,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        in container: ActivityContainer
    ) {
        handle = container.beginHandle(label, progress: progress, total: total, unit: unit)
        super.init(container.lease)
    }

    /// Begins an activity whose work has already lasted for a while.
    package init(_ label: String, in indicator: IndicatorManager, lasted: Duration) {
        handle = indicator.beginHandle(label, lasted: lasted)
        super.init(indicator.lease)
    }

    /// Whether the activity has ended.
    public var hasEnded: Bool { handle.hasEnded }

    /// Its indicator, for activities that are not its members.
    package var indicator: ActivityContainer { ActivityContainer(lease) }

    /// The activity's details. See ``Activity``'s subscript.
    public subscript<Value>(dynamicMember member: WritableKeyPath<ActivityDetails, Value>) -> Value {
        get { handle.details[keyPath: member] }
        _modify {
            var change = handle.beginChange()
            yield &change.new[keyPath: member]
            handle.merge(change)
        }
    }

    /// Adds to ``ActivityDetails/completed``. See ``Activity/advance(by:)``.
    public func advance(by amount: Int = 1) {
        handle.advance(by: amount)
    }

    /// Changes several properties together. See ``Activity/update(_:)``.
    public func update(_ change: (inout ActivityDetails) -> Void) {
        handle.update(change)
    }

    /// Ends the activity; without effect when it has ended.
    ///
    /// - Parameter outcome: how it ended. Backends report the outcome of an activity that has a label.
    public func end(_ outcome: ActivityOutcome = .unspecified) {
        handle.end(outcome)
    }

    /// Ends the activity, after members without an outcome, in one change. Between two, they would count as done.
    ///
    /// - Parameter outcome: how it ended; `nil` if nothing is to be said of it, and its group no longer counts it.
    package func end(_ outcome: ActivityOutcome?, after members: [ManagedActivity] = []) {
        lease.withEngine { engine in
            engine.change { machine, now in
                _ = handle.record(in: &machine.list, at: now)
                let all = members.map { ($0, ActivityOutcome?.some(.unspecified)) } + [(self, outcome)]
                return machine.end(all.compactMap { item, end in item.handle.markEnded().map { ($0, end) } }, now)
            }
        }
    }

    deinit {
        handle.endOnce()
    }
}

/// The common part of ``Activity`` and ``ManagedActivity``: the lease that keeps the engine open, and its record if it
/// has details. 16 bytes.
@usableFromInline
struct ActivityHandle: ~Copyable, Sendable {
    @inlinable static var noRecord: UInt { 0 }
    /// The bit of an activity that has ended.
    private static var ended: UInt { 1 }

    @usableFromInline let lease: EngineLease
    /// The address of the record, which the handle retains, and the bit `ended`. The address is stored with the
    /// manager's lock held.
    @usableFromInline let recordBits: Atomic<UInt>

    /// Makes the handle of an activity that has begun without a record.
    @inlinable
    init(_ lease: EngineLease) {
        self.lease = lease
        recordBits = Atomic(Self.noRecord)
    }

    init(_ lease: EngineLease, record: ActivityRecord) {
        self.lease = lease
        recordBits = Atomic(UInt(bitPattern: Unmanaged.passRetained(record).toOpaque()))
    }

    private static func record(_ bits: UInt) -> Unmanaged<ActivityRecord>? {
        UnsafeRawPointer(bitPattern: bits & ~ended).map { .fromOpaque($0) }
    }

    /// Whether the activity has ended.
    var hasEnded: Bool { recordBits.load(ordering: .acquiring) & Self.ended != 0 }

    /// The activity's current details; empty after its end.
    var details: ActivityDetails {
        if hasEnded { return ActivityDetails() }
        return lease.engine.read { machine, _ in
            let record = Self.record(recordBits.load(ordering: .acquiring))?.takeUnretainedValue()
            return record.map { machine.list.details(of: $0) } ?? ActivityDetails()
        }
    }

    func advance(by amount: Int) {
        let bits = recordBits.load(ordering: .acquiring)
        guard bits & Self.ended == 0, amount != 0 else { return }
        guard let reference = Self.record(bits) else {
            return lease.engine.read { machine, now in
                _ = record(in: &machine.list, at: now)?.advance(by: amount)
            }
        }
        reference._withUnsafeGuaranteedRef { record in
            let isFirst = record.advance(by: amount)
            // After the addition: see ``ActivityCounter/reportsChanges``.
            guard isFirst || record.isMember || lease.counter.reportsChanges else { return }
            lease.engine.change { machine, now in machine.hasAdvanced(record, now) }
        }
    }

    /// Changes the activity's details; without effect if it has ended.
    func update(_ change: (inout ActivityDetails) -> Void) {
        if !hasEnded { lease.engine.update(change) { record(in: &$0, at: $1) } }
    }

    /// The details, to change a copy of them: the lock must not be held while the caller's code runs.
    func beginChange() -> DetailsChange {
        hasEnded ? DetailsChange() : lease.engine.beginChange { record(in: &$0, at: $1) }
    }

    func merge(_ change: DetailsChange) { lease.engine.merge(change) }

    /// The record of the activity, made if it has none yet; `nil` if the activity has ended. With the lock held.
    func record(in list: inout ActivityList, at now: () -> Duration) -> ActivityRecord? {
        let bits = recordBits.load(ordering: .acquiring)
        if bits & Self.ended != 0 { return nil }
        if let record = Self.record(bits) { return record.takeUnretainedValue() }
        let record = ActivityRecord()
        list.insert(record, in: nil, at: now())
        let reference = Unmanaged.passRetained(record)
        let address = UInt(bitPattern: reference.toOpaque())
        if recordBits.compareExchange(expected: bits, desired: address, ordering: .acquiringAndReleasing).exchanged {
            return record
        }
        // It has ended meanwhile, without a record.
        reference.release()
        return nil
    }

    /// Ends the activity unless it has ended, and releases the record. Called once, by the last owner.
    @inlinable
    func endOnce() {
        // The caller is the only owner, so no other thread stores a record now.
        let bits = recordBits.load(ordering: .acquiring)
        if bits == Self.noRecord, lease.end() { return }
        endWithLock(bits)
    }

    /// Ends the activity; without effect when it has ended. The record is kept: other threads may use it.
    @usableFromInline
    func end(_ outcome: ActivityOutcome) {
        let bits = recordBits.bitwiseOr(Self.ended, ordering: .acquiringAndReleasing).oldValue
        guard bits & Self.ended == 0 else { return }
        if bits == Self.noRecord, lease.end() { return }
        endWithLock(Self.record(bits)?.takeUnretainedValue(), outcome)
    }

    /// Marks the activity as ended, which the caller completes with the lock held. Returns its record; `nil` if it has
    /// none, or has ended.
    func markEnded() -> ActivityRecord? {
        let bits = recordBits.bitwiseOr(Self.ended, ordering: .acquiringAndReleasing).oldValue
        return bits & Self.ended == 0 ? Self.record(bits)?.takeUnretainedValue() : nil
    }

    @usableFromInline
    func endWithLock(_ bits: UInt) {
        let record = Self.record(bits)?.takeRetainedValue()
        if bits & Self.ended == 0 { endWithLock(record, .unspecified) }
    }

    private func endWithLock(_ record: ActivityRecord?, _ outcome: ActivityOutcome) {
        lease.withEngine { $0.change { machine, now in machine.end(record, outcome, now) } }
    }
}
