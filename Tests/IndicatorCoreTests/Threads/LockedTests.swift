import Synchronization
import TestSupport

@Suite struct LockedTests {
    /// More threads than processors: threads that hold the lock, or wait for it, lose their processor.
    private static let threadCount = 4 * ProcessInfo.processInfo.activeProcessorCount

    /// Runs a function on many threads at the same time.
    private static func race(_ body: @escaping @Sendable () -> Void) async {
        final class Ready: Sendable { let count = Atomic(0) }
        let ready = Ready()
        let threads = (0..<threadCount).map { _ in
            JoinableThread {
                ready.count.wrappingAdd(1, ordering: .relaxed)
                while ready.count.load(ordering: .relaxed) < threadCount { sched_yield() }
                body()
            }
        }
        for thread in threads { await thread.join() }
    }

    @Test func `A lock is awaited from the time at which a thread sleeps until that thread has had it`() async {
        final class Box: Sendable {
            let value = Locked(0)
            var isAwaited: Bool { value.isAwaited }
        }
        let box = Box()
        box.value.withLock { $0 = 1 }
        #expect(!box.isAwaited)
        let (isLocked, mayUnlock) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let holder = JoinableThread {
            box.value.withLock { _ in
                isLocked.signal()
                mayUnlock.wait()
            }
        }
        let waiting = JoinableThread {
            isLocked.wait()
            box.value.withLock { $0 = 2 }
        }
        #expect(await eventually { box.isAwaited })
        mayUnlock.signal()
        await holder.join()
        await waiting.join()
        #expect(!box.isAwaited && box.value.withLock { $0 } == 2)
    }

    /// A lock that is released is not handed to a sleeping thread: it would cost a switch of threads each time.
    @Test func `With more threads than processors, no change is lost, and few threads wait`() async {
        let rounds = 5_000
        let value = Locked((count: 0, sum: 0))
        let switches = Locked(0)
        await Self.race {
            let before = Self.voluntarySwitches
            for round in 0..<rounds {
                value.withLock { value in
                    let next = value.count + 1
                    // Others get the processor, wait for the lock, and sleep.
                    if round % 50 == 0 { sched_yield() }
                    value.count = next
                    value.sum += next
                }
            }
            let after = Self.voluntarySwitches
            switches.withLock { $0 += after - before }
        }
        let total = Self.threadCount * rounds
        #expect(value.withLock { $0 } == (total, total * (total + 1) / 2))
        #if !THREAD_SANITIZER  // It has locks of its own.
        // The standard library's `Mutex` causes one switch each time.
        #expect(switches.withLock { $0 } < total / 4)
        #endif
    }

    /// How often the calling thread has waited.
    private static var voluntarySwitches: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(1), &usage)  // RUSAGE_THREAD
        return usage.ru_nvcsw
    }

    @Test func `A thrown error releases the lock, and the value keeps what was changed before`() {
        struct Failure: Error {}
        let value = Locked(0)
        #expect(throws: Failure.self) {
            try value.withLock { value throws(Failure) in
                value = 1
                throw Failure()
            }
        }
        #expect(value.withLock { $0 } == 1)
    }

    @Test("The value is released with the lock")
    func release() {
        final class Token: Sendable {}
        weak var weakToken: Token?
        do {
            let token = Token()
            weakToken = token
            let value = Locked(token)
            #expect(value.withLock { $0 === token })
        }
        #expect(weakToken == nil)
    }
}
