@testable import IndicatorCore
import TestSupport

@Suite struct ServiceThreadTests {
    @Test("Calls that are always due leave jobs their turn")
    func turns() async {
        let thread = ServiceThread(name: "turns", idleTime: .zero)
        let isDone = Locked(false)
        @Sendable func again() { if !isDone.withLock(\.self) { thread.call(at: .min, again) } }
        again()
        await Task(executorPreference: thread) { isDone.withLock { $0 = true } }.value
    }

    @Test("Calls are made in the order of their times, then of their addition, and not too early; not cancelled ones")
    func many() async {
        var generator = SplitMix(state: 11)
        let thread = ServiceThread(name: "many", idleTime: .zero)
        let made = Locked<[Int]>([])
        let gate = DispatchSemaphore(value: 0)
        thread.call(at: ServiceThread.now) { gate.wait() }
        let start = ServiceThread.now
        var expected: [Int] = []
        // Two at each time, the last one after 5 ms.
        for number in Array(0..<5000).shuffled(using: &generator) {
            let call = thread.call(at: start + Int64(number / 2 * 2000)) { made.withLock { $0.append(number) } }
            if number % 10 < 2 { expected.append(number) } else { thread.cancelCall(call) }
            // Without effect.
            if number % 10 == 5 { thread.cancelCall(call) }
        }
        gate.signal()
        #expect(await eventually { made.withLock { $0.count } == expected.count })
        let ordered = expected.enumerated().sorted { ($0.element / 2, $0.offset) < ($1.element / 2, $1.offset) }
        #expect(made.withLock { $0 } == ordered.map(\.element))
        #expect(ServiceThread.now >= start + 4990 / 2 * 2000)
        #expect(await eventually { threadState(named: "many") == nil })
    }

    @Test("A task that waits on the thread continues with the first value, or when it is cancelled, on the thread")
    func waiting() async {
        let thread = ServiceThread(name: "waiting", idleTime: .zero)
        let tasks = (0..<3).map { number in
            Task.detached(executorPreference: thread) {
                if number == 2 { await thread.sleep(until: ServiceThread.now + 1000) }
                let value = await thread.wait(orCancelled: "cancelled") { finish in
                    if number > 0 { Thread.detachNewThread { for value in ["first", "second"] { finish(value) } } }
                }
                if value == "cancelled" { await thread.sleep(until: .max) }
                return value
            }
        }
        #expect(await tasks[1].value == "first")
        #expect(await tasks[2].value == "first")
        tasks[0].cancel()
        #expect(await tasks[0].value == "cancelled")
        // No call of a time limit keeps it.
        #expect(await eventually { threadState(named: "waiting") == nil })
    }

    /// Counts the turns of a pipe's reading end.
    private final class Pipe: PollSource {
        let ends: [Int32]
        let turns = Locked<[Int]>([])
        var deadline: SuspendingClock.Instant?

        init() {
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            self.ends = ends
        }

        deinit { for end in ends { close(end) } }

