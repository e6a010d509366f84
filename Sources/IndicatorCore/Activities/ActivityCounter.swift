public import Synchronization

/// Counts the activities in progress without a lock, and decides which changes of the count must be reported to the
/// state machine.
///
/// Three atomic values make it up:
///
/// - ``word``: twice the number of activities in progress, plus one while somebody *watches*, that is, wants to hear of
///   the next change.
/// - ``phase``: what the state machine decided last. Only the owner of the manager's lock stores it.
/// - ``lastEnd``: when work last ended, while the completion delay runs.
///
/// ## Which changes are reported
///
/// A change is reported if the word was watched, or if it is an edge that the phase asks for: a first beginning while
/// the indicator is ``Phase/inactive``, a last end while it is ``Phase/active``. In the other phases a delay runs or
/// the indicator is disabled, and the machine decides by what is the case when that is over (rule 10 of the design).
///
/// ## Why no edge is lost
///
/// *The thread that changes the count then reads the phase. The thread that changes the phase then reads the count.*
/// All of these operations are sequentially consistent, so for any two such threads at least one sees what the other
/// wrote. If a thread misses the new phase, its change of the count precedes the machine's reading, and the machine acts
/// on it. If the machine misses the change, the thread reads the new phase, and reports if that phase asks for it. A
/// report carries no content: the machine reads the count under the lock and compares it with what it knows. So a
/// report that comes late or twice changes nothing.
///
/// Watching needs no second value: the operation that changes the count returns the bit.
///
/// ## Why the indicator is never hidden too early
///
/// While the completion delay runs, its end is ``lastEnd`` plus the delay. The thread that ends the last activity stores
/// the time *before* it changes the count. A machine that sees no activity in progress therefore also sees a time that is
/// not earlier than the call that ended the last one. The time only grows (an atomic maximum), so a thread that was held
/// up between reading the clock and storing does not set it back.
///
/// A thread may also read an earlier phase and end its activity without storing a time, just when the delay begins. The
/// machine therefore stores ``Phase/delayingCompletion`` before it reads the clock that the delay counts from: such a
/// thread made its call before that time.
///
/// `Tests/Models/ActivityCounter.pml` states this protocol for the model checker `spin`.
@usableFromInline
package final class ActivityCounter: Sendable {
    /// What the state machine decided last, as far as changes of the count are concerned.
    package enum Phase: UInt8, Sendable {
        /// Hidden, enabled, and no delay runs: a first beginning is reported.
        case inactive
        /// Disabled: nothing is reported.
        case disabled
        /// The start delay runs: nothing is reported.
        case delayingStart
        /// Shown, and no delay runs: a last end is reported.
        case active
        /// The completion delay runs, or work has begun again since it began: nothing is reported, last ends are timed.
        case delayingCompletion

        package var isVisible: Bool { self == .active || self == .delayingCompletion }
    }

    @usableFromInline static var unit: UInt64 { 2 }
    @usableFromInline static var watchedBit: UInt64 { 1 }
    @usableFromInline static var delayingCompletion: UInt8 { Phase.delayingCompletion.rawValue }

    // The phase, which every end reads, is in another cache line than the word, which every end writes.
    @usableFromInline let word = Atomic<UInt64>(0)
    private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    @usableFromInline let phaseBits: Atomic<UInt8>
    private let lastEnd = Atomic<Int64>(.min)
    private let time: TimeSource

    /// Makes a counter of nothing.
    ///
    /// - Parameters:
    ///   - phase: the phase to begin with.
    ///   - time: the clock of ``takeTimeOfLastEnd()``.
    package init(phase: Phase, time: TimeSource) {
        phaseBits = Atomic(phase.rawValue)
        self.time = time
    }

    // MARK: - For the threads that begin and end activities

    /// Counts one more activity. Returns whether the change must be reported.
    @inlinable
    package func begin() -> Bool {
        let old = word.wrappingAdd(Self.unit, ordering: .sequentiallyConsistent).oldValue
        guard old < Self.unit || old & Self.watchedBit != 0 else { return false }
        return mustReport(beginningAfter: old)
    }

    /// Counts one activity less. Returns whether the change must be reported.
    @inlinable
    package func end() -> Bool {
        if phaseBits.load(ordering: .sequentiallyConsistent) == Self.delayingCompletion { return endAndNoteTime() }
        let old = word.wrappingSubtract(Self.unit, ordering: .sequentiallyConsistent).oldValue
        guard old < 2 * Self.unit || old & Self.watchedBit != 0 else { return false }
        return mustReport(endAfter: old)
    }

    /// Counts one activity less; if it is the last one, stores the time first.
    @usableFromInline
    func endAndNoteTime() -> Bool {
        var old = word.load(ordering: .relaxed)
        while true {
            if old < 2 * Self.unit { lastEnd.max(time.nanoseconds, ordering: .sequentiallyConsistent) }
            let (exchanged, original) = word.weakCompareExchange(
                expected: old,
                desired: old - Self.unit,
                successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed
            )
            if exchanged { return mustReport(endAfter: old) }
            old = original
        }
    }

    @usableFromInline
    func mustReport(beginningAfter old: UInt64) -> Bool {
        old & Self.watchedBit != 0 || phase == .inactive
    }

    @usableFromInline
    func mustReport(endAfter old: UInt64) -> Bool {
        old & Self.watchedBit != 0 || (old < 2 * Self.unit && phase == .active)
    }

    // MARK: - For everybody

    /// How many activities are in progress.
    package var count: Int { Int(word.load(ordering: .sequentiallyConsistent) / Self.unit) }

    /// Whether any activity is in progress.
    package var isBusy: Bool { word.load(ordering: .sequentiallyConsistent) >= Self.unit }

    /// What the state machine decided last.
    package var phase: Phase {
        guard let phase = Phase(rawValue: phaseBits.load(ordering: .sequentiallyConsistent)) else {
            preconditionFailure("a phase that was never stored")
        }
        return phase
    }

    /// The state of the indicator by the phase and the count.
    package var state: IndicatorState {
        switch phase {
        case .inactive, .disabled: .inactive
        case .delayingStart: .delayingStart
        case .active, .delayingCompletion: isBusy ? .active : .delayingCompletion
        }
    }

    // MARK: - For the owner of the manager's lock

    /// Stores a new phase. The caller then reads the count.
    package func setPhase(_ phase: Phase) {
        phaseBits.store(phase.rawValue, ordering: .sequentiallyConsistent)
    }

    /// When work last ended while the phase was ``Phase/delayingCompletion``, if it did since the last call. Read
    /// ``isBusy`` first.
    package func takeTimeOfLastEnd() -> Duration? {
        let nanoseconds = lastEnd.exchange(.min, ordering: .sequentiallyConsistent)
        return nanoseconds == .min ? nil : .nanoseconds(nanoseconds)
    }

    /// Asks for a report of the next change, or takes that back.
    package func setWatched(_ isWatched: Bool) {
        guard isWatched != (word.load(ordering: .relaxed) & Self.watchedBit != 0) else { return }
        if isWatched {
            word.bitwiseOr(Self.watchedBit, ordering: .sequentiallyConsistent)
        } else {
            word.bitwiseAnd(~Self.watchedBit, ordering: .sequentiallyConsistent)
        }
    }
}
