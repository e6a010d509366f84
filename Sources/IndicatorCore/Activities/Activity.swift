import Foundation
public import Synchronization

/// One piece of work in progress. It ends when the value goes out of scope.
///
/// Noncopyable, so that the compiler makes sure that the work ends exactly once, whichever way the scope is left. Where such
/// a value cannot go (captured by several closures, stored in a collection) use ``ManagedActivity``.
///
/// ```swift
/// let activity = indicator.begin("Fetching index")
/// activity.label = "Fetching page 2"
/// activity.progress = 0.4
/// activity.end(.failed("HTTP 503"))   // optional
/// ```
///
/// Any thread may use it. Beginning and ending one without a label is mostly one atomic operation each while others are in
/// progress. The indicator works at least until its activities have ended.
@dynamicMemberLookup
public struct Activity: ~Copyable, Sendable {
    @usableFromInline let handle: ActivityHandle

    @inlinable
    init(_ handle: consuming ActivityHandle) {
        self.handle = handle
    }

    /// What the activity says of itself: ``ActivityDetails/label``, ``ActivityDetails/progress``,
    /// ``ActivityDetails/total``, ``ActivityDetails/attention`` and so on.
    ///
    /// An activity that begins without a label takes its place in the order of labels when it first says something. A
    /// property of your own, in an extension of ``ActivityDetails``, must not use the indicator.
    public subscript<Value>(dynamicMember member: WritableKeyPath<ActivityDetails, Value>) -> Value {
        get { handle.details[keyPath: member] }
        nonmutating set { handle.update { $0[keyPath: member] = newValue } }
    }

    /// Adds to ``ActivityDetails/completed``.
    public func advance(by amount: Int) {
        handle.update { $0.advance(by: amount) }
    }

    /// Changes the label, the progress, or both at once. What is `nil` stays as it is; to clear one, set the property.
    public func update(label: String? = nil, progress: Double? = nil) {
        handle.update(label: label, progress: progress)
    }

    /// Ends the activity before it goes out of scope.
    ///
    /// - Parameter outcome: how it ended. Backends report the outcome of an activity that has a label.
    @inlinable
    public consuming func end(_ outcome: ActivityOutcome = .unspecified) {
        if case .unspecified = outcome { return }
        handle.setOutcome(outcome)
    }

    @inlinable
    deinit {
        handle.endOnce()
    }
}

/// One piece of work in progress, reference-counted. It ends at ``end(_:)``, or when the last reference is released.
///
/// The same as ``Activity``, for the places where a noncopyable value cannot go. Any thread may use it. Changes after the
/// end have no effect.
@dynamicMemberLookup
public final class ManagedActivity: Sendable {
    private let handle: ActivityHandle
    /// Other threads may use the activity while one ends it.
    private let engine: IndicatorEngine

    /// Begins an activity, as ``IndicatorManager/begin(_:progress:)`` does.
    public init(_ label: String? = nil, progress: Double? = nil, in indicator: IndicatorManager = .shared) {
        engine = indicator.engine
        handle = indicator.beginHandle(label: label, progress: progress)
    }

    /// Begins an activity whose work has been going on for a while.
    package init(_ label: String, in indicator: IndicatorManager, lasted: Duration) {
        engine = indicator.engine
        handle = indicator.beginHandle(label: label, progress: nil, lasted: lasted)
    }

    /// Whether the activity has ended.
    public var hasEnded: Bool { handle.hasEnded }

    /// What the activity says of itself. See ``Activity``'s subscript.
    public subscript<Value>(dynamicMember member: WritableKeyPath<ActivityDetails, Value>) -> Value {
        get { handle.details[keyPath: member] }
        set { handle.update { $0[keyPath: member] = newValue } }
    }

    /// Adds to ``ActivityDetails/completed``.
    public func advance(by amount: Int) {
        handle.update { $0.advance(by: amount) }
    }

    /// Changes the label, the progress, or both at once. What is `nil` stays as it is; to clear one, set the property.
    public func update(label: String? = nil, progress: Double? = nil) {
        handle.update(label: label, progress: progress)
    }

    /// Ends the activity; without effect when it has ended.
    ///
    /// - Parameter outcome: how it ended. Backends report the outcome of an activity that has a label.
    public func end(_ outcome: ActivityOutcome = .unspecified) {
        handle.end(outcome)
    }

    deinit {
        handle.end(.unspecified)
    }
}

