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

extension IndicatorEngine {
    /// Requests that the work is cancelled. Returns `false` if that reaches nobody.
    package func requestCancellation() -> Bool {
        guard let cancellation = keptResource(Cancellation.self), cancellation.isPossible else { return false }
        cancellation.request(CancellationRequest())
        return true
    }
}

/// The subscribers to requests to cancel what an indicator shows.
///
/// Nothing foreign runs under the lock. Continuations are resumed on a thread for such work: a calling thread may hold
/// the status lock of a task.
final class Cancellation: ManagerResource {
    private typealias Continuation = AsyncStream<CancellationRequest>.Continuation

    private struct State: Sendable {
        var subscribers: [Int: Continuation] = [:]
        var lastNumber = 0
        var isClosed = false
    }

    private let state = Locked(State())

    /// Whether a request would reach anyone.
    var isPossible: Bool { state.withLock { !$0.subscribers.isEmpty } }

    /// Passes the request to those that are subscribers now. Returns immediately.
    func request(_ request: CancellationRequest) {
        Self.resume(state.withLock { $0.subscribers }) { $0.yield(request) }
    }

    func requests() -> AsyncStream<CancellationRequest> {
        let (stream, continuation) = AsyncStream<CancellationRequest>.makeStream(bufferingPolicy: .bufferingNewest(16))
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastNumber += 1
            state.subscribers[state.lastNumber] = continuation
            return state.lastNumber
        }
        if let number {
            continuation.onTermination = { [self] _ in _ = state.withLock { $0.subscribers.removeValue(forKey: number) }
            }
        } else {
            continuation.finish()
        }
        return stream
    }

    func managerWillShutDown() async { managerIsGone() }

    /// Ends the requests.
    func managerIsGone() {
        let subscribers = state.withLock { state in
            state.isClosed = true
            return exchange(&state.subscribers, with: [:])
        }
        Self.resume(subscribers) { $0.finish() }
    }

    private static func resume(_ subscribers: [Int: Continuation], _ body: @escaping @Sendable (Continuation) -> Void) {
        if subscribers.isEmpty { return }
        Task.detached(executorPreference: ServiceThread.forCallersCode) {
            for subscriber in subscribers.values { body(subscriber) }
        }
    }
}
