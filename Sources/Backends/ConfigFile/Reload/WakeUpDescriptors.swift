import Foundation

/// Two connected descriptors by which one thread, or a signal handler, wakes another.
///
/// A pair of sockets rather than a pipe: it is closed on `exec` from the first moment, so that no child process that is started
/// meanwhile keeps it.
struct WakeUpDescriptors {
    var read: Int32
    var write: Int32

    /// Makes them; `nil` when there are none to be had, with the reason in `errno`.
    init?() {
        var descriptors: [Int32] = [-1, -1]
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &descriptors) == 0 else { return nil }
        (read, write) = (descriptors[0], descriptors[1])
    }
}
