import CIndicatorLinux
package import Foundation

/// A connection for which a ``ServiceThread`` waits in poll(2). Only used on that thread.
package protocol PollSource: AnyObject {
    /// The descriptors to wait for, and when to call ``turn(_:)`` in any case, on the clock on which poll(2) waits.
    /// Called before each wait.
    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?)

    /// Reads, writes, and does what is due. Must not block.
    ///
    /// - Parameter descriptors: those of ``interest()``, with the results of poll(2).
    func turn(_ descriptors: [pollfd])
}

/// A dedicated thread of the indicator: an executor for tasks, and a timer for calls.
///
/// Each backend has one, because a backend may block, even forever, and must not block the cooperative thread pool or
/// the app's threads. ``shared`` serves all timers of the process.
///
/// The cooperative thread pool and `Task.sleep` use libdispatch, which ends the process when it cannot open a
/// descriptor: for epoll(7) and eventfd(2) at first use, for timerfd_create(2) at the first timer, and once a second to
/// inspect its threads in `/proc` while work is queued. So the indicator uses neither.
///
/// The thread waits on a condition variable, or in poll(2) while it has sources: an idle one causes no wake-ups, and
/// without sources it has no descriptor. It is started when there is work. All signals are blocked on it
/// (``ThreadStarter``).
package final class ServiceThread: TaskExecutor, @unchecked Sendable {
    // `@unchecked`: `mutex` protects all variables, except `sources`, which only the thread uses. It is of POSIX, since
    // `Locked` has no condition variable.

    /// Serves the timers of the process, and short jobs of the indicator.
    package static let shared = ServiceThread(name: "indicator")

    /// Runs code of the app that may block for ever: labels of values, sinks, the `deinit` of a value, an executor on
    /// which a task is resumed. If 16 pieces block at the same time, the rest of such code waits for one of them: no
    /// delay, no time limit and no backend does.
    package static let foreignCode = ServiceThread(name: "ind-foreign", limit: 16)

    /// Runs what a delay, a time limit or a backend depends on, and what is too long for the timers' thread: checks of
    /// objects, lookups of names, and the end of a wait for a backend or a time limit, as in a shutdown.
    ///
    /// A continuation that waits for one of these is resumed here, not by the thread that notices the end: that one may
    /// run a cancellation handler with a task's status lock, and a timer must not wait for the executor of the caller.
    /// Code of the app that blocks here, in that executor or in a `deinit`, keeps one thread; the rest gets others.
    package static let ownCode = ServiceThread(name: "ind-own", idleTime: .seconds(5), limit: .max)

    /// Whether timers and time limits have a thread, or get one now. Otherwise, what waits for the indicator would wait
    /// for ever.
    package static var canFinishWork: Bool { shared.start() && ownCode.start() }

    private let name: String
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// The scheduled calls. The next one is the last.
    private var calls: [Call] = []
    /// The time until which a thread waits, at most one; `nil` while none does.
    private var waitsUntil: Int64?
    /// How many threads there are, and how many there may be.
    private var count = 0
    private let limit: Int
    /// How many pieces of work have begun.
    private var begunCount: UInt64 = 0
    /// Whether ``watch(since:)`` is scheduled.
    private var isWatched = false
    /// In nanoseconds.
    private var idleTime: Int64
    private var sources: [any PollSource] = []
    /// Ends a wait for the sources; `nil` while there are none.
    private var wakeUp: WakeUp?

    /// Creates a thread.
    ///
    /// - Parameters:
    ///   - name: the name in debuggers. Linux uses the first 15 bytes.
    ///   - idleTime: how long it waits without work and sources before it ends; new work then starts another. `nil`:
    ///     until ``close()``.
    ///   - limit: how many threads share the work. Another one starts when all are blocked, and ends when another one
    ///     waits; order is then not kept.
    package init(name: String, idleTime: Duration? = nil, limit: Int = 1) {
        self.name = name
        self.idleTime = idleTime.map { Int64($0 / .nanoseconds(1)) } ?? .max
        self.limit = limit
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        call(at: .min) { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Calls `body` at a time, on the thread. A long call delays others.
    ///
    /// - Parameter time: the time, as of ``now``; `.min` for now.
    /// - Returns: the call, for ``cancelCall(_:)``.
    @discardableResult
    package func call(at time: Int64, _ body: @escaping @Sendable () -> Void) -> Call {
        // Not before all that is due: what is always due would leave the rest no turn.
        let call = Call(time: time == .min ? Self.now : time, body)
        let begun = withMutex {
            if let waitsUntil, call.time < waitsUntil { signal() }
            // After those of the same time.
            calls.insert(call, at: calls.firstIndex { $0.time <= call.time } ?? calls.count)
            return count > 0 ? beginWatch() : nil
        }
        _ = start()
        if let begun { watch(since: begun) }
        return call
    }

    /// After this time without progress, all threads count as blocked: 10 ms.
    private static var blockedTime: Int64 { 10_000_000 }

    /// Whether work waits that may need another thread: then how many pieces have begun. A thread that waits takes it,
    /// and begins the watch for the rest. Called with the mutex locked.
    private func beginWatch() -> UInt64? {
        guard waitsUntil == nil, count < limit, !isWatched, !calls.isEmpty else { return nil }
        isWatched = true
        return begunCount
    }

    /// Starts another thread if none begins work for a while. Not for each piece of work that meets a busy thread:
    /// starting a thread takes longer than most of them.
    private func watch(since begun: UInt64) {
        Self.shared.call(at: Self.now + Self.blockedTime) { [self] in
            let (isBlocked, next) = withMutex {
                isWatched = false
                let next = beginWatch()
                let isBlocked = next == begun
                if isBlocked { count += 1 }
                return (isBlocked, next)
            }
            if isBlocked { startThread() }
            if let next { watch(since: next) }
        }
    }

    /// Returns whether there is a thread that does the work. If there is none, tries to start one.
    package func start() -> Bool {
        let hasThread = withMutex {
            if count > 0 { return true }
            count = 1
            return false
        }
        return hasThread || startThread()
    }

    /// Starts a thread, which `count` includes already. If the process has reached a limit, the work waits for the next
    /// work, with which this is tried again.
    ///
    /// Not on a thread of libdispatch's: it waits for one in a loop, in the function that adds work to a queue.
    @discardableResult
    private func startThread() -> Bool {
        if ThreadStarter.start(named: name, work) { return true }
        let isWithout = withMutex {
            count -= 1
            return count == 0
        }
        if isWithout { ThreadStarter.reportShortage() }
        return false
    }

    /// Cancels a call that has not begun.
    package func cancelCall(_ call: Call) {
        // Returns the closure, so that it is not released while the mutex is locked.
        _ = withMutex {
            calls.removeAll { $0 === call }
            return call.body.take()
        }
    }

    /// Suspends until `begin`'s argument is called, from any thread, or the task is cancelled. Called on the thread.
    ///
    /// A task that is cancelled continues on the thread: the one that cancels it may hold locks.
    ///
    /// - Parameters:
    ///   - value: the result if the task is cancelled.
    ///   - begin: called immediately. The first value with which its argument is called is the result.
    package func wait<Value: Sendable>(
        orCancelled value: Value,
        _ begin: (_ finish: @escaping @Sendable (Value) -> Void) -> Void
    ) async -> Value {
        let waiter = Locked<CheckedContinuation<Value, Never>?>(nil)
        let finish: @Sendable (Value) -> Void = { value in waiter.withLock { $0.take() }?.resume(returning: value) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter.withLock { $0 = continuation }
                begin(finish)
            }
        } onCancel: {
            call(at: .min) { finish(value) }
        }
    }

    /// Suspends until a time, as of ``now``, or until the task is cancelled. Called on the thread.
    package func sleep(until time: Int64) async {
        var call: Call?
        await wait(orCancelled: ()) { finish in call = self.call(at: time) { finish(()) } }
        if let call { cancelCall(call) }
    }

    /// Lets the threads end when they have no more work.
    package func close() {
        withMutex {
            idleTime = 0
            signal()
        }
    }

    /// Ends a wait. Called with the mutex locked.
    private func signal() {
        if let wakeUp { wakeUp.wake() } else { pthread_cond_signal(condition) }
    }

    /// Waits for a source, too, until ``remove(_:)``. Called on the thread, of which there must be at most one.
    ///
    /// - Returns: `false` if the process has no descriptor left for that.
    package func add(_ source: any PollSource) -> Bool {
        guard let wakeUp = wakeUp ?? WakeUp() else { return false }
        sources.append(source)
        withMutex { self.wakeUp = wakeUp }
        return true
    }

    /// Waits for a source no more. Called on the thread.
    package func remove(_ source: any PollSource) {
        sources.removeAll { $0 === source }
        if sources.isEmpty { withMutex { wakeUp = nil } }
    }

    /// The time of `CLOCK_MONOTONIC`, the clock of `SuspendingClock`, in nanoseconds. It stops while the machine is
    /// suspended.
    ///
    /// The thread waits on the same clock. A condition variable cannot wait on that of `ContinuousClock`: after a
    /// suspend, calls would be overdue while the thread still waits for them.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func withMutex<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// The work of a thread.
    private func work() {
        while let (body, begun) = withMutex({ next().map { ($0, beginWatch()) } }) {
            if let begun { watch(since: begun) }
            body()
        }
    }

    private func turnSources(_ wakeUp: WakeUp, until time: Int64) {
        let waiting = sources.map { (source: $0, interest: $0.interest()) }
        var descriptors = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        descriptors += waiting.flatMap(\.interest.descriptors)
        var deadlines = waiting.compactMap(\.interest.deadline)
        if time < .max { deadlines.append(.now + .nanoseconds(time - Self.now)) }
        poll(&descriptors, nfds_t(descriptors.count), WakeUp.milliseconds(until: deadlines.min()))
        withMutex { waitsUntil = nil }
        if descriptors.removeFirst().revents != 0 { wakeUp.clear() }
        for (source, interest) in waiting {
            let own = Array(descriptors.prefix(interest.descriptors.count))
            descriptors.removeFirst(own.count)
            let isDue = interest.deadline.map { $0 <= .now } ?? false
            // A turn may remove another source.
            guard isDue || own.contains(where: { $0.revents != 0 }), sources.contains(where: { $0 === source })
            else { continue }
            source.turn(own)
        }
    }

    /// A scheduled call.
    package final class Call: @unchecked Sendable {
        // `@unchecked`: the mutex of the thread protects the variables.

        fileprivate let time: Int64
        /// Removed when the call begins, or is cancelled.
        fileprivate var body: (@Sendable () -> Void)?

        fileprivate init(time: Int64, _ body: @escaping @Sendable () -> Void) {
            self.time = time
            self.body = body
        }
    }

    /// Waits for what to call next; `nil` when the thread should end. Called with the mutex locked.
    private func next() -> (() -> Void)? {
        var idleSince: Int64?
        while true {
            let now = Self.now
            if let first = calls.last, first.time <= now, let body = first.body.take() {
                begunCount += 1
                calls.removeLast()
                return body
            }
            var end = calls.last?.time ?? .max
            if calls.isEmpty, wakeUp == nil, idleTime < .max {
                let since = idleSince ?? now
                idleSince = since
                end = since + idleTime
            }
            // One thread that waits is enough.
            if waitsUntil != nil || calls.isEmpty && end <= now {
                count -= 1
                return nil
            }
            waitsUntil = end
            if let wakeUp { return { [self] in turnSources(wakeUp, until: end) } }
            if end == .max {
                pthread_cond_wait(condition, mutex)
            } else {
                let (seconds, nanoseconds) = end.quotientAndRemainder(dividingBy: 1_000_000_000)
                var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
                pthread_cond_timedwait(condition, mutex, &time)
            }
            waitsUntil = nil
        }
    }
}

/// Wakes a thread that waits in poll(2), from any other thread.
///
/// The thread polls ``descriptor`` together with its other descriptors, and calls ``clear()`` when it is readable.
package final class WakeUp: Sendable {
    /// Readable from ``wake()`` until ``clear()``. Closed on exec, so no child process keeps it.
    package let descriptor: Int32

    /// Creates the descriptor; `nil` if the system has none left, with the reason in `errno`.
    package init?() {
        let descriptor = StandardStreams.excluding(linux_make_event_descriptor())
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Ends the thread's current wait, or its next one.
    package func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Consumes all calls of ``wake()`` so far.
    package func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// The timeout of poll(2) for a deadline; infinite for `nil`. Rounded up, so that a loop does not spin through the
    /// last millisecond.
    package static func milliseconds(until deadline: SuspendingClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = (SuspendingClock.now.duration(to: deadline) / .milliseconds(1)).rounded(.up)
        return Int32(min(max(left, 0), Double(Int32.max)))
    }
}
