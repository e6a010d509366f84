import Synchronization

/// Notifies one subscriber that a value has changed. The subscriber then takes the latest one, so that a slow one skips
/// those in between, and nothing grows.
package final class LatestValues: Sendable {
    /// What a subscription refers to, until it ends, with the value that was taken last.
    ///
    /// The last reference to this object, and to the functions of the streams, may be that of a thread that runs a
    /// cancellation handler, which must release nothing of the caller's.
    private final class Contents<Value: Sendable>: Sendable {
        struct Functions: Sendable {
            let take: Take<Value>
            let end: @Sendable () -> Void
            var last: Value?
        }

        let functions: Locked<Functions?>

        init(_ take: @escaping Take<Value>, _ end: @escaping @Sendable () -> Void) {
            functions = Locked(Functions(take: take, end: end))
        }

        func keep(_ value: Value) {
            // The old one is not released under the lock.
            _ = functions.withLock { functions in
                let old = functions
                functions?.last = value
                return old
            }
        }
    }

    package typealias Take<Value> = @Sendable (_ last: Value?) -> (value: Value?, isLast: Bool)

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
        _ begin: (LatestValues) -> (take: Take<Value>, end: @Sendable () -> Void)
    ) -> AsyncStream<Value> {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (take, end) = begin(LatestValues(continuation))
        let contents = Contents(take, end)
        continuation.onTermination = { _ in
            Task.detached(executorPreference: ServiceThread.forCallersCode) {
                contents.functions.withLock { $0.take() }?.end()
            }
        }
        return AsyncStream(unfolding: {
            while !Task.isCancelled, let functions = contents.functions.withLock({ $0 }) {
                let (value, isLast) = functions.take(functions.last)
                if let value { contents.keep(value) }
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
