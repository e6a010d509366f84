import Synchronization

/// Tells one subscriber that a value has changed. The subscriber then takes the latest one, so that a slow one skips
/// those in between, and nothing grows.
package final class LatestValues: Sendable {
    /// The value that the subscriber has taken last.
    private final class Last<Value: Sendable>: Sendable {
        let value = Locked<Value?>(nil)
    }

    private let continuation: AsyncStream<Void>.Continuation
    private let isSignalled = Atomic(false)

    private init(_ continuation: AsyncStream<Void>.Continuation) {
        self.continuation = continuation
    }

    /// Makes a subscription, and the stream of its values.
    ///
    /// - Parameter begin: begins the subscription, and returns two functions. `take` receives the value that was taken
    ///   last, and returns what is new, if anything, and whether nothing follows; the subscriber calls it at first and
    ///   after each ``signal()``. `end` is called once, on a thread for callers' code, when the stream was released or
    ///   its task was cancelled.
    package static func stream<Value: Sendable>(
        _ begin: (LatestValues) -> (
            take: @Sendable (_ last: Value?) -> (value: Value?, isLast: Bool),
            end: @Sendable () -> Void
        )
    ) -> AsyncStream<Value> {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (take, end) = begin(LatestValues(continuation))
        let last = Last<Value>()
        // Elsewhere: a cancellation handler may call this, which must release nothing of the caller's.
        continuation.onTermination = { _ in
            Task.detached(executorPreference: ServiceThread.forCallersCode) { withExtendedLifetime(last, end) }
        }
        return AsyncStream(unfolding: {
            while !Task.isCancelled {
                let (value, isLast) = take(last.value.withLock { $0 })
                // Returns the old one, so that it is not released under the lock.
                if let value { _ = last.value.withLock { exchange(&$0, with: value) } }
                if value != nil || isLast { return value }
                var iterator = signals.makeAsyncIterator()
                if await iterator.next() == nil { return nil }
            }
            return nil
        })
    }

    /// Wakes the subscriber, from a separate task.
    ///
    /// Resuming a task takes its status lock. A calling thread that runs a cancellation handler holds that of another
    /// task, and two such threads could deadlock.
    package func signal() {
        if isSignalled.exchange(true, ordering: .acquiringAndReleasing) { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [self] in
            // Before the subscriber takes a value: a later change needs another signal.
            _ = isSignalled.exchange(false, ordering: .acquiringAndReleasing)
            continuation.yield()
        }
    }
}
