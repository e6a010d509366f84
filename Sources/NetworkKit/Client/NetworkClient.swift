public import Foundation
import FoundationNetworking

/// Sends the requests of an app, with the indicator built in.
///
/// ```swift
/// let client = NetworkClient(interceptors: [.bearerToken(token)])
/// let feed = try await client.send(Store.topFree(limit: 10)).decode(Feed.self)
/// ```
///
/// Every request posts `indicatorTaskDidResume`, `indicatorTaskDidSuspend` and `indicatorTaskDidComplete`, so that an indicator that
/// observes `.indicator` shows it, with the method and path as its label and with its progress. Any thread may use a client; its
/// connections are kept for as long as it lives.
public final class NetworkClient: Sendable {
    private let interceptors: [RequestInterceptor]
    private let validation: ResponseValidation
    private let retry: RetryPolicy
    private let cache: ResponseCache?
    private let center: NotificationCenter
    private let clock: any Clock<Duration>
    private let transport: Transport
    private let session: URLSession

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - interceptors: what changes every request before it is sent.
    ///   - validation: which responses are errors, where a route does not say.
    ///   - retry: when a request that failed is sent again; by default never.
    ///   - cache: where responses are kept; by default nowhere.
    ///   - options: redirects, sizes, connections.
    ///   - center: where the indicator's notifications are posted.
    ///   - clock: what the waits between attempts go by.
    public init(
        interceptors: [RequestInterceptor] = [],
        validation: ResponseValidation = .init(),
        retry: RetryPolicy = .never,
        cache: ResponseCache? = nil,
        options: NetworkClientOptions = .init(),
        notificationCenter center: NotificationCenter = .default,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.interceptors = interceptors
        self.validation = validation
        self.retry = retry
        self.cache = cache
        self.center = center
        self.clock = clock
        transport = Transport(limits: .init(redirects: options.maximumRedirects, bodySize: options.maximumBodySize))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = options.maximumConnectionsPerHost
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        // On Linux the session takes this timeout for all requests and that of a request for none: see Transfer.watch.
        configuration.timeoutIntervalForRequest = 7 * 86_400
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        options.configureSession(configuration)
        session = URLSession(configuration: configuration, delegate: transport, delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    /// Sends a request and waits for the whole response. Cancelling the Swift task cancels the request.
    ///
    /// - Parameters:
    ///   - route: what to ask for.
    ///   - onProgress: is told how far the request has come, on a thread of the system's.
    /// - Throws: ``NetworkError``, what an interceptor threw, or `CancellationError`.
    public func send(
        _ route: some RequestRoute,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> NetworkResponse {
        try await makeTask(route, onProgress).runToEnd { [self] in try await perform(route, control: $0) }
    }

    /// Starts a request that can be paused, and goes on when nobody waits for it.
    ///
    /// - Parameters:
    ///   - route: what to ask for.
    ///   - onProgress: is told how far the request has come, on a thread of the system's.
    public func start(
        _ route: some RequestRoute,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> NetworkTask {
        let task = makeTask(route, onProgress)
        task.run { [self] in try await perform(route, control: $0) }
        return task
    }

    private func makeTask(
        _ route: some RequestRoute,
        _ onProgress: (@Sendable (TransferProgress) -> Void)?
    ) -> NetworkTask {
        let request = route.request
        let path = (try? request.url(relativeTo: route.baseURL).path(percentEncoded: false)) ?? request.path.encoded
        return NetworkTask(
            label: request.label ?? "\(request.method.rawValue) \(path.isEmpty ? "/" : path)",
            method: request.method.rawValue,
            center: center,
            onProgress: onProgress
        )
    }

    // MARK: - One request

    private func perform(_ route: some RequestRoute, control: TransferControl) async throws -> NetworkResponse {
        let description = route.request
        var request = try description.urlRequest(relativeTo: route.baseURL)
        let body = try await PreparedBody.prepare(description.body)
        if let type = body.contentType { request.setValue(type, forHTTPHeaderField: "Content-Type") }
        var attempt = 1
        while true {
            do {
                try Task.checkCancellation()
                let response = try await attemptRequest(request, body: body, control: control)
                try (description.validation ?? validation).check(response)
                return response
            } catch {
                let chance = Double.random(in: 0...1)
                guard !Task.isCancelled else { throw CancellationError() }
                guard
                    let delay = retry.delay(
                        afterAttempt: attempt,
                        of: description.method,
                        error: error,
                        chance: chance
                    )
                else { throw error }
                try await clock.sleep(for: delay)
                attempt += 1
            }
        }
    }

    private func attemptRequest(
        _ request: URLRequest,
        body: PreparedBody,
        control: TransferControl
    ) async throws -> NetworkResponse {
        var request = request
        for interceptor in interceptors { try await interceptor.apply(to: &request) }
        try request.checkHeaders()
        guard let cache else { return NetworkResponse(try await exchange(request, body: body, control: control)) }
        return try await cache.respond(to: request) { request in
            try await self.exchange(request, body: body, control: control)
        }
    }

    private func exchange(
        _ request: URLRequest,
        body: PreparedBody,
        control: TransferControl
    ) async throws -> TransportResponse {
        var request = request
        // What the cache may do is decided by then.
        request.cachePolicy = .reloadIgnoringLocalCacheData
        control.progress { progress in
            progress = TransferProgress()
            progress.bytesToSend = body.count
        }
        return try await transport.send(request, body: body.transportBody, session: session, control: control)
    }
}

extension NetworkResponse {
    init(_ response: TransportResponse, source: Source = .network) {
        self.init(
            url: response.url,
            status: response.status,
            headers: response.headers,
            data: response.data,
            source: source
        )
    }
}
