import Foundation

/// Whether the process has descriptors left for an indicator to take.
///
/// An indicator must not take the last ones: without them libdispatch, and with it every Swift task, ends the process.
enum SpareDescriptors {
    /// How many must be free. A connection takes up to four. libdispatch takes up to four when it is first used.
    static let reserve = 8

    /// Whether at least ``reserve`` descriptors are free. Takes none to find out.
    static var exist: Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return true }
        var free = 0
        // From above: the kernel gives the lowest that is free.
        for descriptor in (0..<Int32(clamping: limit.rlim_cur)).reversed() where fcntl(descriptor, F_GETFD) == -1 {
            free += 1
            if free == reserve { return true }
        }
        return false
    }
}
