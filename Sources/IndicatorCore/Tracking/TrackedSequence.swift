extension Sequence {
    /// Makes the iteration of this sequence an activity, which begins with the iteration and gets on with each element.
    ///
    /// ```swift
    /// for file in files.tracked("Compressing", in: indicator) { try compress(file) }
    /// ```
    ///
    /// It succeeds when the last element was delivered and the next is asked for. A loop that is left before (by
    /// `break`, `return` or an error) has cancelled it.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - container: the indicator, or a group.
    ///   - total: how much there is to do. Default: the number of elements, where the sequence knows it.
    ///   - unit: what `total` counts.
    ///   - amount: how much an element is. Default 1. It is counted when the next element is asked for.
    public func tracked(
        _ label: String?,
        in container: some ActivityContainer,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        by amount: ((Element) -> Int)? = nil
    ) -> TrackedSequence<Self> {
        let count = amount == nil && underestimatedCount > 0 ? underestimatedCount : nil
        return TrackedSequence(base: self, amount: amount) {
            TrackedIteration(ManagedActivity(label, total: total ?? count, unit: unit, in: container))
        }
    }
}

extension AsyncSequence {
    /// Makes the iteration of this sequence an activity, as it is of a `Sequence`, with the same parameters but no
    /// total by default. An error that the sequence throws is its outcome.
    ///
    /// ```swift
    /// for try await chunk in body.tracked("Downloading", in: indicator, total: length, unit: .bytes, by: \.count) {
    ///     try file.write(contentsOf: chunk)
    /// }
    /// ```
    public func tracked(
        _ label: String?,
        in container: some ActivityContainer,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        by amount: (@Sendable (Element) -> Int)? = nil
    ) -> TrackedElements<Self> {
        TrackedElements(base: self, amount: amount) {
            TrackedIteration(ManagedActivity(label, total: total, unit: unit, in: container))
        }
    }
}

/// A sequence whose iteration is an activity. See `Sequence.tracked(_:in:total:unit:by:)`.
public struct TrackedSequence<Base: Sequence>: Sequence {
    fileprivate let base: Base
    fileprivate let amount: ((Base.Element) -> Int)?
    fileprivate let begin: () -> TrackedIteration

    /// Begins the activity. Each iterator has its own.
    public func makeIterator() -> Iterator {
        Iterator(base: base.makeIterator(), amount: amount, iteration: begin())
    }

    /// Delivers the elements, and counts them.
    public struct Iterator: IteratorProtocol {
        fileprivate var base: Base.Iterator
        fileprivate let amount: ((Base.Element) -> Int)?
        fileprivate let iteration: TrackedIteration
        fileprivate var delivered = 0

        /// The next element; `nil` after the last one.
        public mutating func next() -> Base.Element? {
            iteration.activity.advance(by: delivered)
            guard let element = base.next() else {
                delivered = 0
                iteration.activity.end(.succeeded)
                return nil
            }
            delivered = amount?(element) ?? 1
            return element
        }
    }
}

/// An asynchronous sequence whose iteration is an activity. See `AsyncSequence.tracked(_:in:total:unit:by:)`.
public struct TrackedElements<Base: AsyncSequence>: AsyncSequence {
    fileprivate let base: Base
    fileprivate let amount: (@Sendable (Base.Element) -> Int)?
    fileprivate let begin: @Sendable () -> TrackedIteration

    /// Begins the activity. Each iterator has its own.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), amount: amount, iteration: begin())
    }

    /// Delivers the elements, and counts them.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: Base.AsyncIterator
        fileprivate let amount: (@Sendable (Base.Element) -> Int)?
        fileprivate let iteration: TrackedIteration
        fileprivate var delivered = 0

        /// The next element; `nil` after the last one, or when the task was cancelled and the sequence ends for that
        /// reason.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(Base.Failure) -> Base.Element? {
            iteration.activity.advance(by: delivered)
            delivered = 0
            do throws(Base.Failure) {
                guard let element = try await base.next(isolation: actor) else {
                    iteration.activity.end(Task.isCancelled ? .cancelled : .succeeded)
                    return nil
                }
                delivered = amount?(element) ?? 1
                return element
            } catch {
                iteration.activity.end(ActivityOutcome(error))
                throw error
            }
        }
    }
}

extension TrackedElements: Sendable where Base: Sendable {}

@available(*, unavailable)
extension TrackedElements.AsyncIterator: Sendable {}

/// The activity of one iteration. One that is left before its end is cancelled.
private final class TrackedIteration: Sendable {
    let activity: ManagedActivity

    init(_ activity: ManagedActivity) {
        self.activity = activity
    }

    deinit {
        activity.end(.cancelled)
    }
}
