import DequeModule
import Foundation

/// A thread that runs the asynchronous functions of one backend, and nothing else.
///
/// A backend may block in a call, for ever if it must be: neither Swift's few cooperative threads nor the app's own are held up.
/// The thread waits on a condition, so that an idle one costs no wake-up. It is started by the first job and ends after
/// ``close()``; a job that comes later still starts it again.
///
/// All signals are blocked on the thread (``ThreadStarter``).
final class BackendThread: TaskExecutor, @unchecked Sendable {
    // `@unchecked`: `jobs`, `isRunning` and `isClosed` are used between locking and unlocking `mutex` only. A POSIX mutex and
    // condition, because the standard library has no condition that goes with its `Mutex`.

    private let name: String
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: Deque<UnownedJob> = []
    private var isRunning = false
    private var isClosed = false

    /// Makes a thread, to be started by the first job. Linux shows the first 15 bytes of its name.
    init(name: String) {
        self.name = name
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(mutex)
        jobs.append(job)
        let mustStart = !isRunning
        isRunning = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
        if mustStart { start() }
    }

    /// Lets the thread end when it has nothing left to do.
    func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    private func start() {
        if ThreadStarter.start(named: name, work) { return }
        // The process is at its limit of threads: the jobs go to the system's threads rather than nowhere.
        DispatchQueue.global().async { self.work() }
    }

    private func work() {
        while let job = next() {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    private func next() -> UnownedJob? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while jobs.isEmpty {
            guard !isClosed else {
                isRunning = false
                return nil
            }
            pthread_cond_wait(condition, mutex)
        }
        return jobs.popFirst()
    }
}
