/// An asynchronous sequence whose iteration is an activity of an ``ActivityTracker``.
///
/// It delivers what its base delivers, fails as its base fails, and is `Sendable` when its base is. Make one with
/// `trackActivity(in:)`.
///
/// The activity begins when the iterator is made: for tracked sequences in one another, that of the inner before that
/// of the outer. It ends when the base finishes or throws, when the task that waits for the next element is cancelled
/// (even if the base ignores that), and when the iterator and its copies are released: by the end of a loop, `break`,
/// or an error.
public struct TrackedAsyncSequence<Base: AsyncSequence, Value: Sendable>: AsyncSequence {
    /// What the base delivers.
    public typealias Element = Base.Element
    /// How the base fails.
    public typealias Failure = Base.Failure

    fileprivate let base: Base
    fileprivate let tracker: ActivityTracker<Value>
    fileprivate let initialValue: Value?
    fileprivate let value: (@Sendable (Base.Element) -> Value?)?

    /// Iterates the base. Copies of it are one activity.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: Base.AsyncIterator
        fileprivate let activity: ManagedTrackedActivity<Value>
        fileprivate let value: (@Sendable (Base.Element) -> Value?)?

        /// The base's next element, whose value is that of the activity from then on.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(Base.Failure) -> Base.Element? {
            // A `Result`, because the handler's function does not keep the type of the error.
            let next: Result<Base.Element?, Base.Failure> = await withTaskCancellationHandler {
                do throws(Base.Failure) {
                    return .success(try await base.next(isolation: actor))
                } catch {
                    return .failure(error)
                }
            } onCancel: { [activity] in
                // A cancellation handler may run under a lock of the runtime's.
                activity.end(deliversLater: true)
            }
            if case .success(let element?) = next {
                if let value, !activity.hasEnded { activity.update(value(element)) }
            } else {
                activity.end()
            }
            return try next.get()
        }
    }

    /// Begins the activity, after those of tracked sequences further in.
    public func makeAsyncIterator() -> AsyncIterator {
        let iterator = base.makeAsyncIterator()
        return AsyncIterator(base: iterator, activity: ManagedTrackedActivity(initialValue, in: tracker), value: value)
    }
}

extension TrackedAsyncSequence: Sendable where Base: Sendable {}
extension TrackedAsyncSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}

extension AsyncSequence {
    /// Makes the iteration of this sequence an activity of a tracker, with the tracker's default value.
    ///
    /// - Parameter tracker: what reports the activity. The sequence keeps it alive.
    public func trackActivity<Value>(in tracker: ActivityTracker<Value>) -> TrackedAsyncSequence<Self, Value> {
        trackActivity(in: tracker, value: tracker.defaultValue)
    }

    /// The same with one value throughout, or with `nil` for none.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        value: Value?
    ) -> TrackedAsyncSequence<Self, Value> {
        TrackedAsyncSequence(base: self, tracker: tracker, initialValue: value, value: nil)
    }

    /// The same with a value that follows the elements; before the first of them it is the tracker's default value.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        value: @escaping @Sendable (Element) -> Value?
    ) -> TrackedAsyncSequence<Self, Value> {
        trackActivity(in: tracker, initialValue: tracker.defaultValue, value: value)
    }

    /// The same with a value that follows the elements, and `initialValue` before the first of them.
    public func trackActivity<Value>(
        in tracker: ActivityTracker<Value>,
        initialValue: Value?,
        value: @escaping @Sendable (Element) -> Value?
    ) -> TrackedAsyncSequence<Self, Value> {
        TrackedAsyncSequence(base: self, tracker: tracker, initialValue: initialValue, value: value)
    }
}
