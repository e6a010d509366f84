import Foundation

/// A thread of its own for something that waits in a system call, most of the time or for ever.
enum SignalFreeThread {
    /// Starts one. All signals are blocked on it: the app's handlers run on the app's threads.
    ///
    /// - Parameters:
    ///   - name: what `ps` and a debugger show; Linux keeps 15 bytes.
    ///   - body: what it does; the thread ends with it.
    /// - Returns: whether there was a thread to be had.
    @discardableResult
    static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        // A new thread inherits the mask of the one that starts it.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        final class Work {
            let name: String
            let body: @Sendable () -> Void

            init(name: String, body: @escaping @Sendable () -> Void) {
                self.name = name
                self.body = body
            }
        }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Work(name: name, body: body))
        let status = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                Thread.current.name = String(decoding: work.name.utf8.prefix(15), as: UTF8.self)
                work.body()
                return nil
            },
            context.toOpaque()
        )
        guard status == 0 else {
            context.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
