import Foundation
import Synchronization

/// Runs a function on two threads that begin together.
final class TwoThreads: Sendable {
    private let body: @Sendable (Int) -> Void
    private let ready = Atomic<Int>(0)
    private let done = Atomic<Int>(0)

    init(_ body: @escaping @Sendable (Int) -> Void) {
        self.body = body
    }

    /// Runs it. Returns the time from when both were there until both were done.
    func run(_ count: Int) -> Duration {
        for _ in 0..<2 {
            Thread.detachNewThread { [self] in
                ready.add(1, ordering: .acquiringAndReleasing)
                while ready.load(ordering: .acquiring) < 3 {}
                body(count)
                done.add(1, ordering: .acquiringAndReleasing)
            }
        }
        while ready.load(ordering: .acquiring) < 2 { usleep(100) }
        return ContinuousClock().measure {
            ready.add(1, ordering: .acquiringAndReleasing)
            // Asleep: on a machine of two cores a third thread that spins would be in the way.
            while done.load(ordering: .acquiring) < 2 { usleep(50) }
        }
    }
}
