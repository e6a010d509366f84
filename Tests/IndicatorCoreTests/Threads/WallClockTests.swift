@testable import IndicatorCore
import Synchronization
import TestSupport

@Suite struct WallClockTests {
    /// Clocks that the test sets.
    private final class Clocks: Sendable {
        let date = Locked(Date(timeIntervalSince1970: 1_000_000))
        let virtual = VirtualClock()

        var wallClock: WallClock {
            WallClock(at: .zero, date: { self.date.withLock { $0 } })
        }

        func advance(by seconds: Double) {
            virtual.advance(by: .seconds(seconds))
            set(by: seconds)
        }

        func set(by seconds: Double) { date.withLock { $0 += seconds } }
    }

    /// They stayed wrong until the indicator was shown or hidden again.
    @Test(arguments: [3600.0, -3600.0]) func `All dates follow a step of the wall clock`(step: Double) {
        let clocks = Clocks()
        let time = TimeSource.reading(clocks.virtual)
        let counter = ActivityCounter(phase: .inactive, time: time)
        var machine = IndicatorStateMachine(
            delays: .standard,
            isEnabled: true,
            counter: counter,
            now: .zero,
            wallClock: clocks.wallClock
        )
        machine.setAudience(.always)
        clocks.advance(by: 10)
        _ = machine.start(.text("id"), label: "label", progress: nil, in: nil) { time.now }
        clocks.advance(by: 1)
        _ = machine.advance(to: time.now)
        let before = machine.snapshot { time.now }
        #expect(before.since == Date(timeIntervalSince1970: 1_000_011))
        clocks.advance(by: 20)
        clocks.set(by: step)
        // With the next snapshot that is published.
        _ = machine.countChanged { time.now }
        let after = machine.snapshot { time.now }
        #expect(after.since == before.since + step)
        #expect(after.labelSince == before.labelSince + step)
        #expect(after.activities.first?.since == Date(timeIntervalSince1970: 1_000_010 + step))
    }

    /// A thread that had to wait between the two readings moved all dates, which then went back.
    @Test func `Readings that do not belong together change nothing`() {
        let clocks = Clocks()
        var wallClock = clocks.wallClock
        let reads = Atomic(0)
        // Each reading of the time takes 120 ms, as on a busy machine.
        func slow() -> Duration {
            Duration.milliseconds(120 * reads.wrappingAdd(1, ordering: .relaxed).newValue)
        }
        clocks.set(by: 1)
        #expect(wallClock.follow(slow) == 0)
        #expect(wallClock.origin == Date(timeIntervalSince1970: 1_000_000))
        clocks.set(by: 5)
        #expect(wallClock.follow { .seconds(1) } == 5)
        #expect(wallClock.follow { .seconds(1) } == 0)
    }
}
