import IndicatorThreads

/// A user's request to cancel what the indicator shows.
public struct CancellationRequest: Sendable, Hashable {
    /// The label that the indicator had then, if any.
    public let label: String?

    /// Makes a request, for the tests of an app.
    public init(label: String? = nil) {
        self.label = label
    }
}

/// The subscribers to requests to cancel what an indicator shows.
struct CancellationSubscribers: Sendable {
    fileprivate var continuations: [Int: AsyncStream<CancellationRequest>.Continuation] = [:]
    fileprivate var lastNumber = 0

    /// Resumes them on a thread for such work: a calling thread may hold the status lock of a task.
    fileprivate func resume(_ body: @escaping @Sendable (AsyncStream<CancellationRequest>.Continuation) -> Void) {
        if continuations.isEmpty { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) {
            for continuation in continuations.values { body(continuation) }
        }
    }

    /// Ends the requests.
    func finish() { resume { $0.finish() } }
}

extension IndicatorEngine {
    /// Whether a request to cancel would reach anyone.
    var isCancellable: Bool { storage.withLock { !$0.cancellation.continuations.isEmpty } }

    /// Passes a request to cancel to those that are subscribers now. Returns immediately, and `false` if there are
    /// none.
    @discardableResult
    package func requestCancellation(label: String? = nil) -> Bool {
        let subscribers = storage.withLock { $0.cancellation }
        subscribers.resume { $0.yield(CancellationRequest(label: label)) }
        return !subscribers.continuations.isEmpty
    }

    func cancellationRequests() -> AsyncStream<CancellationRequest> {
        let (stream, continuation) = AsyncStream<CancellationRequest>.makeStream(bufferingPolicy: .bufferingNewest(16))
        let number: Int? = storage.withLock { storage in
            if storage.machine.isShutDown { return nil }
            storage.cancellation.lastNumber += 1
            storage.cancellation.continuations[storage.cancellation.lastNumber] = continuation
            return storage.cancellation.lastNumber
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [self] _ in
            _ = storage.withLock { $0.cancellation.continuations.removeValue(forKey: number) }
        }
        return stream
    }
}
