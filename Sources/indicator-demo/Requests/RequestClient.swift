import Foundation
import FoundationNetworking
import IndicatorCore

/// Makes requests with `URLSession`, and tells the indicator of them as an app does.
///
/// On Linux `URLSession` posts no notifications, and calls the methods of its delegate for the end of a task only when the task
/// was made without a completion handler; so the delegate is where requests end.
final class RequestClient: NSObject, URLSessionDataDelegate, Sendable {
    private struct Running: Sendable {
        var number: Int
        var title: String
        /// Of a request whose steps are tracked.
        var activity: ManagedTrackedActivity<RequestStep>?
        var received: Int64 = 0
        var continuation: CheckedContinuation<RequestOutcome, Never>
    }

    private let baseURL: URL
    private let closedPort: ClosedPort?
    /// Drives the indicator for the requests whose steps are tracked.
    private let tracker = ActivityTracker<RequestStep>()
    private let recorder: RunRecorder
    private let running = Locked<[Int: Running]>([:])
    private let session = Locked<URLSession?>(nil)

    /// Makes a client of a server.
    init(baseURL: URL, indicator: IndicatorManager, recorder: RunRecorder) {
        self.baseURL = baseURL
        self.recorder = recorder
        closedPort = ClosedPort()
        super.init()
        tracker.attach(to: indicator, label: { $0.label }, progress: { $0.progress })
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 30
        configuration.httpMaximumConnectionsPerHost = 16
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        self.session.withLock { $0 = session }
    }

    /// Ends all requests, and lets go of the session, which holds its delegate.
    func invalidate() {
        session.withLock { session in
            session?.invalidateAndCancel()
            session = nil
        }
    }

    /// Makes a request and waits until it has ended.
    func perform(_ plan: PlannedRequest, number: Int) async -> RequestOutcome {
        guard let task = task(for: plan) else { return .failed("the client was closed") }
        let interference = Task { try await self.interfere(with: task, of: plan) }
        defer { interference.cancel() }
        return await withCheckedContinuation { continuation in
            begin(task, plan: plan, number: number, continuation: continuation)
        }
    }

    private func task(for plan: PlannedRequest) -> URLSessionTask? {
        let url: URL? =
            switch plan.target {
            case .path(let path): URL(string: baseURL.absoluteString.trimmingSuffix("/") + path)
            case .closedPort: closedPort.flatMap { URL(string: "http://127.0.0.1:\($0.number)/") }
            }
        guard let url else { return nil }
        var request = URLRequest(url: url)
        request.httpMethod = plan.method
        let body = plan.uploadSize > 0 ? Data(count: plan.uploadSize) : nil
        return session.withLock { session in
            body.map { session?.uploadTask(with: request, from: $0) } ?? session?.dataTask(with: request)
        }
    }

    private func begin(
        _ task: URLSessionTask,
        plan: PlannedRequest,
        number: Int,
        continuation: CheckedContinuation<RequestOutcome, Never>
    ) {
        var entry = Running(number: number, title: plan.title, continuation: continuation)
        // Announced before it is resumed, or its end could overtake the announcement.
        recorder.note(.request(number, .began)) {
            switch plan.announcement {
            case .notifications: postResume(task, label: plan.title)
            case .steps:
                let phase = plan.uploadSize > 0 ? RequestStep.Phase.sending(fraction: 0) : .awaitingAnswer
                entry.activity = ManagedTrackedActivity(RequestStep(title: plan.title, phase: phase), in: tracker)
            }
        }
        running.withLock { [entry] in $0[task.taskIdentifier] = entry }
        task.resume()
    }

    private func interfere(with task: URLSessionTask, of plan: PlannedRequest) async throws {
        switch plan.interference {
        case .nothing: break
        case .cancelled(let delay):
            try await Task.sleep(for: delay)
            task.cancel()
        case .suspended(let delay, let pause):
            try await Task.sleep(for: delay)
            step(.suspended, of: task) {
                task.suspend()
                NotificationCenter.default.post(name: .indicatorTaskDidSuspend, object: task)
            }
            try await Task.sleep(for: pause)
            step(.resumed, of: task) {
                self.postResume(task, label: plan.title)
                task.resume()
            }
        }
    }

    /// Does something to a request that has not ended, and notes it.
    private func step(_ step: RunRecorder.Step, of task: URLSessionTask, announce: () -> Void) {
        guard let number = running.withLock({ $0[task.taskIdentifier]?.number }) else { return }
        recorder.note(.request(number, step), announce: announce)
    }

    private func postResume(_ task: URLSessionTask, label: String) {
        NotificationCenter.default.post(
            name: .indicatorTaskDidResume,
            object: task,
            userInfo: [TaskNotifications.labelKey: label]
        )
    }

    // MARK: - URLSessionDataDelegate

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let expected = dataTask.response?.expectedContentLength ?? -1
        let entry: Running? = running.withLock { running in
            running[dataTask.taskIdentifier]?.received += Int64(data.count)
            return running[dataTask.taskIdentifier]
        }
        guard let entry, expected > 0 else { return }
        go(to: .receiving(fraction: Double(entry.received) / Double(expected)), entry)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        guard totalBytesExpectedToSend > 0, let entry = running.withLock({ $0[task.taskIdentifier] }) else { return }
        let isSent = totalBytesSent >= totalBytesExpectedToSend
        let fraction = Double(totalBytesSent) / Double(totalBytesExpectedToSend)
        go(to: isSent ? .awaitingAnswer : .sending(fraction: fraction), entry)
    }

    private func go(to phase: RequestStep.Phase, _ request: Running) {
        request.activity?.update(RequestStep(title: request.title, phase: phase))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let entry = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        let outcome = RequestOutcome(response: task.response, error: error)
        recorder.note(.request(entry.number, .ended(outcome))) {
            if let activity = entry.activity {
                activity.end()
            } else {
                NotificationCenter.default.post(name: .indicatorTaskDidComplete, object: task)
            }
        }
        entry.continuation.resume(returning: outcome)
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
