import Dispatch
import Foundation

/// The signals that request termination: SIGINT and SIGTERM.
enum Signals {
    /// Catches the signals until the process ends, and yields their numbers.
    static func caught() -> AsyncStream<Int32> {
        AsyncStream { continuation in
            for number in [SIGINT, SIGTERM] {
                let source = DispatchSource.makeSignalSource(signal: number)
                // The handler retains the source, which would otherwise be deallocated here.
                source.setEventHandler { _ = (source, continuation.yield(number)) }
                source.activate()
            }
        }
    }

    /// Ends the process by a signal, so that a shell sees the reason.
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
