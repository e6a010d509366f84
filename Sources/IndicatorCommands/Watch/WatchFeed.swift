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

    private var reports: [WatchReport] = []
    /// Where the latest event of an indicator is, of those beyond the limit.
    private var latest: [String: Int] = [:]
    private var droppedCount = 0

    mutating func append(_ report: WatchReport) {
        guard reports.count >= Self.limit, case .event(var event) = report else { return reports.append(report) }
        if event.event == .finished {
            droppedCount += 1
        } else if let index = latest[event.source.name], case .event(let earlier) = reports[index] {
            droppedCount += 1
            if earlier.event == .appeared, event.event == .changed { event.event = .appeared }
            reports[index] = .event(event)
        } else {
            latest[event.source.name] = reports.count
            reports.append(report)
        }
    }

    /// All reports, and at the end the number of those dropped.
    mutating func takeAll() -> [WatchReport] {
        defer { self = Self() }
        guard droppedCount > 0 else { return reports }
        return reports + [.notice("\(droppedCount) events were not printed, because the output was blocked")]
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

    func takeAll() -> [WatchReport] { backlog.withLock { $0.takeAll() } }

    func wake() { waker.yield() }

    func end(_ error: (any Error)? = nil) { waker.finish(throwing: error) }
}
