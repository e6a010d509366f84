@testable import IndicatorCore
import TestSupport

/// Both sides of each interleaving of a thread that changes the count and the owner of the lock that changes the phase.
///
/// `Tests/Models/ActivityCounter.pml` checks all interleavings of the same protocol.
@Suite struct ActivityCounterTests {
    /// The phase, `none` if it is disabled, and what happens then: `!` follows what is reported to the machine, an end
    /// that needs its lock, and a new phase that finds activities. `@N`: N milliseconds pass.
    @Test(arguments: [
        // Only the edges that a phase needs are reported.
        "inactive begin! begin count=2 end end count=0", "none begin begin count=2 end end count=0",
        "delayingStart begin begin count=2 end end count=0", "active begin begin end end! count=1 remove count=0",
        "delayingCompletion begin begin count=2 end end count=0",
        // Every change is, while that is requested.
        "active report begin! begin! end! count=2 silent begin count=3 end count=2",
        // A beginning before the new phase is seen, and one after it is reported.
        "delayingStart begin inactive!", "delayingStart inactive begin!",
        // An end before the new phase is seen, and one after it needs the lock.
        "delayingStart begin end active", "delayingStart begin active! end! count=1",
        // The time of the last end is stored only in the completion delay, and taken once.
        """
        active begin remove last=none delayingCompletion @50 begin begin end last=none @50 end last=100 last=none
        """,
    ])
    func `What the machine must know is reported`(script: String) {
        let phases: [Substring: IndicatorState] = [
            "inactive": .inactive, "delayingStart": .delayingStart, "active": .active,
            "delayingCompletion": .delayingCompletion,
        ]
        let clock = VirtualClock()
        let words = script.split(separator: " ")
        let counter = ActivityCounter(phase: phases[words[0]], time: .reading(clock))
        for word in words.dropFirst() {
            let (name, isTold) = (word.prefix { $0 != "!" }, word.last == "!")
            switch name {
            case "begin": #expect(counter.begin() == isTold, "\(script): \(word)")
            case "end": #expect(counter.end() != isTold, "\(script): \(word)")
            case "remove": _ = counter.remove()
            case "report", "silent": counter.setReportsChanges(name == "report")
            case _ where name.first == "@": clock.advance(by: .milliseconds(Int(name.dropFirst()) ?? 0))
            case _ where name.hasPrefix("last"):
                let last = counter.takeTimeOfLastEnd().map { "\(Int($0 / .milliseconds(1)))" } ?? "none"
                #expect("last=\(last)" == name, "\(script)")
            case _ where name.hasPrefix("count"): #expect("count=\(counter.count)" == name, "\(script)")
            default:
                #expect(phases[name] != nil)
                #expect(counter.setPhase(phases[name]) == isTold, "\(script): \(word)")
            }
        }
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
