import Foundation

/// Runs `body` so that the signals a write can raise do not end or stop the process; `errno` tells of the failure
/// instead.
///
/// - `SIGPIPE`: the reader of a FIFO is gone (`EPIPE`).
/// - `SIGXFSZ`: the file would outgrow the limit of the process, `ulimit -f` (`EFBIG`).
/// - `SIGTTOU`: the path is a terminal, and the process in its background. Blocked, the write succeeds (tty_ioctl(4)).
///
/// The kernel sends all three to the thread that writes. So they are blocked on this thread only, and one that came is
/// taken away before the block is lifted. How the app handles these signals stays as it is, and one that was pending
/// before is left pending.
func shieldedFromSignals<Value>(_ body: () -> Value) -> Value {
    var shielded = sigset_t()
    sigemptyset(&shielded)
    for signal in [SIGPIPE, SIGXFSZ, SIGTTOU] { sigaddset(&shielded, signal) }
    var before = sigset_t()
    var pendingBefore = sigset_t()
    pthread_sigmask(SIG_BLOCK, &shielded, &before)
    sigpending(&pendingBefore)

    let value = body()

    let code = errno
    var raised = sigset_t()
    sigemptyset(&raised)
    for signal in [SIGPIPE, SIGXFSZ] where sigismember(&pendingBefore, signal) == 0 { sigaddset(&raised, signal) }
    var noTime = timespec()
    while sigtimedwait(&raised, nil, &noTime) > 0 {}
    pthread_sigmask(SIG_SETMASK, &before, nil)
    errno = code
    return value
}
