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
/// Any thread may use it. Beginning and ending one without a label is one atomic operation each while others are in
/// progress, and a retain and a release. The indicator works at least until its activities have ended.
public struct Activity: ~Copyable, Sendable {
    @usableFromInline let handle: ActivityHandle

    @inlinable
    init(_ handle: consuming ActivityHandle) {
        self.handle = handle
    }

    /// A short text of what is in progress; `nil`, the default, for none. An empty one counts as none.
    ///
    /// The snapshot's label is that of the first activity in progress that has one. An activity that begins without a
    /// label takes its place in that order when it first says something.
    public var label: String? {
        get { handle.details.label }
        nonmutating set { handle.update { $0.label = newValue } }
    }

    /// How much is done, 0…1; `nil` if that is unknown. Without a value of its own it follows from ``total``.
    public var progress: Double? {
        get { handle.details.progress }
        nonmutating set { handle.update { $0.progress = newValue } }
    }

    /// How much there is to do, in ``unit``s; `nil`, the default, if that is unknown.
    public var total: Int? {
        get { handle.details.total }
        nonmutating set { handle.update { $0.total = newValue } }
    }

    /// How much of ``total`` is done. Default 0.
    public var completed: Int {
        get { handle.details.completed }
        nonmutating set { handle.update { $0.completed = newValue } }
    }

    /// What ``total`` and ``completed`` count. Default ``ActivityUnit/count``.
    public var unit: ActivityUnit {
        get { handle.details.unit }
        nonmutating set { handle.update { $0.unit = newValue } }
    }

    /// What the user is asked for while the activity waits for them, such as "Passphrase?"; `nil`, the default, if it does
    /// not.
    public var attention: String? {
        get { handle.details.attention }
        nonmutating set { handle.update { $0.attention = newValue } }
    }

    /// Adds to ``completed``.
    public func advance(by amount: Int) {
        handle.update { $0.advance(by: amount) }
    }

    /// Changes the label, the progress, or both at once. What is `nil` stays as it is; to clear one, set the property.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done; limited to 0…1.
    public func update(label: String? = nil, progress: Double? = nil) {
        handle.update(label: label, progress: progress)
    }

    /// Ends the activity before it goes out of scope.
    ///
    /// - Parameter outcome: how it ended. Backends report the outcome of an activity that has a label.
    public consuming func end(_ outcome: ActivityOutcome = .unspecified) {
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
public final class ManagedActivity: Sendable {
    private let handle: ActivityHandle

    /// Begins an activity.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    ///   - indicator: the indicator that shows it.
    public init(_ label: String? = nil, progress: Double? = nil, in indicator: IndicatorManager = .shared) {
        handle = indicator.beginHandle(label: label, progress: progress)
    }

    /// Whether the activity has ended.
    public var hasEnded: Bool { handle.hasEnded }

    /// A short text of what is in progress; `nil`, the default, for none. See ``Activity/label``.
    public var label: String? {
        get { handle.details.label }
        set { handle.update { $0.label = newValue } }
    }

    /// How much is done, 0…1; `nil` if that is unknown. See ``Activity/progress``.
    public var progress: Double? {
        get { handle.details.progress }
        set { handle.update { $0.progress = newValue } }
    }

    /// How much there is to do, in ``unit``s; `nil`, the default, if that is unknown.
    public var total: Int? {
        get { handle.details.total }
        set { handle.update { $0.total = newValue } }
    }

    /// How much of ``total`` is done. Default 0.
    public var completed: Int {
        get { handle.details.completed }
        set { handle.update { $0.completed = newValue } }
    }

    /// What ``total`` and ``completed`` count. Default ``ActivityUnit/count``.
    public var unit: ActivityUnit {
        get { handle.details.unit }
        set { handle.update { $0.unit = newValue } }
    }

    /// What the user is asked for while the activity waits for them. See ``Activity/attention``.
    public var attention: String? {
        get { handle.details.attention }
        set { handle.update { $0.attention = newValue } }
    }

    /// Adds to ``completed``.
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

/// What ``Activity`` and ``ManagedActivity`` have in common: where it is counted, and its record if it says something of
/// itself. 16 bytes.
@usableFromInline
struct ActivityHandle: ~Copyable, Sendable {
    @inlinable static var noRecord: UInt { 0 }
    private static var ended: UInt { 1 }

    @usableFromInline let counter: ActivityCounter
    /// The address of the record, of which the handle holds a reference; or one of the two values above. Stored with the
    /// manager's lock held, except for `ended`.
    @usableFromInline let recordBits: Atomic<UInt>

    /// Makes the handle of an activity that has begun.
    @inlinable
    init(_ counter: ActivityCounter) {
        self.counter = counter
        recordBits = Atomic(Self.noRecord)
    }

    /// Makes the handle of an activity that has begun and has a record.
    init(_ counter: ActivityCounter, record: ActivityRecord) {
        self.counter = counter
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
        let details = counter.engine?.read { _ in
            Self.record(recordBits.load(ordering: .acquiring))?.takeUnretainedValue().details
        }
        return details.flatMap(\.self) ?? ActivityDetails()
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
        counter.engine?.change { machine, now in
            let bits = recordBits.load(ordering: .acquiring)
            if let record = Self.record(bits) { return machine.update(record.takeUnretainedValue(), now: now, change) }
            guard bits == Self.noRecord else { return [] }
            var details = ActivityDetails(since: .distantPast)
            change(&details)
            let (record, actions) = machine.insert(details, now: now)
            let stored = recordBits.compareExchange(
                expected: Self.noRecord,
                desired: UInt(bitPattern: Unmanaged.passRetained(record).toOpaque()),
                ordering: .acquiringAndReleasing
            )
            if stored.exchanged { return actions }
            // It has ended meanwhile, without a record.
            Unmanaged.passUnretained(record).release()
            return actions + machine.remove(record, now: now)
        }
    }

    /// Stores how the activity is about to end. The outcome of one without a record interests nobody.
    func setOutcome(_ outcome: ActivityOutcome) {
        guard outcome != .unspecified, recordBits.load(ordering: .relaxed) != Self.noRecord else { return }
        counter.engine?.read { _ in
            Self.record(recordBits.load(ordering: .acquiring))?.takeUnretainedValue().outcome = outcome
        }
    }

    /// Ends the activity. To be called once, by the only owner.
    @inlinable
    func endOnce() {
        // A thread that updated it has passed it on since, so nobody stores a record any more.
        let bits = recordBits.load(ordering: .acquiring)
        if bits != Self.noRecord { return endWithRecord(bits) }
        if counter.end() { counter.report() }
    }

    /// Ends the activity; without effect when it has ended.
    func end(_ outcome: ActivityOutcome) {
        setOutcome(outcome)
        let bits = recordBits.exchange(Self.ended, ordering: .acquiringAndReleasing)
        guard bits != Self.ended else { return }
        if bits != Self.noRecord { return endWithRecord(bits) }
        if counter.end() { counter.report() }
    }

    @usableFromInline
    func endWithRecord(_ bits: UInt) {
        guard let record = Self.record(bits)?.takeRetainedValue() else { return }
        counter.engine?.change { machine, now in machine.end(record, now: now) }
    }
}