        func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
            ([pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)], deadline)
        }

        func turn(_ descriptors: [pollfd]) {
            deadline = nil
            var bytes = [UInt8](repeating: 0, count: 16)
            let count = descriptors[0].revents == 0 ? 0 : read(ends[0], &bytes, bytes.count)
            turns.withLock { $0.append(count) }
        }
    }

    @Test func `While a thread waits for a source, it makes calls; it ends when the source is removed`() async {
        struct Source: @unchecked Sendable { let pipe: Pipe }
        let thread = ServiceThread(name: "source", idleTime: .zero)
        let source = Source(pipe: Pipe())
        let made = Locked(0)
        func turns() -> [Int] { source.pipe.turns.withLock { $0 } }
        thread.call(at: .min) { if thread.add(source.pipe) { made.withLock { $0 += 1 } } }
        #expect(await eventually { threadState(named: "source") == "S" && made.withLock { $0 } == 1 })
        thread.call(at: ServiceThread.now + 1_000_000) { made.withLock { $0 += 1 } }
        Task(executorPreference: thread) { made.withLock { $0 += 1 } }
        #expect(await eventually { made.withLock { $0 } == 3 })
        #expect(turns().isEmpty)
        write(source.pipe.ends[1], "abc", 3)
        #expect(await eventually { turns() == [3] })
        thread.call(at: .min) { source.pipe.deadline = .now }
        #expect(await eventually { turns() == [3, 0] })
        thread.call(at: .min) { thread.remove(source.pipe) }
        #expect(await eventually { threadState(named: "source") == nil })
    }

    @Test func `A sleeping thread wakes up for an earlier call`() async {
        let thread = ServiceThread(name: "earlier", idleTime: .zero)
        let made = Locked(false)
        let late = thread.call(at: ServiceThread.now + 3600 * 1_000_000_000) {}
        #expect(await eventually { threadState(named: "earlier") == "S" })
        _ = thread.call(at: ServiceThread.now + 1_000_000) { made.withLock { $0 = true } }
        #expect(await eventually { made.withLock { $0 } })
        thread.cancelCall(late)
        // The thread notices this with the next call, and ends.
        _ = thread.call(at: ServiceThread.now) {}
        #expect(await eventually { threadState(named: "earlier") == nil })
    }

    @Test("A thread that is not kept ends when there is nothing to do, and a new one is started when there is")
    func ending() async {
        let thread = ServiceThread(name: "ending", idleTime: .zero)
        for _ in 0..<3 {
            await Task(executorPreference: thread) {}.value
            #expect(await eventually { threadState(named: "ending") == nil })
        }
        let kept = ServiceThread(name: "kept")
        await Task(executorPreference: kept) {}.value
        #expect(await eventually { threadState(named: "kept") == "S" })
        kept.close()
        #expect(await eventually { threadState(named: "kept") == nil })
    }

    @Test("Several threads share the work while some of it blocks; one waits for more, and ends when it is idle")
    func pool() async {
        let pool = ServiceThread(name: "pool", idleTime: .seconds(600), limit: 3)
        let begun = Locked(0)
        let gate = DispatchSemaphore(value: 0)
        for round in 1...20 {
            // In later rounds, one thread waits at first.
            for number in 0..<5 {
                let block: @Sendable () -> Void = {
                    begun.withLock { $0 += 1 }
                    gate.wait()
                }
                if number < 2 {
                    pool.call(at: .min, block)
                } else {
                    Task(executorPreference: pool) { block() }
                }
            }
            #expect(await eventually { begun.withLock { $0 } == 5 * round - 2 })
            #expect(await eventually { threadStates(named: "pool").count == 3 })
            for _ in 0..<5 { gate.signal() }
            #expect(await eventually { begun.withLock { $0 } == 5 * round })
            #expect(await eventually { threadStates(named: "pool") == ["S"] })
        }
        pool.close()
        #expect(await eventually { threadStates(named: "pool").isEmpty })

        let brief = ServiceThread(name: "brief", idleTime: .milliseconds(1), limit: 3)
        await Task(executorPreference: brief) {}.value
        #expect(await eventually { threadStates(named: "brief").isEmpty })
    }

    @Test func `The captures of a call are released when it is cancelled and when it was made`() async {
        final class Token: Sendable {}
        let thread = ServiceThread(name: "releases")
        weak var first: Token?
        weak var second: Token?
        do {
            let (one, other) = (Token(), Token())
            (first, second) = (one, other)
            let call = thread.call(at: ServiceThread.now + 3600 * 1_000_000_000) { withExtendedLifetime(one) {} }
            _ = thread.call(at: ServiceThread.now) { withExtendedLifetime(other) {} }
            #expect(first != nil)
            thread.cancelCall(call)
        }
        #expect(first == nil)
        #expect(await eventually { second == nil })
        thread.close()
    }

    /// A job that adds another one, or two jobs at once, started a thread each time.
    @Test func `Brief work starts no further threads`() async {
        let pool = ServiceThread(name: "few", limit: 100)
        let threads = Locked<Set<String>>([])
        let work: @Sendable () -> Void = {
            let thread = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            threads.withLock { _ = $0.insert(thread ?? "") }
        }
        for _ in 0..<500 {
            await Task(executorPreference: pool) {
                work()
                for _ in 0..<3 { pool.call(at: .min, work) }
            }.value
        }
        // A few, since one that does not run for a while counts as blocked.
        #expect(threads.withLock { $0.count } < 250)
        pool.close()
    }

    @Test func `Many objects are checked on another thread: the timers of other indicators do not wait`() async {
        final class Object: Sendable {}
        let objects = (0..<20_000).map { _ in Object() }
        let indicator = IndicatorManager()
        indicator.lifetimeCheckInterval = .milliseconds(1)
        for object in objects { indicator.track(object) }
        #expect(await eventually { threadState(named: "ind-own") != nil })
        await indicator.shutdown()
        withExtendedLifetime(objects) {}
    }

    private func threadState(named name: String) -> String? { threadStates(named: name).first }

    /// The states of the process's threads with this name: `S` while one waits. Linux may omit some while others end.
    private func threadStates(named name: String) -> [String] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.compactMap { thread in
            let status = (try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)) ?? ""
            let lines = status.split(separator: "\n").map { $0.split(separator: "\t") }
            guard lines.first?.last.map(String.init) == name else { return nil }
            return lines.first { $0.first == "State:" }?.dropFirst().first.map { String($0.prefix(1)) }
        }
    }
}
