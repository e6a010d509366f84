import DequeModule
import Foundation

/// A thread of the indicator's own, for the jobs of tasks that prefer it, and for calls at a time.
///
/// Each backend has one, since it may block in a call, for ever if it must be: neither Swift's few cooperative threads
/// nor the app's own are held up. ``shared`` serves all timers of the process.
///
/// Swift's cooperative threads and `Task.sleep` are libdispatch's, which ends the process when it has no descriptor:
/// for epoll(7) and eventfd(2) when it is first used, for timerfd_create(2) at the first timer, and once a second to
/// look at its threads in `/proc` while work waits for them. So the indicator uses neither.
///
/// The thread waits on a condition: an idle one costs no wake-up and no descriptor. It is started when there is
/// something to do. All signals are blocked on it (``ThreadStarter``).
package final class ServiceThread: TaskExecutor, @unchecked Sendable {
    // `@unchecked`: all variables are used between locking and unlocking `mutex` only. A POSIX mutex and condition,
    // because the standard library has no condition that goes with its `Mutex`.

    /// Serves the timers of the process, and the indicator's own jobs that are short.
    package static let shared = ServiceThread(name: "indicator")

    private let name: String
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: Deque<UnownedJob> = []
    /// What is to be called at a time. There are few: one for each indicator and each backend that waits for something.
    private var calls: [UInt64: (time: Int64, body: @Sendable () -> Void)] = [:]
    private var lastCall: UInt64 = 0
    private var isJobsTurn = false
    /// Until when the thread waits, while it does.
    private var waitsUntil: Int64?
    private var isRunning = false
    private var isKept: Bool

    /// Makes a thread.
    ///
    /// - Parameters:
    ///   - name: what debuggers show; Linux takes the first 15 bytes.
    ///   - isKept: whether it waits, until ``close()``, when there is nothing left to do. Otherwise it ends, and
    ///     another is started when there is.
    package init(name: String, isKept: Bool = true) {
        self.name = name
        self.isKept = isKept
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

    /// Has the thread call `body` at a time. It must be short if others are to be on time.
    ///
    /// - Parameter time: by ``now``.
    /// - Returns: a number for ``cancelCall(_:)``.
    package func call(at time: Int64, _ body: @escaping @Sendable () -> Void) -> UInt64 {
        add(at: time) {
            lastCall += 1
            calls[lastCall] = (time, body)
            return lastCall
        }
    }

    /// Adds something to do at a time, and starts the thread, or wakes it if it would wait longer.
    private func add<Result>(at time: Int64, _ body: () -> Result) -> Result {
        let (result, mustStart) = withMutex {
            if let waitsUntil, time < waitsUntil { pthread_cond_signal(condition) }
            defer { isRunning = true }
            return (body(), !isRunning)
        }
        if mustStart, !ThreadStarter.start(named: name, work) {
            // The process is at its limit of threads: one of the system's does it rather than none.
            DispatchQueue.global().async { self.work() }
        }
        return result
    }

    /// Takes back a call that is not under way.
    package func cancelCall(_ number: UInt64) {
        // Returned, so that it is not released with the mutex held.
        _ = withMutex { calls.removeValue(forKey: number) }
    }

    /// Lets the thread end when it has nothing left to do.
    package func close() {
        withMutex {
            isKept = false
            pthread_cond_signal(condition)
        }
    }

    /// What `ContinuousClock` reads, `CLOCK_BOOTTIME`, in nanoseconds.
    package static var now: Int64 { read(CLOCK_BOOTTIME) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func withMutex<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    private func work() {
        while let next = withMutex(next) {
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

    /// Waits for what is to be done next; `nil` when the thread is to end. Called with the mutex locked.
    private func next() -> Work? {
        while true {
            // Its number and time alone: what a call holds is not kept while the thread waits.
            let first = calls.lazy.map { ($0.value.time, $0.key) }.min(by: <)
            let left = first.map { time, _ in time == .min ? 0 : time - Self.now }
            // By turns, so that neither many jobs nor many calls keep the others waiting.
            isJobsTurn.toggle()
            if isJobsTurn || left ?? 1 > 0, let job = jobs.popFirst() { return .job(job) }
            if let (_, number) = first, let left {
                if left <= 0, let call = calls.removeValue(forKey: number) { return .call(call.body) }
                // No condition waits by `CLOCK_BOOTTIME`: while the machine is suspended, the wait is too.
                let (seconds, nanoseconds) = (Self.read(CLOCK_MONOTONIC) + left).quotientAndRemainder(
                    dividingBy: 1_000_000_000
                )
                var end = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
                waitsUntil = first?.0
                pthread_cond_timedwait(condition, mutex, &end)
                waitsUntil = nil
            } else if isKept {
                waitsUntil = .max
                pthread_cond_wait(condition, mutex)
                waitsUntil = nil
            } else {
                isRunning = false
                return nil
            }
        }
    }
}
