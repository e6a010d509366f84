import Synchronization

/// The limit: one atomic number, and nothing else.
final class AtomicCount: Sendable {
    private let count = Atomic<Int>(0)

    /// Adds one and subtracts one, so many times: an instruction each. (`add`, which checks for overflow, is a loop of several.)
    func addAndSubtract(_ times: Int) {
        for _ in 0..<times {
            count.wrappingAdd(1, ordering: .acquiringAndReleasing)
            count.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// Reads it twice, so many times.
    func loadTwice(_ times: Int) {
        for _ in 0..<times {
            consume(count.load(ordering: .acquiring), count.load(ordering: .acquiring))
        }
    }
}
