import TestSupport
import Testing

/// The check that the tests of idle threads rely on.
@Suite struct WakingThreadsTests {
    @Test func aProcessThatWaitsWithATimeLimitWakesUp() async throws {
        let daemon = try Daemon("sleep", ["1000"])
        #expect(await eventually { wakingThreads(of: daemon.processID).waking.contains { $0.hasPrefix("sleep: ") } })
    }

    @Test func aProcessThatWaitsForInputDoesNotWakeUp() async throws {
        let daemon = try Daemon("cat")
        #expect(
            await eventually {
                let (waking, names) = wakingThreads(of: daemon.processID)
                return names == ["cat"] && waking.isEmpty
            }
        )
    }
}
