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
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            },
            work.toOpaque()
        )
        if status == 0 { pthread_detach(thread) } else { work.release() }
        return status == 0
    }

    private static let isShortageReported = Atomic(false)
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
