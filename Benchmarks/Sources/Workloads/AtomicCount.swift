import Synchronization

/// The lower limit for counting: one atomic number.
final class AtomicCount: Sendable {
    private let count = Atomic<Int>(0)

    /// Adds one and subtracts one repeatedly, with one instruction each. (`add`, which checks for overflow, is a loop
    /// of several instructions.)
    func addAndSubtract(_ times: Int) {
        for _ in 0..<times {
            count.wrappingAdd(1, ordering: .acquiringAndReleasing)
            count.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// Adds one repeatedly.
    func add(_ times: Int) {
        for _ in 0..<times { count.wrappingAdd(1, ordering: .acquiringAndReleasing) }
    }
}

/// The lower limit for a read under a lock: an uncontended lock and unlock around one number.
final class UncontendedLock: Sendable {
    private let count = Mutex(0)

    /// Locks and unlocks repeatedly.
    func lockAndUnlock(_ times: Int) {
        for _ in 0..<times {
            let value = count.withLock { $0 }
            consume(value, value)
        }
    }
}
