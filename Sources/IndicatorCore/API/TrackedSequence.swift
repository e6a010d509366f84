import Synchronization

extension Sequence {
    /// Makes the iteration of this sequence an activity, which begins with the iteration and advances with each
    /// element.
    ///
    /// ```swift
    /// for file in files.tracked("Compressing", in: indicator) { try compress(file) }
    /// ```
    ///
    /// The activity succeeds when the loop requests an element after the last one. A loop that ends earlier (by
    /// `break`, `return` or an error) cancels it. With `forEach` instead of a loop, an error is the outcome.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - container: the indicator, or a group.
    ///   - total: the total amount of work. Without `amount`, the default is the `underestimatedCount`, if above zero.
    ///   - unit: what `total` counts.
    ///   - amount: how much an element adds. Default 1. It is added when the loop requests the next element.
    public func tracked(
        _ label: String?,
        in container: ActivityContainer,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        by amount: ((Element) -> Int)? = nil
    ) -> TrackedSequence<Self> {
        let count = amount == nil && underestimatedCount > 0 ? underestimatedCount : nil
        return TrackedSequence(base: self, amount: amount) {
            LoopActivity(label, total: total ?? count, unit: unit, in: container)
        }
    }
}

/// A sequence whose iteration is an activity of an indicator.
///
/// Each iteration is an activity of its own, which ends at the latest when the iterator and its copies are released.
public struct TrackedSequence<Base: Sequence>: Sequence {
    // What an element needs is inlined: a generic function of another module takes 100 times as long.

    fileprivate let base: Base
    fileprivate let amount: ((Base.Element) -> Int)?
    fileprivate let begin: () -> LoopActivity

    /// Iterates the base. Copies share one activity.
    public struct Iterator: IteratorProtocol {
        @usableFromInline var base: Base.Iterator
        @usableFromInline let amount: ((Base.Element) -> Int)?
        @usableFromInline let loop: LoopActivity

        /// The base's next element.
        @inlinable
        public mutating func next() -> Base.Element? {
            loop.finishElement()
            let element = base.next()
            if let element { loop.beginElement(amount?(element) ?? 1) } else { loop.end(.succeeded) }
            return element
        }
    }

    /// Begins the activity.
    public func makeIterator() -> Iterator {
        Iterator(base: base.makeIterator(), amount: amount, loop: begin())
    }

    /// Calls a function for each element. An error that it throws is the outcome of the activity: a `CancellationError`
    /// cancels it, any other one makes it fail.
    public func forEach(_ body: (Base.Element) throws -> Void) rethrows {
        var iterator = makeIterator()
        do {
            while let element = iterator.next() { try body(element) }
        } catch {
            iterator.loop.end(ActivityOutcome(error))
            throw error
        }
    }

    /// The same for an asynchronous function, on the actor of its caller, one call at a time.
    nonisolated(nonsending) public func forEach<Failure: Error>(
        _ body: nonisolated(nonsending) (Base.Element) async throws(Failure) -> Void
    ) async throws(Failure) {
        var iterator = makeIterator()
        do throws(Failure) {
            while let element = iterator.next() { try await body(element) }
        } catch {
            iterator.loop.end(ActivityOutcome(error))
            throw error
        }
    }
}

extension AsyncSequence {
    /// Makes the iteration of this sequence an activity, as for a `Sequence`; there is no default for the total. An
    /// error that the sequence throws is the activity's outcome, with `forEach` also one that the function throws. A
    /// cancelled task cancels its activity.
    ///
    /// ```swift
    /// for try await chunk in body.tracked("Downloading", in: indicator, total: length, unit: .bytes, by: \.count) {
    ///     try file.write(contentsOf: chunk)
    /// }
    /// ```
    public func tracked(
        _ label: String?,
        in container: ActivityContainer,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        by amount: (@Sendable (Element) -> Int)? = nil
    ) -> TrackedAsyncSequence<Self> {
        TrackedAsyncSequence(base: self) {
            let loop = LoopActivity(label, total: total, unit: unit, in: container)
            return (loop.finishElement, { loop.beginElement(amount?($0) ?? 1) }, loop.end)
        }
    }
}

/// An asynchronous sequence whose iteration is an activity, of an indicator or of a tracker.
///
/// It delivers the elements of its base, throws its errors, and is `Sendable` if its base is. The activity ends when
/// the base finishes or throws, when it returns to a task that was cancelled meanwhile, or when the iterator and its
/// copies are released, such as by `break` or an error. A base that ignores cancellation goes on working until it
/// returns, and so does the activity.
public struct TrackedAsyncSequence<Base: AsyncSequence>: AsyncSequence {
    fileprivate let base: Base
    private let begin: @Sendable () -> Iteration<Base.Element>

    @usableFromInline
    package init(base: Base, begin: @escaping @Sendable () -> Iteration<Base.Element>) {
        self.base = base
        self.begin = begin
    }

    /// Iterates the base. Copies share one activity.
    public struct AsyncIterator: AsyncIteratorProtocol {
        @usableFromInline var base: Base.AsyncIterator
        @usableFromInline let iteration: Iteration<Base.Element>

        /// The base's next element.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(Base.Failure) -> Base.Element? {
            iteration.willAsk?()
            do throws(Base.Failure) {
                let element = try await base.next(isolation: actor)
                if Task.isCancelled {
                    iteration.end(.cancelled)
                } else if let element {
                    iteration.deliver(element)
                } else {
                    iteration.end(.succeeded)
                }
                return element
            } catch {
                iteration.end(Task.isCancelled ? .cancelled : ActivityOutcome(error))
                throw error
            }
        }
    }

    /// Begins the activity. Each iterator has its own.
    public func makeAsyncIterator() -> AsyncIterator {
        let iterator = base.makeAsyncIterator()
        return AsyncIterator(base: iterator, iteration: begin())
    }

    /// Calls a function for each element, on the actor of its caller, one call at a time. An error that it throws is
    /// the outcome of an indicator's activity, as one of the base is.
    nonisolated(nonsending) public func forEach(
        _ body: nonisolated(nonsending) (Base.Element) async throws -> Void
    ) async throws {
        var iterator = makeAsyncIterator()
        do {
            while let element = try await iterator.next(isolation: #isolation) { try await body(element) }
        } catch {
            iterator.iteration.end(Task.isCancelled ? .cancelled : ActivityOutcome(error))
            throw error
        }
    }
}

extension TrackedAsyncSequence: Sendable where Base: Sendable {}
extension TrackedAsyncSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}

/// Changes the activity of one iteration, which ends when these functions are released.
@usableFromInline
package typealias Iteration<Element> = (
    willAsk: (@Sendable () -> Void)?,
    deliver: @Sendable (Element) -> Void,
    end: @Sendable (ActivityOutcome) -> Void
)

/// The activity of a loop over an indicator's tracked sequence. A loop that ends early cancels it.
@usableFromInline
final class LoopActivity: Sendable {
    private let activity: ManagedActivity
    /// The amount of the element that was delivered last.
    private let pending = Atomic(0)

    init(_ label: String?, total: Int?, unit: ActivityUnit, in container: ActivityContainer) {
        activity = ManagedActivity(label, total: total, unit: unit, in: container)
    }

    @usableFromInline
    func beginElement(_ amount: Int) {
        pending.store(amount, ordering: .relaxed)
    }

    @usableFromInline
    func finishElement() {
        activity.advance(by: pending.exchange(0, ordering: .relaxed))
    }

    @usableFromInline
    func end(_ outcome: ActivityOutcome) { activity.end(outcome) }

    deinit { end(.cancelled) }
}
