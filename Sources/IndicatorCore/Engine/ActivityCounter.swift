public import Synchronization

/// Counts the activities in progress without a lock, and decides which changes of the count concern the state machine.
///
/// One atomic ``word`` holds everything that a change depends on: the number of activities in progress, the phase, and
/// whether every change must be reported. The phase is the state that the state machine has decided, and `nil` while
/// the indicator is disabled. Members of groups are not counted: their group is.
///
/// ## Which changes concern the state machine
///
/// All changes while ``reportsChanges`` is set; a first beginning in the phase ``IndicatorState/inactive``; a last end
/// in the phase ``IndicatorState/active``. In the other phases a delay runs or the indicator is disabled, and the
/// machine decides by what is the case at the end of that phase (rule 10 of <doc:RulesOfVisibility>).
///
/// ## Why no edge is lost
///
/// The phase and the count change in the same word, so each change of one sees exactly one value of the other. The
/// thread that begins a first activity sees the phase, and reports if the phase requires it. The owner of the lock sees
/// the count when it sets a phase, and acts on it. A report carries no data: the machine compares the count with its
/// own state, so a late or repeated report changes nothing.
///
/// An end that concerns the machine is counted with the lock held, so that the machine acts on it at once.
///
/// ## Why the indicator is never hidden too early
///
/// While the completion delay runs, its end is ``lastEnd`` plus the delay. The thread that ends the last activity
/// stores the time *before* it changes the count. A machine that sees no activity in progress therefore also sees a
/// time that is not earlier than the call that ended the last one. The time only grows (an atomic maximum), so a thread
/// that was delayed between reading the clock and storing does not decrease it.
///
/// `Tests/Models/ActivityCounter.pml` describes this protocol for the model checker `spin`.
@usableFromInline
package final class ActivityCounter: Sendable {
    /// One activity in ``word``: the count is in the bits from here on, the phase in the three bits below.
    @usableFromInline static var unit: UInt64 { 16 }
    private static var phaseUnit: UInt64 { 2 }
    @usableFromInline static var reportingBit: UInt64 { 1 }

    @usableFromInline let word: Atomic<UInt64>
    private let lastEnd = Atomic<Int64>(.min)
    let time: TimeSource

    /// Makes a counter with a count of zero. `time` is the clock of ``takeTimeOfLastEnd()``.
    package init(phase: IndicatorState?, time: TimeSource) {
        word = Atomic(Self.word(phase: phase))
        self.time = time
    }

    private static func count(of word: UInt64) -> Int { Int(word / unit) }

    private static func phase(of word: UInt64) -> IndicatorState? {
        switch word % unit / phaseUnit {
        case 0: .inactive
        case 1: .delayingStart
        case 2: .active
        case 3: .delayingCompletion
        default: nil
        }
    }

    private static func word(phase: IndicatorState?) -> UInt64 {
        let number: UInt64 =
            switch phase {
            case .inactive: 0
            case .delayingStart: 1
            case .active: 2
            case .delayingCompletion: 3
            case nil: 4
            }
        return number * phaseUnit
    }

    // MARK: - For the threads that begin and end activities

    /// Increments the count. Returns whether the change must be reported.
    @inlinable
    package func begin() -> Bool {
        let old = word.wrappingAdd(Self.unit, ordering: .acquiringAndReleasing).oldValue
        guard old < Self.unit || old & Self.reportingBit != 0 else { return false }
        return mustReport(beginningAfter: old)
    }

    @usableFromInline
    func mustReport(beginningAfter old: UInt64) -> Bool {
        old & Self.reportingBit != 0 || Self.phase(of: old) == .inactive
    }

    /// Decrements the count, unless that concerns the state machine. For a last end during the completion delay, stores
    /// the time first.
    ///
    /// - Parameter isReported: whether an end that concerns the state machine is counted, too.
    /// - Returns: whether the count was decremented. If not, the activity must be ended with the lock held, by
    ///   ``remove()``.
    @usableFromInline
    package func end(isReported: Bool = false) -> Bool {
        func concernsMachine(_ word: UInt64) -> Bool {
            word & Self.reportingBit != 0 || word < 2 * Self.unit && Self.phase(of: word) == .active
        }
        var old = word.load(ordering: .relaxed)
        while isReported || !concernsMachine(old) {
            if old < 2 * Self.unit, Self.phase(of: old) == .delayingCompletion {
                lastEnd.max(time.nanoseconds, ordering: .acquiringAndReleasing)
            }
            let (exchanged, original) = word.weakCompareExchange(
                expected: old,
                desired: old - Self.unit,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return true }
            old = original
        }
        return false
    }

    // MARK: - For any thread

    /// How many activities are in progress; a group and its members are one.
    package var count: Int { Self.count(of: current) }

    /// Whether any activity is in progress.
    package var isBusy: Bool { word.load(ordering: .acquiring) >= Self.unit }

    /// Whether every change must be reported.
    ///
    /// For a thread that has changed something else first. That change, this read and ``setReportsChanges(_:)`` are
    /// sequentially consistent: a machine that has requested reports sees the change, or the result is `true`.
    var reportsChanges: Bool { word.load(ordering: .sequentiallyConsistent) & Self.reportingBit != 0 }

    /// The state that the state machine has decided; `nil` while the indicator is disabled.
    package var phase: IndicatorState? { Self.phase(of: current) }

    private var current: UInt64 { word.load(ordering: .acquiring) }

    /// The state of the indicator, derived from the phase and the count.
    package var state: IndicatorState { stateAndCount.state }

    /// The state of the indicator, and how many activities are in progress; a group and its members are one.
    @inline(__always)
    var stateAndCount: (state: IndicatorState, count: Int) {
        let word = current
        let count = Self.count(of: word)
        let state: IndicatorState =
            switch Self.phase(of: word) {
            case .inactive, nil: .inactive
            case .delayingStart: .delayingStart
            case .active, .delayingCompletion: count > 0 ? .active : .delayingCompletion
            }
        return (state, count)
    }

    // MARK: - For the owner of the manager's lock

    /// Decrements the count in any case. Returns whether that concerns the state machine.
    package func remove() -> Bool { !end() && end(isReported: true) }

    /// Sets the phase. Returns whether any activity was in progress at that moment.
    @discardableResult
    package func setPhase(_ phase: IndicatorState?) -> Bool {
        // Only the owner of the lock changes these bits.
        let old = word.load(ordering: .acquiring)
        let difference = (old % Self.unit & ~Self.reportingBit) ^ Self.word(phase: phase)
        if difference == 0 { return old >= Self.unit }
        return word.bitwiseXor(difference, ordering: .acquiringAndReleasing).newValue >= Self.unit
    }

    /// When work last ended in the phase ``IndicatorState/delayingCompletion``, if it did since the last call. Read
    /// ``isBusy`` first.
    package func takeTimeOfLastEnd() -> Duration? {
        let nanoseconds = lastEnd.exchange(.min, ordering: .acquiringAndReleasing)
        return nanoseconds == .min ? nil : .nanoseconds(nanoseconds)
    }

    /// Sets whether every change must be reported.
    package func setReportsChanges(_ reportsChanges: Bool) {
        guard reportsChanges != (word.load(ordering: .relaxed) & Self.reportingBit != 0) else { return }
        if reportsChanges {
            word.bitwiseOr(Self.reportingBit, ordering: .sequentiallyConsistent)
        } else {
            word.bitwiseAnd(~Self.reportingBit, ordering: .acquiringAndReleasing)
        }
    }
}
