import Foundation
public import Synchronization

/// Starts threads for code that blocks in system calls or C libraries.
package enum ThreadStarter {
    /// Runs `body` on a new, detached thread.
    ///
    /// All signals are blocked on it: the app's handlers run on the app's threads, and a broken pipe is an error
    /// (`EPIPE`) instead of ending the process.
    ///
    /// - Parameters:
    ///   - name: the name in debuggers. Linux uses the first 15 bytes.
    ///   - body: the code of the thread.
    /// - Returns: whether the thread was started; `false` when the process has reached its limit of threads or memory.
    package static func start(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        pthread_attr_init(attributes)
        pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer {
            pthread_attr_destroy(attributes)
            attributes.deallocate()
        }
        var stackSize = 0
        pthread_attr_getstacksize(attributes, &stackSize)
        guard hasMemory(for: stackSize + reserve) else { return false }

        // A new thread inherits the signal mask of its creator.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let work = Unmanaged.passRetained(
            Work {
                Thread.current.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
                body()
            }
        )
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            },
            work.toOpaque()
        )
        if status != 0 { work.release() }
        return status == 0
    }

    /// The memory that is left to the app: Swift ends a process that gets none.
    private static let reserve = 16 << 20

    /// Whether the process may map this much memory (`RLIMIT_AS`, `ulimit -v`).
    private static func hasMemory(for size: Int) -> Bool {
        let memory = mmap(nil, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        return memory != MAP_FAILED && munmap(memory, size) == 0
    }

    private static let isShortageReported = Atomic(false)

    /// Reports, once in the process, that there is no thread for the indicator.
    static func reportShortage() {
        guard !isShortageReported.exchange(true, ordering: .relaxed) else { return }
        StandardErrorReport.write(
            """
            indicator: No thread can be created, so what needs one is off until it can; see 'ulimit -u' and \
            'ulimit -v', or TasksMax of systemd\n
            """
        )
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

/// Messages that need no logger, whose handler may have locks and threads.
package enum StandardErrorReport {
    /// Writes a line to standard error, unless that would block.
    package static func write(_ text: StaticString) {
        var request = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        if poll(&request, 1, 0) > 0 { _ = Foundation.write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount) }
    }
}

/// Whether this process is a child of fork(2) that has not called exec(3), in which nothing that needs a thread works.
///
/// Such a process has only the thread that called fork(2). A lock that another thread held is held forever, and the
/// value that it protects may be incomplete.
public enum ForkedProcess {
    @usableFromInline static let flag = Atomic(false)
    private static let isReported = Atomic(false)

    private static let handler: Int32 = pthread_atfork(nil, nil) { flag.store(true, ordering: .relaxed) }

    /// Whether ``watch()`` was called before the fork.
    @inlinable public static var isChild: Bool { flag.load(ordering: .relaxed) }

    /// Calls a function, the first time in the process.
    package static func reportOnce(_ report: () -> Void) {
        if !isReported.exchange(true, ordering: .relaxed) { report() }
    }

    /// Observes forks from now on.
    package static func watch() {
        // The handler must not be the first to use the flag: creating it takes a lock.
        if !isChild { _ = handler }
    }
}
