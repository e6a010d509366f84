import Synchronization

/// Notifies one subscriber that a value has changed. The subscriber then takes the latest one, so that a slow one skips
/// those in between, and nothing grows.
package final class LatestValues: Sendable {
    /// Receives the value that was taken last, and returns what is new, if anything, and whether nothing follows.
    package typealias Take<Value> = @Sendable (_ last: Value?) -> (value: Value?, isLast: Bool)
    /// The functions of a subscription. `end` is called once, on a thread for foreign code.
    package typealias Functions<Value> = (take: Take<Value>, end: @Sendable () -> Void)

    private let notify: @Sendable () -> Void
    /// How many signals ``notify`` has not answered yet.
    private let pending = Atomic(0)

    private init(_ notify: @escaping @Sendable () -> Void) {
        self.notify = notify
    }

    /// Lets the subscriber take what is new, on a thread for foreign code, one call at a time.
    ///
    /// Not on the calling thread: that may run a cancellation handler with a task's status lock, which resuming a task
    /// takes, too.
    package func signal() {
        if pending.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue > 0 { return }
        ServiceThread.foreignCode.call(at: .min) { [self] in
            var seen = 1
            repeat {
                // Before the subscriber takes a value: a later change needs another signal.
                seen = pending.load(ordering: .acquiring)
                notify()
            } while !pending.compareExchange(expected: seen, desired: 0, ordering: .acquiringAndReleasing).exchanged
        }
    }

    /// Makes a subscription, and the stream of its values. When it ends, it does so for every loop over the stream.
    ///
    /// - Parameter begin: begins the subscription. Its `take` is called at first and after each ``signal()``, its `end`
    ///   when the stream was released or its task was cancelled.
    package static func stream<Value: Sendable>(_ begin: (LatestValues) -> Functions<Value>) -> AsyncStream<Value> {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let contents = Contents<Value>()
        contents.begin(begin(LatestValues { continuation.yield() }))
        continuation.onTermination = { _ in ServiceThread.foreignCode.call(at: .min) { contents.end() } }
        return AsyncStream(unfolding: {
            while !Task.isCancelled, let (value, isLast) = contents.take() {
                if isLast { continuation.finish() }
                if value != nil || isLast { return value }
                var iterator = signals.makeAsyncIterator()
                if await iterator.next() == nil { return nil }
            }
            return nil
        })
    }

    /// Makes a subscription, and calls a function with each of its values, and last with `nil`, on a thread for foreign
    /// code, one call at a time.
    ///
    /// - Parameters:
    ///   - begin: as for ``stream(_:)``.
    ///   - receive: returns whether the subscription goes on.
    /// - Returns: ends the subscription soon. It releases nothing.
    package static func forEach<Value: Sendable>(
        _ begin: (LatestValues) -> Functions<Value>,
        _ receive: @escaping @Sendable (Value?) -> Bool
    ) -> @Sendable () -> Void {
        let contents = Contents<Value>()
        let values = LatestValues {
            while let (value, isLast) = contents.take() {
                if value == nil, !isLast { return }
                if value == nil || !contents.deliver(value) { contents.end() }
            }
        }
        contents.begin(begin(values), receive)
        values.signal()
        return {
            contents.isCancelled.store(true, ordering: .releasing)
            values.signal()
        }
    }

    /// What a subscription refers to, until it ends, with the value that was taken last.
    ///
    /// The last reference to this object, and to the functions of the streams, may be that of a thread that runs a
    /// cancellation handler, which must release nothing of the caller's.
    private final class Contents<Value: Sendable>: Sendable {
        private struct State: Sendable {
            var functions: Functions<Value>
            var receive: @Sendable (Value?) -> Bool
            var last: Value?
        }

        private let state = Locked<State?>(nil)
        /// Whether nothing follows.
        let isCancelled = Atomic(false)

        func begin(_ functions: Functions<Value>, _ receive: @escaping @Sendable (Value?) -> Bool = { _ in true }) {
            state.withLock { $0 = State(functions: functions, receive: receive) }
        }

        /// What is new, and whether nothing follows; `nil` after the end.
        func take() -> (value: Value?, isLast: Bool)? {
            guard let (functions, last) = state.withLock({ $0.map { ($0.functions, $0.last) } }) else { return nil }
            if isCancelled.load(ordering: .acquiring) { return (nil, true) }
            let new = functions.take(last)
            if let value = new.value {
                // The old one is not released under the lock.
                _ = state.withLock { state in
                    let old = state
                    state?.last = value
                    return old
                }
            }
            return new
        }

        func deliver(_ value: Value?) -> Bool { state.withLock { $0?.receive }?(value) ?? false }

        func end() {
            guard let state = state.withLock({ $0.take() }) else { return }
            state.functions.end()
            _ = state.receive(nil)
        }
    }
}
