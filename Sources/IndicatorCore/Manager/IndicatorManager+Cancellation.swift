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
        var tasks: [Int: CancellableTask] = [:]
        var subscribers: [Int: AsyncStream<CancellationRequest>.Continuation] = [:]
        var lastNumber = 0
        var isClosed = false

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    /// A task whose function has not returned from `withActivity`, which keeps it alive.
    private struct CancellableTask: @unchecked Sendable {
        // `@unchecked`: the reference may be used on other threads for `cancel()` (its documentation), and is alive
        // until `end(_:)` has returned, which waits for a cancellation in progress.
        var task: UnsafeCurrentTask
        var isBeingCancelled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    /// Whether a request would reach anyone.
    var isPossible: Bool { state.withLock { !$0.tasks.isEmpty || !$0.subscribers.isEmpty } }

    /// Cancels all cancellable tasks, and passes the request to all subscribers. Returns immediately.
    func request(_ request: CancellationRequest) {
        Task.detached(executorPreference: ServiceThread.forCallersCode) { [self] in
            let (tasks, subscribers) = state.withLock { state in
                let tasks = state.tasks.filter { !$0.value.isBeingCancelled }
                for number in tasks.keys { state.tasks[number]?.isBeingCancelled = true }
                return (tasks, Array(state.subscribers.values))
            }
            for subscriber in subscribers { subscriber.yield(request) }
            for (number, task) in tasks {
                task.task.cancel()
                let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
                    state.tasks[number]?.isBeingCancelled = false
                    guard let waiter = state.tasks[number]?.waiter else { return nil }
                    // Removed here, not after the end has gone on: until then, another request would cancel a task
                    // that may be gone.
                    state.tasks[number] = nil
                    return waiter
                }
                waiter?.resume()
            }
        }
    }

    /// Makes the current task cancellable until ``end(_:)``; returns `nil` outside of tasks.
    func beginTask() -> Int? {
        withUnsafeCurrentTask { task in
            guard let task else { return nil }
            let entry = CancellableTask(task: task)
            return state.withLock { state in
                let number = state.nextNumber()
                state.tasks[number] = entry
                return number
            }
        }
    }

    /// Ends what ``beginTask()`` began. Waits while the task is being cancelled.
    func end(_ number: Int, isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.tasks[number]?.isBeingCancelled == true {
                    state.tasks[number]?.waiter = continuation
                    return false
                }
                state.tasks[number] = nil
                return true
            }
            if isOver { continuation.resume() }
        }
    }

    func requests() -> AsyncStream<CancellationRequest> {
        let (stream, continuation) = AsyncStream<CancellationRequest>.makeStream(bufferingPolicy: .bufferingNewest(16))
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let number = state.nextNumber()
            state.subscribers[number] = continuation
            return number
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [self] _ in _ = state.withLock { $0.subscribers.removeValue(forKey: number) } }
        return stream
    }

    /// Ends the requests.
    func close() {
        let subscribers = state.withLock { state in
            state.isClosed = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        guard !subscribers.isEmpty else { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) {
            for subscriber in subscribers { subscriber.finish() }
        }
    }
}
