public import Synchronization

/// The number of activities in progress and the order of the next one, in one word that is changed by one atomic operation.
///
/// From the lowest bit: 28 bits of count, one bit that asks whoever changes the count to say so (see ``watch()``), and 35 bits of
/// order, which wrap round.
///
/// All operations are sequentially consistent: who changes the count then looks at ``QuietPeriod``, and who ends a quiet period
/// then looks at the count, so that one of the two sees the other.
@usableFromInline
struct ActivityWord: ~Copyable, Sendable {
    /// The word at one moment.
    @usableFromInline
    struct Value: Sendable {
        @usableFromInline var bits: UInt64

        @inlinable
        init(bits: UInt64) {
            self.bits = bits
        }

        @inlinable var count: Int { Int(bits & ActivityWord.countMask) }
        @inlinable var isWatched: Bool { bits & ActivityWord.watchBit != 0 }
        @inlinable var order: UInt64 { bits / ActivityWord.orderUnit }
        /// Whether some activity was in progress and nobody asked to hear of changes: all that there is to do is counted.
        @inlinable var isQuiet: Bool { bits & ActivityWord.countMask != 0 && !isWatched }
        /// Whether no activity was in progress and nobody asked to hear of changes.
        var isUnwatchedIdle: Bool { bits & (ActivityWord.countMask | ActivityWord.watchBit) == 0 }
    }

    @inlinable static var countMask: UInt64 { (1 << 28) - 1 }
    @inlinable static var watchBit: UInt64 { 1 << 28 }
    @inlinable static var orderUnit: UInt64 { 1 << 29 }

    @usableFromInline let word = Atomic<UInt64>(0)

    init() {}

    /// The word now.
    var value: Value {
        Value(bits: word.load(ordering: .sequentiallyConsistent))
    }

    /// Counts one more activity. Returns the word as it was before; its order is that of the activity.
    @inlinable
    func add() -> Value {
        Value(bits: word.wrappingAdd(Self.orderUnit + 1, ordering: .sequentiallyConsistent).oldValue)
    }

    /// Counts one activity less. Returns the word as it is then.
    @inlinable
    func subtract() -> Value {
        Value(bits: word.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue)
    }

    /// Asks to be told of the next change of the count.
    func watch() {
        word.bitwiseOr(Self.watchBit, ordering: .sequentiallyConsistent)
    }

    /// Takes the request back.
    func unwatch() {
        word.bitwiseAnd(~Self.watchBit, ordering: .sequentiallyConsistent)
    }
}
