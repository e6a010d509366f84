package import IndicatorThreads
public import Synchronization

/// Counts the activities in progress without a lock, and decides which changes of the count concern the state machine.
///
/// One atomic ``word`` holds all that a change depends on: the number of activities in progress, the phase, which is
/// what the state machine decided last, and whether somebody *watches*, that is, wants to hear of every change.
///
/// ## Which changes concern the state machine
///
/// All changes while the word is watched; a first beginning in the phase ``Phase/inactive``; a last end in the phase
/// ``Phase/active``. In the other phases a delay runs or the indicator is disabled, and the machine decides by what is
/// the case when that is over (rule 10 of the design).
///
/// ## Why no edge is lost
///
/// The phase and the count change in the same word, so each change of one meets exactly one value of the other. The
/// thread that begins a first activity learns which phase it met, and reports if that phase asks for it. The owner of
/// the lock learns which count a new phase met, and acts on it. A report carries no content: the machine reads the
/// count and compares it with what it knows, so a report that comes late or twice changes nothing.
///
/// An end that concerns the machine takes place with the lock held. It is not counted before, and so the count itself
/// keeps the engine alive until then: an activity needs no reference to it. After an end that does not concern the
/// machine, nothing of the engine is touched any more.
///
/// ## Why the indicator is never hidden too early
///
/// While the completion delay runs, its end is ``lastEnd`` plus the delay. The thread that ends the last activity
/// stores the time *before* it changes the count. A machine that sees no activity in progress therefore also sees a
/// time that is not earlier than the call that ended the last one. The time only grows (an atomic maximum), so a thread
/// that was held up between reading the clock and storing does not set it back.
///
/// `Tests/Models/ActivityCounter.pml` states this protocol for the model checker `spin`.
@usableFromInline
package final class ActivityCounter: Sendable {
    /// What the state machine decided last, as far as changes of the count are concerned.
    package enum Phase: UInt64, Sendable {
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

    /// One activity in ``word``: the count is in the bits from here on, the phase in the three bits below.
    @usableFromInline static var unit: UInt64 { 16 }
    private static var phaseUnit: UInt64 { 2 }
    @usableFromInline static var watchedBit: UInt64 { 1 }

    @usableFromInline let word: Atomic<UInt64>
    private let lastEnd = Atomic<Int64>(.min)
    /// How many of the activities are members of groups, which are one to the user. Stored with the manager's lock
    /// held.
    private let memberCount = Atomic<Int>(0)
    private let time: TimeSource

    /// Makes a counter of nothing.
    ///
    /// - Parameters:
    ///   - phase: the phase to begin with.
    ///   - time: the clock of ``takeTimeOfLastEnd()``.
    package init(phase: Phase, time: TimeSource) {
        word = Atomic(phase.rawValue * Self.phaseUnit)
        self.time = time
    }

    private static func phase(of word: UInt64) -> Phase {
        guard let phase = Phase(rawValue: word % unit / phaseUnit) else {
            preconditionFailure("a phase that was never stored")
        }
        return phase
    }

    // MARK: - For the threads that begin and end activities

    /// Counts one more activity. Returns whether the change must be reported.
    @inlinable
    package func begin() -> Bool {
        let old = word.wrappingAdd(Self.unit, ordering: .acquiringAndReleasing).oldValue
        guard old < Self.unit || old & Self.watchedBit != 0 else { return false }
        return mustReport(beginningAfter: old)
    }

    @usableFromInline
    func mustReport(beginningAfter old: UInt64) -> Bool {
        old & Self.watchedBit != 0 || Self.phase(of: old) == .inactive
    }

    /// Counts one activity less, unless that concerns the state machine.
    ///
    /// - Returns: whether it did. If not, the activity must be ended with the lock held, by ``remove()``.
    @inlinable
    package func end() -> Bool {
        var old = word.load(ordering: .relaxed)
        while old >= 2 * Self.unit, old & Self.watchedBit == 0 {
            let (exchanged, original) = word.weakCompareExchange(
                expected: old,
                desired: old - Self.unit,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return true }
            old = original
        }
        return endLast()
    }

    /// Counts one activity less, also the last one, unless that concerns the state machine.
    @usableFromInline
    func endLast() -> Bool {
        subtract { old in
            old & Self.watchedBit == 0 && (old >= 2 * Self.unit || Self.phase(of: old) != .active)
        }
    }

    /// Counts one less, as long as the word meets a condition. If it is the last one while the completion delay runs,
    /// stores the time first.
    private func subtract(while condition: (UInt64) -> Bool) -> Bool {
        var old = word.load(ordering: .relaxed)
        while condition(old) {
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

    // MARK: - For everybody

    /// How many activities are in progress.
    package var count: Int { Int(word.load(ordering: .acquiring) / Self.unit) }

    /// How many activities are in progress, of which a group and its members are one.
    ///
    /// The two numbers are not read at the same moment. Each group has members only while it is counted itself, so the
    /// result is at least 1 while any activity is in progress.
    var publicCount: Int {
        let count = count
        return max(min(count, 1), count - memberCount.load(ordering: .relaxed))
    }

    /// Whether any activity is in progress.
    package var isBusy: Bool { word.load(ordering: .acquiring) >= Self.unit }

    /// Whether somebody wants to hear of every change.
    ///
    /// For who has changed something else and asks afterwards: both operations and ``setWatched(_:)`` are sequentially
    /// consistent. So either the change is in what is read after the watch was set, or the answer is `true`.
    var isWatched: Bool { word.load(ordering: .sequentiallyConsistent) & Self.watchedBit != 0 }

    /// What the state machine decided last.
    package var phase: Phase { Self.phase(of: word.load(ordering: .acquiring)) }

    /// The state of the indicator by the phase and the count.
    package var state: IndicatorState { stateAndCount.state }

    /// The state of the indicator, and how many activities are in progress.
    @inline(__always)
    var stateAndCount: (state: IndicatorState, count: Int) {
        let word = word.load(ordering: .acquiring)
        let count = Int(word / Self.unit)
        let state: IndicatorState =
            switch Self.phase(of: word) {
            case .inactive, .disabled: .inactive
            case .delayingStart: .delayingStart
            case .active, .delayingCompletion: count > 0 ? .active : .delayingCompletion
            }
        return (state, count)
    }

    // MARK: - For the owner of the manager's lock

    /// Stores how many of the activities are members of groups.
    func setMemberCount(_ count: Int) {
        memberCount.store(count, ordering: .relaxed)
    }

    /// Counts one activity less, in any case. Returns whether that concerns the state machine.
    package func remove() -> Bool {
        if end() { return false }
        return subtract { _ in true }
    }

    /// Sets the phase. Returns whether any activity was in progress at that moment.
    @discardableResult
    package func setPhase(_ phase: Phase) -> Bool {
        // Nobody else changes these bits.
        let old = word.load(ordering: .acquiring)
        let difference = (Self.phase(of: old).rawValue ^ phase.rawValue) * Self.phaseUnit
        if difference == 0 { return old >= Self.unit }
        return word.bitwiseXor(difference, ordering: .acquiringAndReleasing).newValue >= Self.unit
    }

    /// When work last ended while the phase was ``Phase/delayingCompletion``, if it did since the last call. Read
    /// ``isBusy`` first.
    package func takeTimeOfLastEnd() -> Duration? {
        let nanoseconds = lastEnd.exchange(.min, ordering: .acquiringAndReleasing)
        return nanoseconds == .min ? nil : .nanoseconds(nanoseconds)
    }

    /// Asks for a report of every change, or takes that back.
    package func setWatched(_ isWatched: Bool) {
        guard isWatched != (word.load(ordering: .relaxed) & Self.watchedBit != 0) else { return }
        if isWatched {
            word.bitwiseOr(Self.watchedBit, ordering: .sequentiallyConsistent)
        } else {
            word.bitwiseAnd(~Self.watchedBit, ordering: .acquiringAndReleasing)
        }
    }
}
