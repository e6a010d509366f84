import Synchronization

/// The limit: one atomic number, and nothing else.
final class AtomicCount: Sendable {
    private let count = Atomic<Int>(0)

    /// Adds one and subtracts one, so many times: an instruction each. (`add`, which checks for overflow, is a loop of
    /// several.)
    func addAndSubtract(_ times: Int) {
        for _ in 0..<times {
            count.wrappingAdd(1, ordering: .acquiringAndReleasing)
            count.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// Adds one, so many times.
    func add(_ times: Int) {
        for _ in 0..<times { count.wrappingAdd(1, ordering: .acquiringAndReleasing) }
    }
}

/// The limit of what is read under a lock: an uncontended lock and unlock, around one number.
final class UncontendedLock: Sendable {
    private let count = Mutex(0)

    /// Locks and unlocks it, so many times.
    func lockAndUnlock(_ times: Int) {
        for _ in 0..<times {
            let value = count.withLock { $0 }
            consume(value, value)
        }
    }
}
