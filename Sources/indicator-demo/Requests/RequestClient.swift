import Foundation
import IndicatorCore
import IndicatorTracking
import NetworkKit

/// Makes the requests of a run with NetworkKit, as an app would, and records them.
final class RequestClient: Sendable {
    /// How a request is announced to the indicator, and what happens to it.
    enum Handling: Sendable, Hashable {
        /// Announced by the notifications of `TaskNotifications.indicator`.
        case usual
        /// Announced by the tracker that is attached to the indicator, whose values are the request's steps.
        case inSteps
        case cancelled(after: Duration)
        case suspended(after: Duration, for: Duration)
    }

    /// The request of the current Swift task, which posts the request's first notification.
    @TaskLocal private static var current: RequestID?

    private let client: NetworkClient
    /// Posts its notifications where nothing observes them.
    private let silentClient: NetworkClient
    private let tracker = ActivityTracker<RequestStep>()
    private let recorder: RunRecorder
    private let inProgress = Locked<[ObjectIdentifier: RequestID]>([:])

    /// Creates a client whose requests the indicator shows, with a cache in memory.
    ///
    /// - Parameters:
    ///   - indicator: the indicator.
    ///   - observed: the center in which the indicator observes `TaskNotifications.indicator`.
    ///   - recorder: records when the requests begin, pause and end.
    init(indicator: IndicatorManager, observing observed: NotificationCenter = .default, recorder: RunRecorder) {
        self.recorder = recorder
        let cache = ResponseCache(directory: nil)
        var options = NetworkClient.Options()
        options.maximumConnectionsPerHost = 16
        client = NetworkClient(cache: cache, options: options, notificationCenter: observed)
        silentClient = NetworkClient(cache: cache, options: options, notificationCenter: NotificationCenter())
        tracker.attach(to: indicator, label: { $0.label }, progress: { $0.progress })
        for name in [Notification.Name.indicatorTaskDidResume, .indicatorTaskDidSuspend, .indicatorTaskDidComplete] {
            _ = observed.addObserver(forName: name, object: nil, queue: nil) { [weak self] in self?.record($0) }
        }
    }

    private func record(_ notification: Notification) {
        guard let task = notification.object as? NetworkTask else { return }
        let key = ObjectIdentifier(task)
        let event: RunRecorder.Event? = inProgress.withLock { inProgress in
            guard let id = inProgress[key] else {
                inProgress[key] = Self.current
                return Self.current.map { .request($0, .began) }
            }
            switch notification.name {
            case .indicatorTaskDidResume: return .request(id, .resumed)
            case .indicatorTaskDidSuspend: return .request(id, .suspended)
            default:
                inProgress[key] = nil
                return .request(id, .ended)
            }
        }
        if let event { recorder.note(event, at: recorder.now) }
    }

    /// Makes a request and waits for its end.
    func send(_ route: some RequestRoute, as id: RequestID, title: String, _ handling: Handling = .usual)
        async throws -> NetworkResponse
    {
        if handling == .inSteps { return try await sendInSteps(route, as: id, title: title) }
        return try await Self.$current.withValue(id) { () async throws -> NetworkResponse in
            guard handling != .usual else { return try await client.send(route) }
            let task = client.start(route)
            let interfering = Task { try await Self.interfere(with: task, handling) }
            defer { interfering.cancel() }
            return try await withTaskCancellationHandler {
                try await task.response
            } onCancel: {
                task.cancel()
            }
        }
    }

    private func sendInSteps(_ route: some RequestRoute, as id: RequestID, title: String)
        async throws -> NetworkResponse
    {
        let activity = tracker.begin(RequestStep(title))
        recorder.note(.request(id, .began), at: recorder.now)
        defer {
            activity.end()
            recorder.note(.request(id, .ended), at: recorder.now)
        }
        return try await silentClient.send(route) { activity.update(RequestStep(title, $0)) }
    }

    private static func interfere(with task: NetworkTask, _ handling: Handling) async throws {
        switch handling {
        case .usual, .inSteps: break
        case .cancelled(let delay):
            try await Task.sleep(for: delay)
            task.cancel()
        case .suspended(let delay, let pause):
            try await Task.sleep(for: delay)
            task.suspend()
            try await Task.sleep(for: pause)
            task.resume()
        }
    }
}
