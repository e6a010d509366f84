import Foundation

/// Whether the process has descriptors left for an indicator.
///
/// An indicator must not use the last ones: without them libdispatch, which runs Swift tasks, ends the process.
package enum SpareDescriptors {
    /// How many must be free: up to four for a connection, and up to four for libdispatch at its first use.
    package static let reserve = 8

    /// Why there is no connection if too few are free.
    package static let problem = "the process has fewer than \(reserve) descriptors left"

    /// Whether at least `count` descriptors are free. The check does not open one.
    package static func exist(_ count: Int = reserve) -> Bool {
        var free = 0
        // From the highest down: the kernel assigns the lowest free descriptor.
        for descriptor in (0..<max(getdtablesize(), 0)).reversed() where fcntl(descriptor, F_GETFD) == -1 {
            free += 1
            if free == count { return true }
        }
        return false
    }
}
