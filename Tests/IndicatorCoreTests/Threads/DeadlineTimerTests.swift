import TestSupport

@Suite struct DeadlineTimerTests {
    @Test func `A call is cancelled if the timer was set again while it was being scheduled`() {
        let timer = Locked<DeadlineTimer?>(nil)
        let cancelled = Locked<[Duration]>([])
        let time = TimeSource(read: { 0 }) { deadline, _ in
            // As another thread.
            if deadline == .seconds(1) { timer.withLock(\.self)?.set({ .seconds(2) }) { _ in } }
            return { cancelled.withLock { $0.append(deadline) } }
        }
        timer.withLock { $0 = DeadlineTimer(time: time) }
        timer.withLock(\.self)?.set({ .seconds(1) }) { _ in }
        #expect(cancelled.withLock(\.self) == [.seconds(1)])
    }
}
