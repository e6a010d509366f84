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
        LatestValues.stream { [engine] values in
            engine.change { $0.append(CancellationSubscriber(values: values)) }
            return (
                { _ in engine.takeRequest(for: values) },
                { engine.change { subscribers in subscribers.removeAll { $0.values === values } } }
            )
        }
        .makeAsyncIterator()
    }
}

/// One iteration, and the requests that wait for it, in order: the last ``capacity``.
struct CancellationSubscriber: Sendable {
    static var capacity: Int { 16 }

    let values: LatestValues
    var requests: [CancellationRequest] = []
}

extension IndicatorEngine {
    /// Passes a request to cancel to those that are subscribers now. Returns immediately, and `false` if there are
    /// none.
    @discardableResult
    package func requestCancellation(_ request: CancellationRequest = CancellationRequest()) -> Bool {
        let subscribers = storage.withLock { storage in
            if storage.machine.isShutDown { return [CancellationSubscriber]() }
            for index in storage.cancellation.indices {
                let requests = storage.cancellation[index].requests.suffix(CancellationSubscriber.capacity - 1)
                storage.cancellation[index].requests = requests + [request]
            }
            return storage.cancellation
        }
        for subscriber in subscribers { subscriber.values.signal() }
        return !subscribers.isEmpty
    }

    /// The next request for a subscriber, if any; and if none, whether none follows.
    fileprivate func takeRequest(for values: LatestValues) -> (value: CancellationRequest?, isLast: Bool) {
        storage.withLock { storage in
            let index = storage.cancellation.firstIndex { $0.values === values && !$0.requests.isEmpty }
            guard let index else { return (nil, storage.machine.isShutDown) }
            return (storage.cancellation[index].requests.removeFirst(), false)
        }
    }

    /// Changes the subscribers. Receivers are notified of the first one, and of the end of the last one.
    fileprivate func change(_ subscribers: (inout [CancellationSubscriber]) -> Void) {
        let now = time.now
        let actions: Actions? = storage.withLock { storage in
            subscribers(&storage.cancellation)
            let isCancellable = !storage.cancellation.isEmpty
            return storage.machine.setCancellable(isCancellable, at: now).map { Actions($0, storage) }
        }
        if let actions { perform(actions) }
    }
}
