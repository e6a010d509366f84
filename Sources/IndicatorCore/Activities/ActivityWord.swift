import Synchronization

/// The number of activities in progress and the order of the next one, in one word that is changed by one atomic operation.
///
/// From the lowest bit: 28 bits of count, one bit that asks whoever changes the count to say so (see ``watch()``), and 35 bits of
/// order, which wrap round.
struct ActivityWord: ~Copyable, Sendable {
    /// The word at one moment.
    struct Value: Sendable {
        var bits: UInt64

        var count: Int { Int(bits & ActivityWord.countMask) }
        var isWatched: Bool { bits & ActivityWord.watchBit != 0 }
        var order: UInt64 { bits / ActivityWord.orderUnit }
        /// Whether some activity was in progress and nobody asked to hear of changes: all that there is to do is counted.
        var isQuiet: Bool { bits & ActivityWord.countMask != 0 && !isWatched }
    }

    fileprivate static var countMask: UInt64 { (1 << 28) - 1 }
    fileprivate static var watchBit: UInt64 { 1 << 28 }
    fileprivate static var orderUnit: UInt64 { 1 << 29 }

    private let word = Atomic<UInt64>(0)

    /// The word now.
    var value: Value {
        Value(bits: word.load(ordering: .acquiring))
    }

    /// Counts one more activity. Returns the word as it was before; its order is that of the activity.
    func add() -> Value {
        Value(bits: word.wrappingAdd(Self.orderUnit + 1, ordering: .acquiringAndReleasing).oldValue)
    }

    /// Counts one activity less. Returns the word as it is then.
    func subtract() -> Value {
        Value(bits: word.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue)
    }

    /// Asks to be told of the next change of the count.
    func watch() {
        word.bitwiseOr(Self.watchBit, ordering: .acquiringAndReleasing)
    }

    /// Takes the request back.
    func unwatch() {
        word.bitwiseAnd(~Self.watchBit, ordering: .acquiringAndReleasing)
    }
}
