public import Synchronization

/// What is in progress and the order of the next activity, in one word that is changed by one atomic operation.
///
/// From the lowest bit:
///
/// - 26 bits that count tokens (``Activity``, ``ManagedActivity``).
/// - 6 bits that count threads that have let go of the last token and are not done with that yet.
/// - One bit that asks whoever changes the word to say so (see ``watch()``).
/// - One that says that the manager itself knows of activities, those with an identity, say, which it counts under its lock.
/// - One that says that a ``QuietPeriod`` runs that comes to an end by itself.
/// - One that says that the manager is held: it owns a reference to itself. It does from the first token on, while there are tokens
///   or leaving threads, and until the end of a quiet period; who makes the last of them go takes the bit away and releases the
///   reference.
/// - 28 bits of order, which wrap round.
///
/// A token holds no reference of its own, which would cost more than all the rest.
///
/// All operations are sequentially consistent: who changes the word then looks at ``QuietPeriod``, and who ends a quiet period
/// then looks at the word, so that one of the two sees the other.
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

        /// How many tokens there are.
        @inlinable var tokenCount: Int { Int(bits & ActivityWord.tokenMask) }
        @inlinable var isWatched: Bool { bits & ActivityWord.watchBit != 0 }
        var isHeld: Bool { bits & ActivityWord.heldBit != 0 }
        /// Whether the manager is held and nothing needs that any more.
        fileprivate var isHeldInVain: Bool {
            let reasons = ActivityWord.tokenMask | ActivityWord.leavingMask | ActivityWord.quietBit
            return bits & (reasons | ActivityWord.heldBit) == ActivityWord.heldBit
        }
        fileprivate var mayLeave: Bool { bits & ActivityWord.leavingMask != ActivityWord.leavingMask }
        /// Whether any activity is in progress.
        var isBusy: Bool { bits & (ActivityWord.tokenMask | ActivityWord.entryBit) != 0 }
        var order: UInt64 { bits / ActivityWord.orderUnit }
        /// Whether some activity was in progress and nobody asked to hear of changes: all that there is to do is counted.
        var isBusyUnwatched: Bool { isBusy && !isWatched }
        /// Whether no activity was in progress and nobody asked to hear of changes.
        var isIdleUnwatched: Bool { !isBusy && !isWatched }
    }

    @inlinable static var tokenMask: UInt64 { (1 << 26) - 1 }
    fileprivate static var leavingUnit: UInt64 { 1 << 26 }
    fileprivate static var leavingMask: UInt64 { 63 << 26 }
    @inlinable static var watchBit: UInt64 { 1 << 32 }
    fileprivate static var entryBit: UInt64 { 1 << 33 }
    fileprivate static var quietBit: UInt64 { 1 << 34 }
    fileprivate static var heldBit: UInt64 { 1 << 35 }
    @inlinable static var orderUnit: UInt64 { 1 << 36 }

    @usableFromInline let word = Atomic<UInt64>(0)

    init() {}

    /// The word now.
    var value: Value {
        Value(bits: word.load(ordering: .sequentiallyConsistent))
    }

    /// Counts one more token. Returns the word as it was before; its order is that of the activity.
    @inlinable
    func addToken() -> Value {
        Value(bits: word.wrappingAdd(Self.orderUnit + 1, ordering: .sequentiallyConsistent).oldValue)
    }

    /// Counts one token less if it is not the last and changes are not watched for. Returns whether it did.
    ///
    /// Nobody may touch the manager any more who has let go of a token that was not the last. So it must be known before
    /// that there is nothing to tell.
    @inlinable
    func subtractTokenOfSeveral() -> Bool {
        var bits = word.load(ordering: .relaxed)
        while bits & Self.watchBit == 0, bits & Self.tokenMask > 1 {
            let (exchanged, original) = word.weakCompareExchange(
                expected: bits,
                desired: bits - 1,
                successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed
            )
            if exchanged { return true }
            bits = original
        }
        return false
    }

    /// Counts one token less, and one more thread that is leaving. Returns the word as it is then.
    func subtractTokenAndStay() -> Value {
        stay(without: 1)
    }

    /// Counts one more leaving thread, which has a token yet. Not to be called with the manager's lock held: the others may have to
    /// wait for it.
    func stay() {
        _ = stay(without: 0)
    }

    private func stay(without tokens: UInt64) -> Value {
        var bits = word.load(ordering: .relaxed)
        while true {
            // More threads than can be counted at this one place: until one of them is through.
            guard Value(bits: bits).mayLeave else {
                bits = word.load(ordering: .relaxed)
                continue
            }
            let next = bits - tokens + Self.leavingUnit
            let (exchanged, original) = word.weakCompareExchange(
                expected: bits,
                desired: next,
                successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed
            )
            if exchanged { return Value(bits: next) }
            bits = original
        }
    }

    /// Counts one token less, of a thread that stays. Returns the word as it is then.
    func subtractToken() -> Value {
        Value(bits: word.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue)
    }

    /// Counts one leaving thread less. Returns whether the caller must release the reference that the manager holds to itself.
    func leave() -> Bool {
        change { $0 - Self.leavingUnit }
    }

    /// Says that a quiet period runs.
    func beginQuietPeriod() {
        guard word.load(ordering: .relaxed) & Self.quietBit == 0 else { return }
        word.bitwiseOr(Self.quietBit, ordering: .sequentiallyConsistent)
    }

    /// Says that no quiet period runs. Returns whether the caller must release the reference that the manager holds to itself.
    func endQuietPeriod() -> Bool {
        if word.load(ordering: .relaxed) & Self.quietBit == 0 { return false }
        return change { $0 & ~Self.quietBit }
    }

    /// Holds the manager. Returns whether the caller must retain it.
    func hold() -> Bool {
        !Value(bits: word.bitwiseOr(Self.heldBit, ordering: .sequentiallyConsistent).oldValue).isHeld
    }

    /// Makes a change that may be the last that the manager was held for. Returns whether it was; the word must not be touched
    /// afterwards by whoever has no reference.
    private func change(_ change: (UInt64) -> UInt64) -> Bool {
        var bits = word.load(ordering: .relaxed)
        while true {
            let next = Value(bits: change(bits))
            let isInVain = next.isHeldInVain
            let (exchanged, original) = word.weakCompareExchange(
                expected: bits,
                desired: isInVain ? next.bits & ~Self.heldBit : next.bits,
                successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed
            )
            if exchanged { return isInVain }
            bits = original
        }
    }

    /// Says that the manager knows of activities from now on. Returns the word as it was before.
    func addEntries() -> Value {
        Value(bits: word.wrappingAdd(Self.orderUnit + Self.entryBit, ordering: .sequentiallyConsistent).oldValue)
    }

    /// Says that the manager knows of no activities any more. Returns the word as it is then.
    func subtractEntries() -> Value {
        Value(bits: word.wrappingSubtract(Self.entryBit, ordering: .sequentiallyConsistent).newValue)
    }

    /// Gives the next activity an order of its own.
    func skipOrder() {
        word.wrappingAdd(Self.orderUnit, ordering: .sequentiallyConsistent)
    }

    /// Asks to be told of the next change.
    func watch() {
        word.bitwiseOr(Self.watchBit, ordering: .sequentiallyConsistent)
    }

    /// Takes the request back.
    func unwatch() {
        word.bitwiseAnd(~Self.watchBit, ordering: .sequentiallyConsistent)
    }
}

/// Orders activities by their beginning.
enum ActivityOrder {
    /// How many entries are told apart between two tokens.
    static var entryCount: UInt64 { 1 << 30 }

    /// The order of a token, which comes after the entries that began before it at the same value of the word.
    static func token(_ before: ActivityWord.Value) -> UInt64 { before.order * entryCount + entryCount - 1 }

    /// The order of an entry, by the number of those that began before it at the same value of the word.
    static func entry(_ word: ActivityWord.Value, number: UInt64) -> UInt64 { word.order * entryCount + number }
}
