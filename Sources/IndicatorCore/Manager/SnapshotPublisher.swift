import Foundation

/// Hands snapshots to the backends and to the subscribers of `snapshots`.
///
/// A change of visibility goes out at once. Everything else (count, label, progress, the other states) goes out at most every
/// ``interval``: at once if that has passed, else when it has.
struct SnapshotPublisher: Sendable {
    /// The least time between two snapshots that do not change the visibility: a tenth of a second.
    static var interval: Duration { .milliseconds(100) }

    private(set) var runners: [BackendRunner] = []
    private var subscribers: [Int: AsyncStream<IndicatorSnapshot>.Continuation] = [:]
    private var nextSubscriberID = 0
    private var latest: IndicatorSnapshot?
    private var publishedAt: Duration?
    private var nextRefresh = Int64.min

    /// When the changes that were held back are to go out.
    private(set) var refreshDue: Duration?

    /// Whether anyone wants to hear of changes that do not change the visibility.
    var isInterested: Bool {
        !subscribers.isEmpty || runners.contains { $0.delivery.includesHidden || latest?.isVisible == true }
    }

    mutating func publish(_ snapshot: IndicatorSnapshot, at now: Duration) {
        latest = snapshot
        publishedAt = now
        nextRefresh = (now + Self.interval).wholeNanoseconds
        refreshDue = nil
        for runner in runners { runner.post(snapshot, at: now) }
        for subscriber in subscribers.values { subscriber.yield(snapshot) }
    }

    /// Publishes a snapshot unless it says nothing new.
    mutating func refresh(_ snapshot: IndicatorSnapshot, at now: Duration) {
        refreshDue = nil
        if snapshot != latest { publish(snapshot, at: now) }
    }

    /// Whether a change may go out now. If not, it is noted for later.
    mutating func mayRefresh(_ time: TimeSource) -> Bool {
        guard let publishedAt, time.isBefore(nextRefresh) else { return true }
        refreshDue = publishedAt + Self.interval
        return false
    }

    /// Asks to be told of the next change of the count if anyone wants to hear of it.
    func watchCount(_ word: borrowing ActivityWord) {
        if isInterested { word.watch() } else { word.unwatch() }
    }

    mutating func add(_ runner: BackendRunner, first snapshot: IndicatorSnapshot, at now: Duration) {
        runners.append(runner)
        runner.post(snapshot, at: now)
    }

    mutating func remove(_ runner: BackendRunner) {
        runners.removeAll { $0 === runner }
    }

    mutating func subscribe(
        _ continuation: AsyncStream<IndicatorSnapshot>.Continuation,
        first snapshot: IndicatorSnapshot
    ) -> Int {
        defer { nextSubscriberID += 1 }
        subscribers[nextSubscriberID] = continuation
        continuation.yield(snapshot)
        return nextSubscriberID
    }

    mutating func unsubscribe(_ id: Int) {
        subscribers[id] = nil
    }

    mutating func removeSubscribers() -> [AsyncStream<IndicatorSnapshot>.Continuation] {
        defer { subscribers = [:] }
        return Array(subscribers.values)
    }

    /// Lets everyone go without waiting: the manager is gone.
    mutating func abandon(at now: Duration) {
        if var last = latest, last.isVisible {
            last.state = .inactive
            last.since = Date()
            publish(last, at: now)
        }
        for subscriber in subscribers.values { subscriber.finish() }
        for runner in runners { runner.abandon(at: now) }
    }
}
