import IndicatorTesting
@testable import IndicatorCore
import TestSupport
import Testing

/// Both sides of each interleaving of a thread that changes the count and the owner of the lock that changes the phase.
///
/// `Tests/Models/ActivityCounter.pml` checks all interleavings of the same protocol.
@Suite struct ActivityCounterTests {
    private let clock = VirtualClock()

    private func counter(_ phase: IndicatorState?) -> ActivityCounter {
        ActivityCounter(phase: phase, time: .reading(clock))
    }

    @Test(arguments: [
        (IndicatorState?.some(.inactive), true, false), (nil, false, false), (.delayingStart, false, false),
        (.active, false, true), (.delayingCompletion, false, false),
    ])
    func `Only the edges that a phase needs are reported to the state machine`(
        phase: IndicatorState?,
        reportsBeginning: Bool,
        needsLockToEnd: Bool
    ) {
        let counter = counter(phase)
        #expect(counter.begin() == reportsBeginning)
        #expect(!counter.begin())
        #expect(counter.count == 2)
        #expect(counter.end())
        #expect(counter.end() == !needsLockToEnd)
        #expect(counter.isBusy == needsLockToEnd)
        if needsLockToEnd { _ = counter.remove() }
        #expect(counter.count == 0)
        #expect(counter.phase == phase)
    }

    @Test func `Every change is reported while that is requested`() {
        let counter = counter(.active)
        counter.setReportsChanges(true)
        #expect(counter.begin())
        #expect(counter.begin())
        #expect(!counter.end())
        #expect(counter.count == 2)
        counter.setReportsChanges(false)
        #expect(!counter.begin())
        #expect(counter.count == 3)
        #expect(counter.end())
    }

    @Test func `A beginning before the new phase is seen and one after it is reported`() {
        let before = counter(.delayingStart)
        #expect(!before.begin())
        #expect(before.setPhase(.inactive))

        let after = counter(.delayingStart)
        #expect(!after.setPhase(.inactive))
        #expect(after.begin())
    }

    @Test func `An end before the new phase is seen and one after it needs the lock`() {
        let before = counter(.delayingStart)
        _ = before.begin()
        #expect(before.end())
        #expect(!before.setPhase(.active))

        let after = counter(.delayingStart)
        _ = after.begin()
        #expect(after.setPhase(.active))
        #expect(!after.end())
        #expect(after.isBusy)
    }

    @Test func `The time of the last end is stored only in the completion delay`() {
        let counter = counter(.active)
        _ = counter.begin()
        _ = counter.remove()
        #expect(counter.takeTimeOfLastEnd() == nil)
        counter.setPhase(.delayingCompletion)
        clock.advance(by: .milliseconds(50))
        _ = counter.begin()
        _ = counter.begin()
        _ = counter.end()
        #expect(counter.takeTimeOfLastEnd() == nil)
        clock.advance(by: .milliseconds(50))
        #expect(counter.end())
        #expect(counter.takeTimeOfLastEnd() == .milliseconds(100))
        #expect(counter.takeTimeOfLastEnd() == nil)
    }

    /// Another thread runs just when an ending thread reads the time, before it changes the count.
    @Test func `The time is stored before the count changes`() {
        let clock = ReentrantClock()
        let counter = ActivityCounter(phase: .delayingCompletion, time: .reading(clock))
        _ = counter.begin()
        clock.onRead { #expect(counter.isBusy) }
        _ = counter.end()
        #expect(!counter.isBusy)
        #expect(clock.readCount > 1)
    }

    /// An activity that begins between the reading of the clock and the change of the count is not lost, and the time
    /// is read again.
    @Test func `A beginning while the time is read is counted`() {
        let clock = ReentrantClock()
        let counter = ActivityCounter(phase: .delayingCompletion, time: .reading(clock))
        _ = counter.begin()
        clock.onRead { _ = counter.begin() }
        #expect(counter.end())
        #expect(counter.count == 1)
    }

    /// The phase changes between the reading of the clock and the change of the count: the end needs the lock.
    @Test func `An end that the timer overtakes needs the lock`() {
        let clock = ReentrantClock()
        let counter = ActivityCounter(phase: .delayingCompletion, time: .reading(clock))
        _ = counter.begin()
        clock.onRead { counter.setPhase(.active) }
        #expect(!counter.end())
        #expect(counter.isBusy)
    }
}

/// A clock that performs an action once, when it is read.
private final class ReentrantClock: Clock {
    private let state = Locked<(action: (@Sendable () -> Void)?, reads: Int)>((nil, 0))

    func onRead(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

    var readCount: Int { state.withLock { $0.reads } }

    var now: VirtualClock.Instant {
        let (action, reads) = state.withLock { state in
            state.reads += 1
            defer { state.action = nil }
            return (state.action, state.reads)
        }
        action?()
        return VirtualClock.Instant(offset: .nanoseconds(reads))
    }

    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {
        throw CancellationError()
    }
}
