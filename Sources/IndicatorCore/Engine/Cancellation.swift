/// A user's request to cancel what the indicator shows.
public struct CancellationRequest: Sendable, Hashable {
    /// The label that the indicator had then, if any.
    public let label: String?

    /// Makes a request, for the tests of an app.
    public init(label: String? = nil) {
        self.label = label
    }
}

/// The requests to cancel what an indicator shows. Each iteration is a subscriber, until its iterator is released.
struct CancellationRequests: AsyncSequence, Sendable {
    let engine: IndicatorEngine

    func makeAsyncIterator() -> AsyncStream<CancellationRequest>.Iterator {
        LatestValues.stream { values in
            let subscriber = CancellationSubscriber(values)
            engine.add(subscriber)
            return (subscriber.take, { engine.remove(subscriber) })
        }
        .makeAsyncIterator()
    }
}

/// The requests that wait for one iteration, in order: the last ``capacity``.
final class CancellationSubscriber: Sendable {
    private static var capacity: Int { 16 }

    let values: LatestValues
    private let state = Locked((requests: [CancellationRequest](), isFinished: false))

    fileprivate init(_ values: LatestValues) {
        self.values = values
    }

    /// Called under the engine's lock, which keeps the order; then signal ``values``.
    fileprivate func post(_ request: CancellationRequest) {
        state.withLock { state in
            if state.requests.count == Self.capacity { state.requests.removeFirst() }
            state.requests.append(request)
        }
    }

    /// No more requests follow. Called as ``post(_:)``.
    func finish() { state.withLock { $0.isFinished = true } }

    fileprivate func take(last: CancellationRequest?) -> (value: CancellationRequest?, isLast: Bool) {
        state.withLock { state in
            state.requests.isEmpty ? (nil, state.isFinished) : (state.requests.removeFirst(), false)
        }
    }
}

extension IndicatorEngine {
    /// Passes a request to cancel to those that are subscribers now. Returns immediately, and `false` if there are
    /// none.
    @discardableResult
    package func requestCancellation(_ request: CancellationRequest = CancellationRequest()) -> Bool {
        let subscribers = storage.withLock { storage in
            for subscriber in storage.cancellation { subscriber.post(request) }
            return storage.cancellation
        }
        for subscriber in subscribers { subscriber.values.signal() }
        return !subscribers.isEmpty
    }

    fileprivate func add(_ subscriber: CancellationSubscriber) {
        change { storage in
            if storage.machine.isShutDown { subscriber.finish() } else { storage.cancellation.append(subscriber) }
        }
    }

    fileprivate func remove(_ subscriber: CancellationSubscriber) {
        change { storage in storage.cancellation.removeAll { $0 === subscriber } }
    }

    /// Changes the subscribers. Receivers are notified of the first one, and of the end of the last one.
    private func change(_ subscribers: (inout Storage) -> Void) {
        let now = time.now
        let actions: Actions? = storage.withLock { storage in
            subscribers(&storage)
            let isCancellable = !storage.cancellation.isEmpty
            return storage.machine.setCancellable(isCancellable, at: now).map { Actions($0, storage) }
        }
        if let actions { perform(actions) }
    }
}
