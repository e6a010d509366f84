import CIndicatorLinux
import Foundation

/// Wakes a thread that waits in poll(2), from any other thread.
///
/// The thread polls ``descriptor`` together with its other descriptors, and calls ``clear()`` when it is readable.
package final class WakeUp: Sendable {
    /// Readable from ``wake()`` until ``clear()``. Closed on exec, so no child process keeps it.
    package let descriptor: Int32

    /// Creates the descriptor; `nil` if the system has none left, with the reason in `errno`.
    package init?() {
        let descriptor = StandardStreams.excluding(linux_make_event_descriptor())
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Ends the thread's current wait, or its next one.
    package func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Consumes all calls of ``wake()`` so far.
    package func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// The timeout of poll(2) for a deadline; infinite for `nil`. Rounded up, so that a loop does not spin through the
    /// last millisecond.
    package static func milliseconds(until deadline: SuspendingClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = (SuspendingClock.now.duration(to: deadline) / .milliseconds(1)).rounded(.up)
        return Int32(min(max(left, 0), Double(Int32.max)))
    }
}
