import TestSupport

@testable import IndicatorTracking

/// Records the statuses that a tracker reports.
final class StatusRecorder<Value: Sendable>: Sendable {
    private let storage = Locked<[ActivityStatus<Value>]>([])
    private let onStatus: (@Sendable (ActivityStatus<Value>) -> Void)?

    init(onStatus: (@Sendable (ActivityStatus<Value>) -> Void)? = nil) { self.onStatus = onStatus }

    var statuses: [ActivityStatus<Value>] { storage.withLock { $0 } }

    /// Waits until a number of statuses were reported.
    func receives(_ count: Int) async -> Bool { await eventually { statuses.count >= count } }

    fileprivate func receive(_ status: ActivityStatus<Value>) {
        storage.withLock { $0.append(status) }
        onStatus?(status)
    }
}

extension ActivityTracker {
    var subscriptionCount: Int { core.state.withLock { $0.subscriptions.count } }

    func subscribe(_ recorder: StatusRecorder<Value>) {
        Task.detached(executorPreference: ServiceThread.foreignCode) { [statuses] in
            for await status in statuses { recorder.receive(status) }
        }
    }

    /// A recorder that has subscribed and received the first status.
    func recorder() async -> StatusRecorder<Value> {
        let recorder = StatusRecorder<Value>()
        subscribe(recorder)
        #expect(await recorder.receives(1))
        return recorder
    }
}

extension ActivityStatus where Value == String {
    /// The status as the worked examples print it.
    var line: String { "\(isLoading) \(associatedValue ?? "Empty")" }
}

/// A sequence of the elements of a collection.
struct Elements<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = Never

    let elements: [Element]

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: IndexingIterator<[Element]>

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? { base.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: elements.makeIterator()) }
}
