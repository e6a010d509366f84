import DequeModule
import Foundation
import HeapModule

/// A dedicated thread of the indicator: an executor for tasks, and a timer for calls.
///
/// Each backend has one, because a backend may block, even forever, and must not block the cooperative thread pool or
/// the app's threads. ``shared`` serves all timers of the process.
///
/// The cooperative thread pool and `Task.sleep` use libdispatch, which ends the process when it cannot open a
/// descriptor: for epoll(7) and eventfd(2) at first use, for timerfd_create(2) at the first timer, and once a second to
/// inspect its threads in `/proc` while work is queued. So the indicator uses neither.
///
/// The thread waits on a condition variable: an idle one causes no wake-ups and has no descriptor. It is started when
/// there is work. All signals are blocked on it (``ThreadStarter``).
package final class ServiceThread: TaskExecutor, @unchecked Sendable {
    // `@unchecked`: all variables are protected by `mutex`. POSIX, because `Locked` has no condition variable.

    /// Serves the timers of the process, and short jobs of the indicator.
    package static let shared = ServiceThread(name: "indicator")

    /// Runs what may run code of the app, such as the `deinit` of a value, and may block: no timer waits for it, nor,
    /// unless 16 pieces block at the same time, the rest of such work.
    package static let forCallersCode = ServiceThread(name: "ind-callers", isKept: false, limit: 16, isNeeded: true)

    private let name: String
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: Deque<UnownedJob> = []
    /// The scheduled calls, and how many of them are cancelled.
    private var calls = Heap<Call>()
    private var cancelledCount = 0
    private var lastCall: UInt64 = 0
    private var isJobsTurn = false
    /// The time until which the thread waits; `nil` while it does not.
    private var waitsUntil: Int64?
    /// How many threads there are, and how many there may be.
    private var count = 0
    private let limit: Int
    private var isKept: Bool
    private let isNeeded: Bool
    /// The earliest time of the next attempt to start a thread, after one has failed.
    private var nextAttempt = Int64.min
    private var isRetryScheduled = false

    /// Creates a thread.
    ///
    /// - Parameters:
    ///   - name: the name in debuggers. Linux uses the first 15 bytes.
    ///   - isKept: whether it waits for work until ``close()``. Otherwise it ends without work, and new work starts
    ///     another.
    ///   - limit: how many threads share the work. Another one starts while all work; order is then not kept.
    ///   - isNeeded: whether ``shared`` does the work while no thread can be created. Otherwise the work waits.
    package init(name: String, isKept: Bool = true, limit: Int = 1, isNeeded: Bool = false) {
        self.name = name
        self.isKept = isKept
        self.limit = limit
        self.isNeeded = isNeeded
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
        add(at: .min) { jobs.append(job) }
    }

    /// Calls `body` at a time, on the thread. A long call delays others.
    ///
    /// - Parameter time: the time, as of ``now``.
    /// - Returns: the call, for ``cancelCall(_:)``.
    @discardableResult
    package func call(at time: Int64, _ body: @escaping @Sendable () -> Void) -> Call {
        let call = Call(time: time, body)
        add(at: time) {
            lastCall += 1
            call.number = lastCall
            calls.insert(call)
        }
        return call
    }

    /// Adds work for a time, and starts the thread, or wakes it if it would wait longer.
    private func add(at time: Int64, _ body: () -> Void) {
        let mustStart: Bool? =
            withMutex {
                let isWoken = waitsUntil.map { time < $0 } ?? false
                if isWoken { pthread_cond_signal(condition) }
                body()
                guard count < limit, count == 0 || !isWoken && limit > 1 else { return nil }
                guard Self.now >= nextAttempt else { return count == 0 ? false : nil }
                count += 1
                return true
            } ?? nil
        if mustStart == true { startThread() } else if mustStart == false { retryLater() }
    }

    /// Starts a thread that could not be created, unless the last attempt was less than a second ago.
    package func tryAgain() { add(at: .max) {} }

    /// Returns whether there is a thread that does the work. If there is none, tries to start one.
    package func start() -> Bool {
        let hasThread = withMutex {
            if count > 0 { return true }
            count = 1
            return false
        }
        return hasThread == true || hasThread == false && startThread()
    }

    /// Starts a thread, which `count` includes already. If the process has reached a limit, the work waits, or
    /// ``shared`` does it, until the next attempt: after a second, by ``shared`` or with further work.
    ///
    /// Not on a thread of libdispatch's: it waits for one in a loop, in the function that adds work to a queue.
    @discardableResult
    private func startThread() -> Bool {
        if ThreadStarter.start(named: name, { self.work(isOwn: true) }) { return true }
        let isWithout = withMutex {
            count -= 1
            nextAttempt = Self.now + 1_000_000_000
            return count == 0
        }
        if isWithout == true {
            ThreadStarter.reportShortage()
            retryLater()
        }
        return false
    }

    /// Lets ``shared`` do the work, or start a thread for it later.
    private func retryLater() {
        guard self !== Self.shared else { return }
        let attempt = withMutex { exchange(&isRetryScheduled, with: true) ? nil : isNeeded ? .min : nextAttempt }
        guard let attempt = attempt ?? nil else { return Self.shared.tryAgain() }
        Self.shared.call(at: attempt) { [self] in
            let mustStart = withMutex {
                isRetryScheduled = false
                guard !isNeeded, count == 0, !jobs.isEmpty || !calls.isEmpty else { return false }
                count = 1
                return true
            }
            if isNeeded { work(isOwn: false) } else if mustStart == true { startThread() }
        }
    }

    /// Cancels a call that has not begun.
    package func cancelCall(_ call: Call) {
        // Returns the closure, so that it is not released while the mutex is locked.
        _ = withMutex {
            let body = call.body.take()
            if body != nil { cancelledCount += 1 }
            // Otherwise, a cancelled call is removed when its time comes.
            if cancelledCount > 1000, cancelledCount > calls.count / 2 {
                calls = Heap(calls.unordered.filter { $0.body != nil })
                cancelledCount = 0
            }
            return body
        }
    }

    /// Lets the thread end when it has no more work.
    package func close() {
        withMutex {
            isKept = false
            pthread_cond_signal(condition)
        }
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

    /// - Returns: `nil` in a child of fork(2), which does not have the thread, and where another one may have held the
    ///   mutex: there, work is never done.
    private func withMutex<Result>(_ body: () -> Result) -> Result? {
        if ForkedProcess.isChild { return nil }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// - Parameter isOwn: whether this is a thread of its own, which waits for more work.
    private func work(isOwn: Bool) {
        while let next = withMutex({ next(isOwn: isOwn) }) ?? nil {
            switch next {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .call(let body): body()
            }
        }
    }

    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    /// A scheduled call.
    package final class Call: Comparable, @unchecked Sendable {
        // `@unchecked`: the mutex of the thread protects the variables.

        fileprivate let time: Int64
        fileprivate var number: UInt64 = 0
        /// Removed when the call begins, or is cancelled.
        fileprivate var body: (@Sendable () -> Void)?

        fileprivate init(time: Int64, _ body: @escaping @Sendable () -> Void) {
            self.time = time
            self.body = body
        }

        package static func < (one: Call, other: Call) -> Bool {
            (one.time, one.number) < (other.time, other.number)
        }
        package static func == (one: Call, other: Call) -> Bool { one === other }
    }

    /// Waits for work; `nil` when the thread should end. Called with the mutex locked.
    private func next(isOwn: Bool) -> Work? {
        while true {
            while let first = calls.min, first.body == nil {
                calls.removeMin()
                cancelledCount -= 1
            }
            let first = calls.min
            let left = first.map { $0.time == .min ? 0 : $0.time - Self.now }
            // Jobs and calls alternate, so that neither starves the other.
            isJobsTurn.toggle()
            if isJobsTurn || left ?? 1 > 0, let job = jobs.popFirst() { return .job(job) }
            if let first, let left {
                if left <= 0, let body = first.body.take() {
                    calls.removeMin()
                    return .call(body)
                }
                guard isOwn else { return nil }
                let (seconds, nanoseconds) = first.time.quotientAndRemainder(dividingBy: 1_000_000_000)
                var end = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
                waitsUntil = first.time
                pthread_cond_timedwait(condition, mutex, &end)
                waitsUntil = nil
            } else if !isOwn {
                return nil
            } else if isKept {
                waitsUntil = .max
                pthread_cond_wait(condition, mutex)
                waitsUntil = nil
            } else {
                count -= 1
                return nil
            }
        }
    }
}
