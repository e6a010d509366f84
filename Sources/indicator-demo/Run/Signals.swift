import Foundation
import UnixSignals

/// The signals by which a program is asked to end.
enum Signals {
    /// Ends the process by a signal, as it would have if it had not been caught: whoever waits for it then knows why.
    static func end(by unixSignal: UnixSignal) -> Never {
        let number: Int32 = unixSignal == .sigint ? SIGINT : SIGTERM
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        _exit(128 + number)
    }
}
