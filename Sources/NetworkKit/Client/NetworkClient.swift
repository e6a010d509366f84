public import Foundation
import HTTPTypes
public import IndicatorCore

/// Sends the requests of an app, with the indicator built in.
///
/// ```swift
/// let client = NetworkClient(interceptors: [.bearerToken(token)])
/// let feed = try await client.send(Store.topFree(limit: 10)).decode(Feed.self)
/// ```
///
/// Every request posts `indicatorTaskDidResume`, `indicatorTaskDidSuspend`, `indicatorTaskDidProgress` and
/// `indicatorTaskDidComplete`, so that an indicator that observes `.indicator` shows it, with the method and path as
/// its label and with its progress.
///
/// The requests go through libcurl, on one thread of the client's: HTTP/1.1 and 2, TLS, compression, proxies as the
/// environment says (`https_proxy`, `no_proxy`). Any thread may use a client; its connections are kept for as long as
/// it lives.
public final class NetworkClient: Sendable {
    private let interceptors: [Interceptor]
    let validation: NetworkResponse.Validation
    private let retry: Retry
    private let cache: ResponseCache?
    private let center: NotificationCenter
    private let clock: any Clock<Duration>
    private let options: Options
    private let loop: CurlLoop

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - interceptors: what changes every request before it is sent.
    ///   - validation: which responses are errors, where a route does not say.
    ///   - retry: when a request that failed is sent again; by default never.
    ///   - cache: where responses are kept; by default nowhere.
    ///   - options: redirects, sizes, connections, cookies.
    ///   - center: where the indicator's notifications are posted.
    ///   - clock: what measures the waits between attempts.
    public init(
        interceptors: [Interceptor] = [],
        validation: NetworkResponse.Validation = .init(),
        retry: Retry = .never,
        cache: ResponseCache? = nil,
        options: Options = .init(),
        notificationCenter center: NotificationCenter = .default,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.interceptors = interceptors
        self.validation = validation
        self.retry = retry
        self.cache = cache
        self.center = center
        self.clock = clock
        self.options = options
        loop = CurlLoop(options)
    }

    deinit {
        loop.close()
    }

