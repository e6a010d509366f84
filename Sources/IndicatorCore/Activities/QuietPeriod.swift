import Synchronization

/// A time until which nobody needs to hear that work begins or ends.
///
/// While the start delay runs, or the indicator is disabled, it does not matter how often work begins and ends: what counts is
/// whether any is going on in the end. While the completion delay runs it matters besides when work ended last, which is noted here.
/// So the edges between busy and idle take no lock until the deadline, and thousands of them a second cost nothing.
/// Whoever holds the manager's lock begins such a period and ends it; ``VisibilityStateMachine/catchUp(isBusy:idleSince:)`` says
/// what to make of it then.
struct QuietPeriod: ~Copyable, Sendable {
    /// What ends of work are noted for.
    enum Kind: Sendable {
        /// Only whether work is going on when the period ends.
        case level
        /// Also when it ended last.
        case levelAndTime
    }

    /// Twice the nanosecond at which the period ends, plus one when ends of work are noted; `none` when there is no period.
    private let encodedEnd = Atomic<Int64>(none)
    /// When work ended last: 48 bits of nanoseconds, and the 16 lowest bits of the order of the next activity, which tell for
    /// which stretch without work it holds.
    private let note = Atomic<UInt64>(0)

    private static var none: Int64 { .min }
    private static var endless: Int64 { TimeSource.distantFuture << 1 }
    private static var timeBits: UInt64 { 48 }
    private static var timeMask: UInt64 { (1 << timeBits) - 1 }

    /// The longest period in which ends of work are noted: 2⁴⁷ nanoseconds, 39 hours.
    static var longest: Int64 { 1 << 47 }

    init() {}

    /// Whether there is a period. Called with the manager's lock held.
    var isRunning: Bool { encodedEnd.load(ordering: .relaxed) != Self.none }

    /// Whether a beginning of work need not be reported.
    func covers(beginningAt time: TimeSource) -> Bool {
        let end = encodedEnd.load(ordering: .sequentiallyConsistent)
        return end != Self.none && isBefore(end, time)
    }

    /// Whether an end of work need not be reported; notes it if so.
    ///
    /// - Parameters:
    ///   - word: the count after the end.
    ///   - time: the clock.
    func covers(end word: ActivityWord.Value, at time: TimeSource) -> Bool {
        let end = encodedEnd.load(ordering: .sequentiallyConsistent)
        guard end != Self.none else { return false }
        guard end & 1 == 1 else { return isBefore(end, time) }
        let now = time.nanoseconds
        guard now < end >> 1 else { return false }
        note.store(word.order << Self.timeBits | UInt64(bitPattern: now) & Self.timeMask, ordering: .releasing)
        return true
    }

    private func isBefore(_ end: Int64, _ time: TimeSource) -> Bool {
        end == Self.endless || time.isBefore(end >> 1)
    }

    /// Begins a period, or moves its end. Called with the manager's lock held.
    func begin(until end: Int64, _ kind: Kind) {
        let encoded = end << 1 | (kind == .levelAndTime ? 1 : 0)
        guard encodedEnd.load(ordering: .relaxed) != encoded else { return }
        encodedEnd.store(encoded, ordering: .sequentiallyConsistent)
    }

    /// Ends the period: from now on edges are reported. Called with the manager's lock held.
    func end() {
        encodedEnd.store(Self.none, ordering: .sequentiallyConsistent)
    }

    /// When work ended that has not begun again since; `nil` if that was not noted.
    ///
    /// - Parameters:
    ///   - word: the count, which is zero.
    ///   - now: the time in nanoseconds.
    func idleSince(_ word: ActivityWord.Value, now: Int64) -> Int64? {
        let note = note.load(ordering: .acquiring)
        guard note >> Self.timeBits == word.order & (1 << (64 - Self.timeBits) - 1) else { return nil }
        let age = Int64((UInt64(bitPattern: now) &- note) & Self.timeMask)
        // Noted after `now` was read: just now.
        return age > Self.longest ? now : now - age
    }
}
