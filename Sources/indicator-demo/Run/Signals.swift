import Dispatch
import Foundation

/// The signals by which a program is asked to end: SIGINT and SIGTERM.
enum Signals {
    /// Catches them from now on, until the process ends, and yields the number of each.
    static func caught() -> AsyncStream<Int32> {
        AsyncStream { continuation in
            for number in [SIGINT, SIGTERM] {
                let source = DispatchSource.makeSignalSource(signal: number)
                // The handler holds the source, which would otherwise be deallocated here.
                source.setEventHandler { _ = (source, continuation.yield(number)) }
                source.activate()
            }
        }
    }

    /// Ends the process by a signal, as if it had not been caught: a shell then knows why.
    static func end(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        _exit(128 + number)
    }
}
