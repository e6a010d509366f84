extension IndicatorManager {
    /// The state of the indicator as it changes: first the present one, then the latest whenever there is a newer.
    ///
    /// Every subscriber has its own. The latest value wins: a slow subscriber misses what came in between and always ends at
    /// the truth. A change of visibility is delivered at once, other changes at most ten times a second. The sequence ends when
    /// the manager is shut down or deallocated.
    public var snapshots: IndicatorSnapshots {
        let (stream, continuation) = AsyncStream.makeStream(
            of: IndicatorSnapshot.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let id: Int? = core.withLock { core in
            word.watch()
            let snapshot = snapshot(of: core)
            guard !core.isShutDown else {
                continuation.yield(snapshot)
                return nil
            }
            defer { core.publisher.watchCount(word) }
            return core.publisher.subscribe(continuation, first: snapshot)
        }
        guard let id else {
            continuation.finish()
            return IndicatorSnapshots(stream: stream)
        }
        continuation.onTermination = { [weak self] _ in
            self?.core.withLock { $0.publisher.unsubscribe(id) }
        }
        return IndicatorSnapshots(stream: stream)
    }
}

/// The state of an indicator as it changes. See ``IndicatorManager/snapshots``.
public struct IndicatorSnapshots: AsyncSequence, Sendable {
    /// What the sequence delivers.
    public typealias Element = IndicatorSnapshot
    /// The sequence never fails.
    public typealias Failure = Never

    let stream: AsyncStream<IndicatorSnapshot>

    /// Delivers the snapshots of one subscriber.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: AsyncStream<IndicatorSnapshot>.Iterator

        /// The next snapshot; `nil` when there will be no more.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> IndicatorSnapshot? {
            await base.next(isolation: actor)
        }
    }

    /// Begins to deliver. Iterate each sequence once; `snapshots` gives a new one each time.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: stream.makeAsyncIterator())
    }
}
