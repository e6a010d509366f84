public import Foundation
import HTTPTypes
public import IndicatorCore
public import Logging

/// An HTTP client whose requests appear in the indicator.
///
/// An indicator that observes `.indicator` shows its requests. The client uses libcurl on a thread of its own: HTTP/1.1
/// and 2, TLS, and the proxies in the environment (`https_proxy`, `no_proxy`). It is thread-safe. It reuses connections
/// and closes them when it is deallocated.
public final class NetworkClient: Sendable {
    private let interceptors: [Interceptor]
    let validation: ResponseValidation
    private let retry: RequestRetry
    private let cache: ResponseCache?
    let center: NotificationCenter
    private let clock: any Clock<Duration>
    let options: Options
    private let loop: CurlLoop
    let tasks = LiveTasks()

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - interceptors: change each request, in this order.
    ///   - validation: which responses are errors; a route can override it.
    ///   - retry: when a failed request is sent again; by default never. A route can override it.
    ///   - cache: stores responses; `nil`: none.
    ///   - options: limits, cookies and trust.
    ///   - center: where the indicator's notifications are posted.
    ///   - clock: measures the delays between attempts.
    public init(
        interceptors: [Interceptor] = [],
        validation: ResponseValidation = .init(),
        retry: RequestRetry = .never,
        cache: ResponseCache? = nil,
        options: Options = .init(),
        notificationCenter center: NotificationCenter = .default,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.interceptors, self.validation, self.retry, self.cache) = (interceptors, validation, retry, cache)
        (self.options, self.center, self.clock) = (options, center, clock)
        loop = CurlLoop(
            limit: options.maximumConnectionsPerHost,
            keepsCookies: options.keepsCookies,
            trust: options.trust,
            authorities: options.certificateAuthorities
        )
    }

    deinit { loop.close() }

    /// Sends a request and waits for the whole response. Cancelling the Swift task cancels the request.
    ///
    /// - Parameters:
    ///   - route: the endpoint.
    ///   - container: the indicator or group that the request's activity belongs to; by default the request posts
    ///     notifications for all indicators that observe them.
    ///   - onProgress: called with the latest progress; see ``NetworkTask``.
    /// - Throws: ``NetworkError``, the error of an interceptor, or `CancellationError`.
    public func send(
        _ route: some RequestRoute,
        in container: ActivityContainer? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> NetworkResponse {
        let task = NetworkTask(route, in: container, of: self, onProgress)
        return try await task.run { [self] in try await whole(task) }
    }

    /// Starts a request that can be paused, and continues even if no task waits for it.
    public func start(
        _ route: some RequestRoute,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> NetworkTask {
        let task = NetworkTask(route, of: self, onProgress)
        task.start { [self] in try await whole(task) }
        return task
    }

    /// Cancels all requests of the client that have not ended, including streams that are being read. Requests that
    /// begin later are not affected.
    public func cancelAllRequests() {
        for task in tasks.all.withLock({ Array($0.values) }) { task.cancel() }
    }

    // MARK: - One request

    private func whole(_ task: NetworkTask) async throws -> NetworkResponse {
        try await perform(task) { request, body in
            func receive(_ request: NetworkRequest) async throws -> (head: ResponseHead, data: Data) {
                let (head, data, _) = try await open(request, body, task, .whole(limit: options.maximumBodySize))
                return (head, data)
            }
            var response: NetworkResponse
            if let cache {
                var rules = cache.rules
                rules.keepsCookies = options.keepsCookies
                rules.certificate = loop.trust(of: request.url.origin).clientCertificate?.path
                response = try await cache.respond(to: request, hasBody: body != nil, rules, receive)
                try task.checkCancellation()
            } else {
                let (head, data) = try await receive(request)
                response = NetworkResponse(head, data)
            }
            try check(response, to: task.request)
            return response
        }
    }

    /// Throws if the response is an error. A redirect that is not followed is none.
    func check(_ response: NetworkResponse, to request: Endpoint) throws {
        if !request.followsRedirects, (300..<400).contains(response.status.code) { return }
        try (request.validation ?? validation).check(response)
    }

    /// Sends a request, with retries.
    func perform<Value: Sendable>(
        _ task: NetworkTask,
        _ attempt: (NetworkRequest, PreparedBody?) async throws -> Value
    ) async throws -> Value {
        let description = task.request
        let retry = description.retry ?? self.retry
        let body = try description.body.prepared()
        let types = (description.validation ?? validation).contentTypes
        let request = description.networkRequest(to: try task.url.get(), body, accepting: types)
        task.progressed { $0.bytesToSend = body?.count ?? 0 }
        var number = 1
        var hasRefreshed = false
        while true {
            var sent = request
            do {
                try task.checkCancellation()
                sent = try await changed(request, task).checked()
                return try await attempt(sent, body)
            } catch {
                try task.checkCancellation()
                if !hasRefreshed, let refresh = sent.refresh, sent.isRejected(by: error, to: task.lastMethod) {
                    hasRefreshed = true
                    try await task.call(refresh)
                    task.willRepeat()
                    continue
                }
                guard let delay = retry.delay(afterAttempt: number, of: sent.method, error: error) else {
                    throw error
                }
                task.willRepeat(retry: (number, retry.maximumAttempts - 1))
                try await task.call { [clock] in try await clock.sleep(for: delay) }
                number += 1
            }
        }
    }

    /// The request as the interceptors change it.
    private func changed(_ request: NetworkRequest, _ task: NetworkTask) async throws -> NetworkRequest {
        guard !interceptors.isEmpty else { return request }
        return try await task.call { [interceptors] in
            var changed = request
            for interceptor in interceptors { try await interceptor.change(&changed) }
            return changed
        }
    }

    /// Sends a request, follows redirects, and waits for the response, or for its head.
    func open(
        _ request: NetworkRequest,
        _ body: PreparedBody?,
        _ task: NetworkTask,
        _ delivery: Transfer.Machine.Delivery
    ) async throws -> (ResponseHead, Data, Transfer) {
        var request = request
        var body = body
        var visited: [URL] = []
        while true {
            visited.append(request.url)
            let transfer = try await transfer(request, body, task, delivery)
            task.attach(transfer)
            var (head, data) =
                switch delivery {
                case .whole: try await transfer.whole()
                case .pieces: (try await transfer.head(), Data())
                }
            guard let next = try request.redirected(by: head) else {
                head.isRedirected = visited.count > 1
                return (head, data, transfer)
            }
            guard visited.count <= 20 else { throw NetworkError.tooManyRedirects(visited) }
            data = Data()
            request = next.request
            if !next.keepsBody { body = nil }
        }
    }

    /// Creates a transfer that reports to the task and the event log.
    private func transfer(
        _ request: NetworkRequest,
        _ body: PreparedBody?,
        _ task: NetworkTask,
        _ delivery: Transfer.Machine.Delivery
    ) async throws -> Transfer {
        let logger = options.logger.flatMap { $0.logLevel <= .debug ? $0 : nil }
        let log = logger.map { ExchangeLog(logger: $0, request: request) }
        task.write(to: log, "", request.headers)
        var source: any ResponseSource = loop
        if let stub = options.stub {
            source = try await task.call { try await stub(request, body?.bytesInMemory ?? Data()) }
        }
        return Transfer(request, body: body, delivery: delivery, source: source) { event in
            switch event {
            case .began(let head, _): task.write(to: log, ": status \(head.status.code)", head.headers)
            case .ended(let count, let error):
                return task.write(to: log, ": \(error.map { "\($0)" } ?? "\(count) bytes")")
            case .sent, .received: break
            }
            task.progressed { $0.count(event, of: request) }
        }
    }
}

extension NetworkClient {
    /// The cookies that the client keeps (``Options/keepsCookies``), for example to save them when the app ends.
    public func cookies() async -> [Cookie] { await loop.withCookies { Cookie.all(of: $0) } ?? [] }

    /// Adds cookies, for example those that an earlier run of the app has saved. One with the same name, domain and
    /// path is replaced. No effect if the client keeps no cookies.
    public func addCookies(_ cookies: [Cookie]) async {
        await loop.withCookies { [loop] handle in
            Cookie.change(cookies.map(\.rawValue), of: handle)
            loop.cookiesArrived(cookies.count)
        }
    }

    /// Removes all cookies, for example when the user logs out.
    public func removeCookies() async { await loop.withCookies { Cookie.change(["ALL"], of: $0) } }

    /// Settings of a client that few apps change.
    public struct Options: Sendable {
        /// The maximum length of a response's body that is held in memory, in bytes. Default 512 MiB.
        public var maximumBodySize = 512 << 20
        /// The maximum number of connections to a scheme, host and port. Default 6, minimum 1. The details are in
        /// <doc:SendingRequests>.
        public var maximumConnectionsPerHost = 6
        /// Whether the client stores cookies in memory and sends them back (RFC 6265). Default no. See
        /// ``NetworkClient/cookies()``.
        public var keepsCookies = false
        /// A PEM file of certificates that are trusted instead of the system's, such as those of a company's own
        /// authority. Default `nil`: the system's. If the file cannot be read, requests over TLS fail with an error.
        public var certificateAuthorities: URL?
        /// Pinned keys, client certificates and authorities, by the names of hosts, such as `store.example.com`,
        /// `bücher.example` or `::1`. Other hosts are trusted as usual.
        public var trust: [String: HostTrust] = [:]
        /// Logs each step of each exchange without secrets, at the level `debug`: a line, and the header fields as
        /// metadata. Default `nil`. It runs on threads for that purpose. A request waits for it at its end.
        public var logger: Logger?
        /// Answers requests instead of the network.
        package var stub: (@Sendable (NetworkRequest, Data) async throws -> any ResponseSource)?

        /// Creates the default options.
        public init() {}
    }
}

extension NetworkRequest {
    /// Whether the server, not another one after a redirect, responded with status 401 to the last exchange's method.
    /// A POST that has become a GET was processed, and is not sent again.
    fileprivate func isRejected(by error: any Error, to last: HTTPRequest.Method?) -> Bool {
        guard case .unacceptableStatus(let failure)? = error as? NetworkError, method.isIdempotent || last == method
        else { return false }
        return failure.status == .unauthorized && failure.url.origin == url.origin
    }
}

extension TransferProgress {
    fileprivate mutating func count(_ event: TransferEvent, of request: NetworkRequest) {
        switch event {
        case .sent(let count): bytesSent = count
        case .began(let head, let count):
            bytesReceived = head.status == .partialContent && head.range?.first == request.start ? request.start : 0
            bytesReceivedEarlier = bytesReceived
            isErrorPage = head.status.code >= 400
            bytesToReceive = isErrorPage ? nil : count.map { min($0, .max - bytesReceived) + bytesReceived }
        case .received(let count) where !isErrorPage: bytesReceived += Int64(count)
        case .received, .ended: break
        }
    }
}