/// What ``Activity`` and ``ManagedActivity`` have in common: the engine that counts it, and its record if it says something of
/// itself. 16 bytes.
///
/// It holds no reference to the engine: an engine lives until all that it counts has ended. So nothing of it is touched after
/// the end; what ends with the lock held takes a reference before.
@usableFromInline
struct ActivityHandle: ~Copyable, Sendable {
    @inlinable static var noRecord: UInt { 0 }
    private static var ended: UInt { 1 }

    @usableFromInline let engine: Unmanaged<IndicatorEngine>
    /// The address of the record, of which the handle holds a reference; or one of the two values above. Stored with the
    /// manager's lock held, except for `ended`.
    @usableFromInline let recordBits: Atomic<UInt>

    /// Makes the handle of an activity that has begun.
    @inlinable
    init(_ engine: IndicatorEngine) {
        self.engine = .passUnretained(engine)
        recordBits = Atomic(Self.noRecord)
    }

    /// Makes the handle of an activity that has begun and has a record.
    init(_ engine: IndicatorEngine, record: ActivityRecord) {
        self.engine = .passUnretained(engine)
        recordBits = Atomic(UInt(bitPattern: Unmanaged.passRetained(record).toOpaque()))
    }

    private static func record(_ bits: UInt) -> Unmanaged<ActivityRecord>? {
        guard bits > ended, let pointer = UnsafeRawPointer(bitPattern: bits) else { return nil }
        return .fromOpaque(pointer)
    }

    /// Whether the activity has ended.
    var hasEnded: Bool { recordBits.load(ordering: .acquiring) == Self.ended }

    /// What the activity says of itself now; after its end, nothing.
    var details: ActivityDetails {
        engine.takeUnretainedValue().read { _ in
            Self.record(recordBits.load(ordering: .acquiring))?.takeUnretainedValue().details ?? ActivityDetails()
        }
    }

    func update(label: String?, progress: Double?) {
        guard label != nil || progress != nil else { return }
        update { details in
            if let label { details.label = label }
            if let progress { details.progress = progress }
        }
    }

    /// Changes what the activity says of itself; without effect when it has ended.
    ///
    /// - Parameter change: called with the manager's lock held.
    func update(_ change: (inout ActivityDetails) -> Void) {
        guard !hasEnded else { return }
        engine.takeUnretainedValue().change { machine, now in
            let bits = recordBits.load(ordering: .acquiring)
            if let record = Self.record(bits)?.takeUnretainedValue() {
                return machine.change(now) { list in .init(changesDetails: list.update(record, change)) }
            }
            guard bits == Self.noRecord else { return [] }
            var details = ActivityDetails(since: .distantPast)
            change(&details)
            return machine.change(now) { list in
                let record = list.makeRecord(details, at: now)
                let stored = recordBits.compareExchange(
                    expected: Self.noRecord,
                    desired: UInt(bitPattern: Unmanaged.passRetained(record).toOpaque()),
                    ordering: .acquiringAndReleasing
                )
                if stored.exchanged { return .init(changesDetails: details.label != nil) }
                // It has ended meanwhile, without a record.
                Unmanaged.passUnretained(record).release()
                return .init(changesDetails: list.remove(record))
            }
        }
    }

    /// Stores how the activity is about to end. The outcome of one without a record interests nobody.
    @usableFromInline
    func setOutcome(_ outcome: ActivityOutcome) {
        guard outcome != .unspecified, recordBits.load(ordering: .relaxed) != Self.noRecord else { return }
        engine.takeUnretainedValue().read { _ in
            Self.record(recordBits.load(ordering: .acquiring))?.takeUnretainedValue().outcome = outcome
        }
    }

    /// Ends the activity. To be called once, by the only owner.
    @inlinable
    func endOnce() {
        // A thread that updated it has passed it on since, so nobody stores a record any more.
        let bits = recordBits.load(ordering: .acquiring)
        if bits == Self.noRecord, engine._withUnsafeGuaranteedRef({ $0.counter.end() }) { return }
        endWithLock(bits)
    }

    /// Ends the activity; without effect when it has ended.
    func end(_ outcome: ActivityOutcome) {
        setOutcome(outcome)
        let bits = recordBits.exchange(Self.ended, ordering: .acquiringAndReleasing)
        guard bits != Self.ended else { return }
        if bits == Self.noRecord, engine._withUnsafeGuaranteedRef({ $0.counter.end() }) { return }
        endWithLock(bits)
    }

    @usableFromInline
    func endWithLock(_ bits: UInt) {
        let record = Self.record(bits)?.takeRetainedValue()
        engine.takeUnretainedValue().change { machine, now in
            machine.change(now) { list in
                let isListed = record.map { list.end($0, $0.outcome, at: now) } ?? false
                return .init(countChange: -1, changesDetails: isListed)
            }
        }
    }
}
