import Foundation

/// Whether the process has descriptors left for an indicator.
///
/// A backend must not use the last ones, but throw: without them libdispatch, which runs Swift tasks, ends the process.
public enum SpareDescriptors {
    /// How many must be free: up to four for a connection, and up to four for libdispatch at its first use.
    public static let reserve = 8

    /// Why there is no connection if too few are free.
    public static let problem = "the process has fewer than \(reserve) descriptors left"

    /// Whether at least `count` descriptors are free. The check does not open one.
    public static func exist(_ count: Int = reserve) -> Bool {
        var free = 0
        // From the highest down: the kernel assigns the lowest free descriptor.
        for descriptor in (0..<max(getdtablesize(), 0)).reversed() where fcntl(descriptor, F_GETFD) == -1 {
            free += 1
            if free == count { return true }
        }
        return false
    }
}
