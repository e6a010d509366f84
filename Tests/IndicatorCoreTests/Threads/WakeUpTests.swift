import TestSupport

@Suite struct WakeUpTests {
    /// Whether a thread that polls it would go on.
    private func isReadable(_ wakeUp: WakeUp) -> Bool {
        var descriptor = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 1
    }

    private func wait(for wakeUp: WakeUp) {
        var descriptor = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
        poll(&descriptor, 1, -1)
        wakeUp.clear()
    }

    @Test("A wait is ended from another thread, and from before it has begun")
    func wake() throws {
        let wakeUp = try #require(WakeUp())
        #expect(ThreadStarter.start(named: "waker") { wakeUp.wake() })
        wait(for: wakeUp)
        #expect(!isReadable(wakeUp))
        wakeUp.wake()
        wakeUp.wake()
        #expect(isReadable(wakeUp))
        wait(for: wakeUp)
        #expect(!isReadable(wakeUp), "many calls end one wait")
    }

    @Test func `No child process keeps it`() throws {
        let wakeUp = try #require(WakeUp())
        #expect(fcntl(wakeUp.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test(arguments: [(nil, -1), (-1, 0), (0.0002, 1), (86400e6, Int32.max)] as [(Double?, Int32)])
    func `A time limit is rounded up and fits`(seconds: Double?, limit: Int32) async {
        #expect(await eventually { WakeUp.milliseconds(until: seconds.map { .now + .seconds($0) }) == limit })
    }
}

/// The check that the tests of idle threads rely on.
@Suite struct WakingThreadsTests {
    @Test func `A process that waits with a time limit wakes up`() async throws {
        let daemon = try Daemon("sleep", ["1000"])
        #expect(await eventually { wakingThreads(of: daemon.processID).waking.contains { $0.hasPrefix("sleep: ") } })
    }
}
