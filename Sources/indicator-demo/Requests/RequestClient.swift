import Foundation
import IndicatorCore
import NetworkKit

/// Makes the requests of a run with NetworkKit, as an app would.
final class RequestClient: Sendable {
    /// An operation on a request in progress.
    enum Interference: Sendable, Hashable {
        case nothing
        case cancelled(after: Duration)
        case suspended(after: Duration, for: Duration)
    }

    private let client: NetworkClient
    private let relay: RequestRelay

    /// Creates a client whose requests the indicator shows, with a cache in memory.
    init(indicator: IndicatorManager, observing observed: NotificationCenter = .default, recorder: RunRecorder) {
        relay = RequestRelay(indicator: indicator, observing: observed, recorder: recorder)
        var options = NetworkClient.Options()
        options.maximumConnectionsPerHost = 16
        client = NetworkClient(
            cache: ResponseCache(directory: nil),
            options: options,
            notificationCenter: relay.center
        )
    }

    /// Makes a request and waits for its end.
    func send(
        _ route: some RequestRoute,
        as request: RequestRelay.Request,
        interference: Interference = .nothing
    ) async throws -> NetworkResponse {
        try await RequestRelay.$current.withValue(request) { () async throws -> NetworkResponse in
            guard interference == .nothing else { return try await start(route, as: request, interference) }
            return try await client.send(route, onProgress: progress(of: request))
        }
    }

    private func start(
        _ route: some RequestRoute,
        as request: RequestRelay.Request,
        _ interference: Interference
    ) async throws -> NetworkResponse {
        let task = client.start(route, onProgress: progress(of: request))
        let interfering = Task { try await Self.interfere(with: task, interference) }
        defer { interfering.cancel() }
        return try await withTaskCancellationHandler {
            try await task.response
        } onCancel: {
            task.cancel()
        }
    }

    private func progress(of request: RequestRelay.Request) -> (@Sendable (TransferProgress) -> Void)? {
        guard request.announcement == .steps else { return nil }
        return { [relay] in relay.progressed(request.id, to: $0) }
    }

    private static func interfere(with task: NetworkTask, _ interference: Interference) async throws {
        switch interference {
        case .nothing:
            break
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
