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
typealias CancellationSubscribers = Set<AsyncStream<CancellationRequest>.Continuation>

extension CancellationSubscribers {
    /// Resumes them on a thread for such work: a calling thread may hold the status lock of a task.
    func resume(_ body: @escaping @Sendable (Element) -> Void) {
        if isEmpty { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) { forEach(body) }
    }
}

extension IndicatorEngine {
    /// Whether a request to cancel would reach anyone.
    var isCancellable: Bool { storage.withLock { !$0.cancellation.isEmpty } }

    /// Passes a request to cancel to those that are subscribers now. Returns immediately, and `false` if there are
    /// none.
    @discardableResult
    package func requestCancellation(label: String? = nil) -> Bool {
        let subscribers = storage.withLock { $0.cancellation }
        subscribers.resume { $0.yield(CancellationRequest(label: label)) }
        return !subscribers.isEmpty
    }

    func cancellationRequests() -> AsyncStream<CancellationRequest> {
        let (stream, continuation) = AsyncStream<CancellationRequest>.makeStream(bufferingPolicy: .bufferingNewest(16))
        continuation.onTermination = { [self] _ in _ = storage.withLock { $0.cancellation.remove(continuation) } }
        let isShutDown = storage.withLock { storage in
            if !storage.machine.isShutDown { storage.cancellation.insert(continuation) }
            return storage.machine.isShutDown
        }
        if isShutDown { continuation.finish() }
        return stream
    }
}