    /// Sends a request and waits for the whole response. Cancelling the Swift task cancels the request.
    ///
    /// - Parameters:
    ///   - route: what to ask for.
    ///   - container: the indicator or the group in which the request is an activity; by default it announces itself by
    ///     notifications, to every indicator that observes them.
    ///   - onProgress: called with how far the request has come, on the network's thread.
    /// - Throws: ``NetworkError``, what an interceptor threw, or `CancellationError`.
    public func send(
        _ route: some RequestRoute,
        in container: (any ActivityContainer)? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> NetworkResponse {
        let task = makeTask(route, in: container, onProgress)
        return try await task.run { try await whole(route, task) }
    }

    /// Starts a request that can be paused, and goes on when nobody waits for it.
    ///
    /// - Parameters:
    ///   - route: what to ask for.
    ///   - onProgress: called with how far the request has come, on the network's thread.
    public func start(
        _ route: some RequestRoute,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> NetworkTask {
        let task = makeTask(route, onProgress)
        task.run { [self] in try await whole(route, task) }
        return task
    }

    func makeTask(
        _ route: some RequestRoute,
        in container: (any ActivityContainer)? = nil,
        _ onProgress: (@Sendable (TransferProgress) -> Void)?
    ) -> NetworkTask {
        let request = route.request
        let path = (try? request.url(relativeTo: route.baseURL).path(percentEncoded: false)) ?? request.path.encoded
        let label = (request.label ?? "\(request.method.rawValue) \(path.isEmpty ? "/" : path)").withoutControls
        return NetworkTask(label: label, container: container, center: center, onProgress: onProgress)
    }

    /// The request as a command line of the `curl` program, to be tried by hand: with what interceptors add, and
    /// without secrets: sensitive header fields, passwords, the body, and values in the query whose names sound like
    /// secrets.
    ///
    /// - Throws: ``NetworkError/invalidRequest(_:)``, or what an interceptor threw.
    public func curlDescription(of route: some RequestRoute) async throws -> String {
        let description = route.request
        let body = try await blocking { try description.body.prepared() }
        var request = try description.networkRequest(relativeTo: route.baseURL, body)
        for interceptor in interceptors { try await interceptor.change(&request) }
        return try request.checked().curlDescription(body)
    }

    // MARK: - One request

    private func whole(_ route: some RequestRoute, _ task: NetworkTask) async throws -> NetworkResponse {
        try await perform(route, task) { request, body in
            let response =
                if let cache {
                    try await cache.respond(to: request, addsCookies: options.keepsCookies) {
                        try await receive($0, body, task)
                    }
                } else {
                    NetworkResponse(try await receive(request, body, task))
                }
            try (route.request.validation ?? validation).check(response)
            return response
        }
    }

    /// Sends a request, as often as it takes.
    func perform<Value: Sendable>(
        _ route: some RequestRoute,
        _ task: NetworkTask,
        _ attempt: (NetworkRequest, RequestBody?) async throws -> Value
    ) async throws -> Value {
        let description = route.request
        let body = try await blocking { try description.body.prepared() }
        let request = try description.networkRequest(relativeTo: route.baseURL, body)
        task.begins(bytesToSend: body?.count ?? 0)
        var number = 1
        while true {
            do {
                try Task.checkCancellation()
                var request = request
                for interceptor in interceptors { try await interceptor.change(&request) }
                return try await attempt(request.checked(), body)
            } catch {
                guard !Task.isCancelled else { throw CancellationError() }
                guard
                    let delay = retry.delay(
                        afterAttempt: number,
                        of: description.method,
                        error: error,
                        chance: .random(in: 0...1)
                    )
                else { throw error }
                task.retries(number, of: retry.maximumAttempts - 1)
                retry.onRetry(.init(number: number, count: retry.maximumAttempts - 1, delay: delay, error: error))
                try await clock.sleep(for: delay)
                number += 1
            }
        }
    }

    /// Receives a response into memory.
    private func receive(_ request: NetworkRequest, _ body: RequestBody?, _ task: NetworkTask) async throws
        -> ReceivedResponse
    {
        let (head, transfer) = try await open(request, body, task)
        guard let data = try await transfer.collect(limit: options.maximumBodySize) else {
            throw NetworkError.responseTooLarge(head.url, limit: options.maximumBodySize)
        }
        return ReceivedResponse(head: head, data: data)
    }

    /// Sends a request, follows redirects, and waits for the head of the response.
    func open(_ request: NetworkRequest, _ body: RequestBody?, _ task: NetworkTask) async throws
        -> (ResponseHead, Transfer)
    {
        var request = request
        var body = body
        let deadline = request.timeLimit.limit.map { ContinuousClock.now + $0 }
        var visited: [URL] = []
        while true {
            visited.append(request.url)
            let transfer = Transfer(request, body: body, loop: loop, deadline: deadline) { progress in
                task.progressed { $0.count(progress) }
            }
            task.attach(transfer)
            var head = try await transfer.head()
            guard let next = try request.redirected(by: head) else {
                head.isRedirected = visited.count > 1
                return (head, transfer)
            }
            guard visited.count <= options.maximumRedirects else {
                transfer.cancel()
                throw NetworkError.tooManyRedirects(visited)
            }
            // So that the connection can be used again, if that does not take long.
            _ = try await transfer.collect(limit: 1 << 16)
            request = next.request
            if !next.keepsBody { body = nil }
        }
    }
}

extension TransferProgress {
    fileprivate mutating func count(_ progress: Transfer.Progress) {
        switch progress {
        case .sent(let count): bytesSent = count
        case .began(let total): (bytesReceived, bytesToReceive) = (0, total)
        case .received(let count): bytesReceived += Int64(count)
        }
    }
}

/// A whole response as it came over the network.
struct ReceivedResponse: Sendable {
    var head: ResponseHead
    var data: Data
}

extension NetworkResponse {
    init(_ response: ReceivedResponse, source: Source = .network) {
        self.init(
            url: response.head.url,
            status: response.head.status,
            headers: response.head.headers,
            data: response.data,
            source: source
        )
    }
}
