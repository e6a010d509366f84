import DequeModule
import IndicatorThreads

/// What a watcher of a bus or of a broker reports.
package enum WatchReport: Sendable, Hashable {
    case event(WatchEvent)
    /// The indicators that were already there have been reported.
    case listed
    /// A notice for the user, on standard error.
    case notice(String)
}

/// Reports that the output has not taken. When there are many, only the latest of each indicator is kept.
struct WatchBacklog: Sendable {
    /// How many reports are kept as they are.
    static let limit = 1000
    /// Of how many indicators the latest report is kept.
    static let sourceLimit = 200_000

    private var reports: Deque<WatchReport> = []
    /// The latest of each indicator, after ``reports``, in the order of the first one.
    private var latest: [String: WatchEvent] = [:]
    private var order: Deque<String> = []
    private var droppedCount = 0

    var count: Int { reports.count + latest.count }

    mutating func append(_ report: WatchReport) {
        guard case .event(let event) = report, reports.count >= Self.limit || !order.isEmpty else {
            return reports.append(report)
        }
        let name = event.source.name
        if event.event == .finished {
            droppedCount += 1
        } else if let earlier = latest[name] {
            droppedCount += 1
            latest[name] = event
            if earlier.event == .appeared, event.event == .changed { latest[name]?.event = .appeared }
        } else if latest.count < Self.sourceLimit {
            latest[name] = event
            order.append(name)
        } else {
            droppedCount += 1
        }
    }

    /// The oldest report, and at the end the number of those dropped.
    mutating func take() -> WatchReport? {
        if let report = reports.popFirst() { return report }
        if let event = order.popFirst().flatMap({ latest.removeValue(forKey: $0) }) { return .event(event) }
        guard droppedCount > 0 else { return nil }
        defer { droppedCount = 0 }
        return .notice("\(droppedCount) events were not printed, because the output was blocked")
    }
}

/// Passes reports from the thread of a watcher, which never waits for the output, to the task that prints them.
final class WatchFeed: Sendable {
    private let backlog = Locked(WatchBacklog())
    private let waker: AsyncThrowingStream<Void, any Error>.Continuation
    /// An element when there may be something to do, for one reader.
    let wakes: AsyncThrowingStream<Void, any Error>

    init() {
        (wakes, waker) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func add(_ report: WatchReport) {
        backlog.withLock { $0.append(report) }
        waker.yield()
    }

    func take() -> WatchReport? { backlog.withLock { $0.take() } }

    func wake() { waker.yield() }

    func end(_ error: (any Error)? = nil) { waker.finish(throwing: error) }
}
