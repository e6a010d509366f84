/// An asynchronous sequence whose iteration is an activity of an ``ActivityTracker``.
///
/// It delivers what its base delivers, fails as its base fails, and is `Sendable` when its base is. Make one with
/// `trackActivity(in:)`.
///
/// The activity begins when the iterator is made: for tracked sequences in one another, that of the inner before that of the outer.
/// It ends when the base finishes or throws, when the task that waits for the next element is cancelled (even if the base takes no
/// notice), and when the iterator and its copies are dropped: by the end of a loop, `break`, or an error.
public struct TrackedAsyncSequence<Base: AsyncSequence, Value: Sendable>: AsyncSequence {
    /// What the base delivers.
    public typealias Element = Base.Element
    /// How the base fails.
    public typealias Failure = Base.Failure

    private let base: Base
    private let tracker: ActivityTracker<Value>
    private let initialValue: Value?
    private let value: (@Sendable (Base.Element) -> Value?)?

    init(
        _ base: Base,
        in tracker: ActivityTracker<Value>,
        initialValue: Value?,
        value: (@Sendable (Base.Element) -> Value?)?
    ) {
        self.base = base
        self.tracker = tracker
        self.initialValue = initialValue
        self.value = value
    }

    /// Iterates the base. Copies of it are one activity.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var base: Base.AsyncIterator
        private let activity: ManagedTrackedActivity<Value>
        private let value: (@Sendable (Base.Element) -> Value?)?

        fileprivate init(
            _ base: Base.AsyncIterator,
            activity: ManagedTrackedActivity<Value>,
            value: (@Sendable (Base.Element) -> Value?)?
        ) {
            self.base = base
            self.activity = activity
            self.value = value
        }

        /// The base's next element, whose value is that of the activity from then on.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(Base.Failure) -> Base.Element? {
            do throws(Base.Failure) {
                guard let element = try await nextOfBase(isolation: actor) else {
                    activity.end()
                    return nil
                }
                if let value, !activity.hasEnded { activity.update(value(element)) }
                return element
            } catch {
                activity.end()
                throw error
            }
        }

        /// The base's next element. A cancellation ends the activity even if the base goes on.
        private mutating func nextOfBase(
            isolation actor: isolated (any Actor)?
        ) async throws(Base.Failure) -> Base.Element? {
            guard !activity.hasEnded else { return try await base.next(isolation: actor) }
            let activity = activity
            let result: Result<Base.Element?, Base.Failure> = await withTaskCancellationHandler {
                do throws(Base.Failure) {
                    return .success(try await base.next(isolation: actor))
                } catch {
                    return .failure(error)
                }
            } onCancel: {
                activity.endBecauseOfCancellation()
            }
            return try result.get()
        }
    }

    /// Begins the activity, after those of tracked sequences further in.
    public func makeAsyncIterator() -> AsyncIterator {
        let iterator = base.makeAsyncIterator()
        return AsyncIterator(iterator, activity: ManagedTrackedActivity(initialValue, in: tracker), value: value)
    }
}

extension TrackedAsyncSequence: Sendable where Base: Sendable {}
extension TrackedAsyncSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}
