import IndicatorThreads

extension IndicatorManager {
    /// The user's requests to cancel what the indicator shows, from backends with a button for it, such as KDE's job
    /// view.
    ///
    /// ```swift
    /// for await _ in indicator.cancellationRequests { downloads.cancelAll() }
    /// ```
    ///
    /// The button is there while a task iterates this sequence, or a function of
    /// `withActivity(cancellable: true)` runs, whose task is cancelled without this sequence. Each access makes a new
    /// sequence, which gets the requests from then on; the last 16 wait for a slow iteration. It ends when the manager
    /// is shut down or deallocated. Any thread may use it.
    public var cancellationRequests: AsyncStream<CancellationRequest> { engine.cancellation.requests() }
}

/// A user's request to cancel what the indicator shows.
public struct CancellationRequest: Sendable, Hashable {
    /// The label that the indicator had then, if any.
    public let label: String?

    /// Makes a request, for the tests of an app.
    public init(label: String? = nil) {
        self.label = label
    }
}

/// Who can be cancelled: the tasks of cancellable activities, and the subscribers to requests.
///
/// Nothing foreign runs under the lock. Tasks are cancelled and continuations are resumed on a thread for such work: a
/// cancellation handler may block, and a calling thread may hold the status lock of a task.
final class Cancellation: Sendable {
    private struct State: Sendable {
        // No large tables: they would grow in one long step.
        var tasks = OrderedList<CancellableTask>()
        var subscribers = OrderedList<AsyncStream<CancellationRequest>.Continuation>()
        var lastNumber: UInt64 = 0
        var isClosed = false

        mutating func nextNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }

        /// Begins to cancel the first task after one, up to a last one.
        mutating func beginCancelling(after number: UInt64, upTo last: UInt64) -> CancellableTask? {
            var number = number
            while var task = tasks.values(from: number + 1, limit: 1).first, task.number <= last {
                number = task.number
                // Another request may be cancelling it.
                if task.isBeingCancelled { continue }
                task.isBeingCancelled = true
                tasks.set(number, to: task)
                return task
            }
            return nil
        }

        /// Returns the task's end, if that waits.
        mutating func endCancelling(_ task: CancellableTask) -> CheckedContinuation<Void, Never>? {
            let waiter = tasks.set(task.number, to: nil)?.waiter
            // A task whose end has waited stays removed: until that has gone on, another request would cancel a task
            // that may be gone.
            if waiter == nil {
                var task = task
                task.isBeingCancelled = false
                tasks.set(task.number, to: task)
            }
            return waiter
        }

        /// Removes a task. Returns whether it is not being cancelled; otherwise, its end waits.
        mutating func remove(_ number: UInt64, _ end: CheckedContinuation<Void, Never>) -> Bool {
            guard var task = tasks.set(number, to: nil), task.isBeingCancelled else { return true }
            task.waiter = end
            tasks.set(number, to: task)
            return false
        }
    }

    /// A task whose function has not returned from `withActivity`, which keeps it alive.
    private struct CancellableTask: @unchecked Sendable {
        // `@unchecked`: the reference may be used on other threads for `cancel()` (its documentation), and is alive
        // until `end(_:)` has returned, which waits for a cancellation in progress.
        let task: UnsafeCurrentTask
        let number: UInt64
        var isBeingCancelled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    /// Whether a request would reach anyone.
    var isPossible: Bool { state.withLock { $0.tasks.count > 0 || $0.subscribers.count > 0 } }

    /// Cancels all cancellable tasks, and passes the request to all subscribers. Returns immediately.
    func request(_ request: CancellationRequest) {
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [self] in
            let (subscribers, last) = state.withLock { ($0.subscribers, $0.lastNumber) }
            for subscriber in subscribers.values { subscriber.yield(request) }
            // One by one: no call waits, and a task ends without waiting for those before it.
            var number: UInt64 = 0
            while let task = state.withLock({ $0.beginCancelling(after: number, upTo: last) }) {
                number = task.number
                task.task.cancel()
                state.withLock { $0.endCancelling(task) }?.resume()
            }
        }
    }

    /// Makes the current task cancellable until ``end(_:)``; returns `nil` outside of tasks.
    func beginTask() -> UInt64? {
        withUnsafeCurrentTask { task in
            guard let task else { return nil }
            struct Reference: @unchecked Sendable {
                // `@unchecked`: only carries the reference into the lock, as that of ``CancellableTask``.
                let task: UnsafeCurrentTask
            }
            let reference = Reference(task: task)
            return state.withLock { state in
                let number = state.nextNumber()
                state.tasks.set(number, to: CancellableTask(task: reference.task, number: number))
                return number
            }
        }
    }

    /// Ends what ``beginTask()`` began. Waits while the task is being cancelled.
    func end(_ number: UInt64, isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            if state.withLock({ $0.remove(number, continuation) }) { continuation.resume() }
        }
    }

    func requests() -> AsyncStream<CancellationRequest> {
        let (stream, continuation) = AsyncStream<CancellationRequest>.makeStream(bufferingPolicy: .bufferingNewest(16))
        let number: UInt64? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let number = state.nextNumber()
            state.subscribers.set(number, to: continuation)
            return number
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [self] _ in _ = state.withLock { $0.subscribers.set(number, to: nil) } }
        return stream
    }

    /// Ends the requests.
    func close() {
        let subscribers = state.withLock { state in
            state.isClosed = true
            return exchange(&state.subscribers, with: OrderedList())
        }
        guard subscribers.count > 0 else { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) {
            for subscriber in subscribers.values { subscriber.finish() }
        }
    }
}
