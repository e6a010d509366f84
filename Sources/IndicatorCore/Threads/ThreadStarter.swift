import CIndicatorLinux
import Foundation
package import Synchronization

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
        guard hasMemory else { return false }
        // A new thread inherits the signal mask of its creator.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        startingCount.add(1, ordering: .relaxed)
        let work = Unmanaged.passRetained(
            Work {
                linux_begin_thread(name)
                startingCount.subtract(1, ordering: .relaxed)
                body()
            }
        )
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            },
            work.toOpaque()
        )
        if status == 0 { return pthread_detach(thread) == 0 }
        work.release()
        startingCount.subtract(1, ordering: .relaxed)
        return false
    }

    /// The memory that is left to the app: Swift ends a process that gets none.
    private static let reserve = 16 << 20
    /// What malloc(3) maps when a thread first uses it, of which it keeps a half (`new_heap` of glibc's arena.c).
    private static let arenaSize = 128 << 20
    /// How many threads have not used malloc(3) yet.
    private static let startingCount = Atomic(0)

    /// Whether the limits of memory (`ulimit -v`, `ulimit -d`) allow another thread.
    ///
    /// Computed, because a trial would leave nothing to the other threads meanwhile.
    private static var hasMemory: Bool {
        let (total, data) = (limit(RLIMIT_AS), limit(RLIMIT_DATA))
        if total == .max, data == .max { return true }
        // Pages: all that are mapped, and those of data (proc(5)). Without a descriptor, nothing is known.
        let statistics = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        guard let pages = statistics?.compactMap({ UInt64($0) }), pages.count > 5 else { return false }
        var stackSize = 0
        withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) { attributes in
            guard let attributes = attributes.baseAddress, pthread_attr_init(attributes) == 0 else { return }
            pthread_attr_getstacksize(attributes, &stackSize)
            pthread_attr_destroy(attributes)
        }
        let needed = UInt64(stackSize + reserve)
        let arenas = UInt64((startingCount.load(ordering: .relaxed) + 1) * arenaSize)
        let pageSize = UInt64(getpagesize())
        // Of an arena, only what is used counts as data.
        return pages[0] * pageSize + needed + arenas <= total && pages[5] * pageSize + needed <= data
    }

    private static func limit(_ resource: __rlimit_resource) -> UInt64 {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 ? UInt64(limit.rlim_cur) : .max
    }

    /// Whether ``reportShortage()`` has written its message.
    package static let isShortageReported = Atomic(false)
    /// Whether the process ends with status 71 (`EX_OSERR` of sysexits.h) when there is no thread for the indicator, as
    /// a command does that could only wait.
    package static let isShortageFatal = Atomic(false)

    /// Reports, once in the process, that there is no thread for the indicator.
    static func reportShortage() {
        defer { if isShortageFatal.load(ordering: .relaxed) { _exit(71) } }
        guard !isShortageReported.exchange(true, ordering: .relaxed) else { return }
        let text: StaticString = """
            indicator: No thread can be created, so what needs one is off until it can; see 'ulimit -u' and \
            'ulimit -v', or TasksMax of systemd\n
            """
        // Without a logger, whose handler may have locks and threads, and only if that does not block.
        var request = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        if poll(&request, 1, 0) > 0 { _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount) }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}
