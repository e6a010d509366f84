public import Foundation
import HTTPTypes
public import IndicatorCore

/// An HTTP client whose requests appear in the indicator.
///
/// ```swift
/// let client = NetworkClient(interceptors: [.bearerToken(token)])
/// let feed = try await client.send(Store.topFree(limit: 10)).decode(Feed.self)
/// ```
///
/// Every request posts `indicatorTaskDidResume`, `indicatorTaskDidSuspend`, `indicatorTaskDidProgress` and
/// `indicatorTaskDidComplete`. An indicator that observes `.indicator` shows it with its progress; the label is the
/// method and path.
///
/// The client uses libcurl on a thread of its own: HTTP/1.1 and 2, TLS, compression, and the proxies in the environment
/// (`https_proxy`, `no_proxy`). A client is thread-safe. It reuses connections and closes them when it is deallocated.
public final class NetworkClient: Sendable {
    private let interceptors: [Interceptor]
    let validation: ResponseValidation
    private let retry: RequestRetry
    private let cache: ResponseCache?
    private let center: NotificationCenter
    private let clock: any Clock<Duration>
    private let options: Options
    private let loop: CurlLoop
    let tasks = LiveTasks()

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - interceptors: change every request before it is sent.
    ///   - validation: which responses are errors; a route can override it.
    ///   - retry: when a failed request is sent again; by default never. A route can override it.
    ///   - cache: where responses are stored; by default nowhere.
    ///   - options: redirects, sizes, connections, cookies.
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
        self.interceptors = interceptors
        self.validation = validation
        self.retry = retry
        self.cache = cache
        self.center = center
        self.clock = clock
        self.options = options
        loop = CurlLoop(
            .init(
                maximumConnectionsPerHost: options.maximumConnectionsPerHost,
                keepsCookies: options.keepsCookies,
                trust: Dictionary(options.trust.map { ($0.key.canonicalHost, $0.value) }) { first, _ in first },
                defaultTrust: .init(certificateAuthorities: options.certificateAuthorities)
            )
        )
    }

    deinit {
        loop.close()
    }

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
        in container: (any ActivityContainer)? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> NetworkResponse {
        let task = makeTask(route, in: container, onProgress)
        return try await task.run { try await whole(task) }
    }

    /// Starts a request that can be paused, and continues even if no task waits for it.
    ///
    /// - Parameters:
    ///   - route: the endpoint.
    ///   - onProgress: called with the latest progress; see ``NetworkTask``.
    public func start(
        _ route: some RequestRoute,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> NetworkTask {
        let task = makeTask(route, onProgress)
        task.start { [self] in try await whole(task) }
        return task
    }

    func makeTask(
        _ route: some RequestRoute,
        in container: (any ActivityContainer)? = nil,
        _ onProgress: (@Sendable (TransferProgress) -> Void)?
    ) -> NetworkTask {
        let request = route.request
        let url = Result { try request.url(relativeTo: route.baseURL) }
        let path = (try? url.get().path(percentEncoded: false)) ?? request.path.encoded
        let label = (request.label ?? "\(request.method.rawValue) \(path.isEmpty ? "/" : path)").withoutControls
        return NetworkTask(
            request,
            to: url,
            label: label,
            container: container,
            center: center,
            onProgress: onProgress,
            onEvent: options.onEvent,
            tasks: tasks
        )
    }

    /// Cancels all requests of the client that have not ended, including streams that are being read. Requests that
    /// begin later are not affected.
    public func cancelAllRequests() {
        tasks.cancelAll()
    }

    /// The request as a `curl` command, for debugging. It includes the changes of the interceptors. It leaves out
    /// secrets: sensitive header fields, passwords, the body, and query values whose names suggest secrets.
    ///
    /// - Throws: ``NetworkError/invalidRequest(_:)``, or the error of an interceptor.
    public func curlDescription(of route: some RequestRoute) async throws -> String {
        let description = route.request
        let body = try await prepared(description.body)
        var request = description.networkRequest(to: try route.url(), body)
        for interceptor in interceptors { try await interceptor.change(&request) }
        return try request.checked().curlDescription(body)
    }

    // MARK: - One request

    private func whole(_ task: NetworkTask) async throws -> NetworkResponse {
        try await perform(task) { request, body in
            let response =
                if let cache {
                    try await cache.respond(
                        to: request,
                        hasBody: body != nil,
                        addsCookies: options.keepsCookies,
                        certificate: loop.certificate(for: request.url)
                    ) { try await receive($0, body, task) }
                } else {
                    NetworkResponse(try await receive(request, body, task))
                }
            try validation(of: task.request).check(response)
            return response
        }
    }

    func validation(of request: RouteRequest) -> ResponseValidation {
        var validation = request.validation ?? self.validation
        validation.acceptsRedirects = request.redirects == .none
        return validation
    }

    /// Sends a request, with retries.
    func perform<Value: Sendable>(
        _ task: NetworkTask,
        _ attempt: (NetworkRequest, RequestBody?) async throws -> Value
    ) async throws -> Value {
        let description = task.request
        let retry = description.retry ?? self.retry
        let body = try await prepared(description.body)
        let request = description.networkRequest(to: try task.url.get(), body)
        task.setBytesToSend(body?.count ?? 0)
        var number = 1
        var hasRefreshed = false
        while true {
            var sent = request
            do {
                try task.checkCancellation()
                sent = try await changed(sent, task).checked()
                return try await attempt(sent, body)
            } catch {
                try task.checkCancellation()
                if !hasRefreshed, let refresh = sent.refresh, sent.isRejected(by: error) {
                    hasRefreshed = true
                    let url = sent.url
                    try await task.cancellable { try await refresh(url) }
                    await task.willRepeat()
                    continue
                }
                guard
                    let delay = retry.delay(
                        afterAttempt: number,
                        of: description.method,
                        error: error,
                        isUnsent: sent.isUnsent(after: error),
                        chance: .random(in: 0...1)
                    )
                else { throw error }
                let next = RequestRetry.Attempt(
                    number: number,
                    count: retry.maximumAttempts - 1,
                    delay: delay,
                    error: error
                )
                await task.willRetry(number, of: next.count)
                try await task.cancellable { [clock] in
                    await retry.onRetry(next)
                    try await clock.sleep(for: delay)
                }
                number += 1
            }
        }
    }

    /// The request with the changes of the interceptors.
    private func changed(_ request: NetworkRequest, _ task: NetworkTask) async throws -> NetworkRequest {
        guard !interceptors.isEmpty else { return request }
        return try await task.cancellable { [interceptors] in
            var request = request
            for interceptor in interceptors { try await interceptor.change(&request) }
            return request
        }
    }

    /// The encoded body. Only one with files is prepared on another thread.
    private func prepared(_ body: RouteBody) async throws -> RequestBody? {
        body.readsFiles ? try await blocking { try body.prepared() } : try body.prepared()
    }

    /// Receives a response into memory.
    private func receive(_ request: NetworkRequest, _ body: RequestBody?, _ task: NetworkTask) async throws
        -> ReceivedResponse
    {
        let (head, data, transfer) = try await open(request, body, task, .whole(limit: options.maximumBodySize))
        return ReceivedResponse(head: head, data: data, metrics: transfer.metrics)
    }

    /// Sends a request, follows redirects, and waits for the response, or for its head.
    ///
    /// - Parameter start: the first byte of the requested range, if a download is resumed.
    func open(
        _ request: NetworkRequest,
        _ body: RequestBody?,
        _ task: NetworkTask,
        _ delivery: Transfer.Machine.Delivery,
        resumingAt start: Int64 = 0
    ) async throws -> (ResponseHead, Data, Transfer) {
        var request = request
        var body = body
        let deadline = request.timeLimit?.limit.map { ContinuousClock.now + $0 }
        var visited: [URL] = []
        while true {
            visited.append(request.url)
            let transfer = try await transfer(request, body, task, delivery, deadline, resumingAt: start)
            task.attach(transfer)
            var (head, data) =
                switch delivery {
                case .whole: try await transfer.whole()
                case .pieces: (try await transfer.head(), Data())
                }
            guard request.followsRedirects, let next = try request.redirected(by: head) else {
                head.isRedirected = visited.count > 1
                return (head, data, transfer)
            }
            guard visited.count <= options.maximumRedirects else { throw NetworkError.tooManyRedirects(visited) }
            data = Data()
            request = next.request
            if !next.keepsBody { body = nil }
        }
    }

    /// Creates a transfer that reports to the task and the event log.
    private func transfer(
        _ request: NetworkRequest,
        _ body: RequestBody?,
        _ task: NetworkTask,
        _ delivery: Transfer.Machine.Delivery,
        _ deadline: ContinuousClock.Instant?,
        resumingAt start: Int64
    ) async throws -> Transfer {
        let log = ExchangeLog(request)
        task.log(log.event(.request, request.headers))
        var source: any ResponseSource = loop
        if let stub = options.stub {
            source = StubbedSource(
                answer: try await task.cancellable {
                    try await stub.answer(to: request, body: body?.bytesInMemory ?? Data())
                }
            )
        }
        return Transfer(request, body: body, delivery: delivery, source: source, deadline: deadline) { progress in
            switch progress {
            case .began(let head, _): task.log(log.event(.response(head.status), head.headers))
            case .ended(let count, let metrics, let error):
                task.log(log.event(.end(bytesReceived: count, metrics, failure: error)))
                return
            case .waits:
                task.waits()
                return
            case .sent, .received: break
            }
            task.progressed { $0.count(progress, resumedAt: start) }
        }
    }
}

extension NetworkClient {
    /// The cookies that the client keeps (``Options/keepsCookies``), for example to save them when the app ends.
    public func cookies() async -> [Cookie] {
        await withCheckedContinuation { continuation in
            loop.useCookies { continuation.resume(returning: $0.map { Cookie.all(of: $0) } ?? []) }
        }
    }

    /// Adds cookies, for example those that an earlier run of the app has saved. One with the same name, domain and
    /// path is replaced. No effect if the client keeps no cookies.
    ///
    /// - Throws: ``NetworkError/invalidRequest(_:)`` if one has no name or domain, or contains a control character.
    public func addCookies(_ cookies: [Cookie]) async throws {
        let lines = try cookies.map { cookie in
            guard let line = cookie.line else {
                throw NetworkError.invalidRequest("the cookie '\(cookie)' is not valid (RFC 6265 §4.1)")
            }
            return line
        }
        await withCheckedContinuation { continuation in
            loop.useCookies { handle in
                if let handle { Cookie.add(lines, to: handle) }
                continuation.resume()
            }
        }
    }

    /// Removes all cookies, for example when the user logs out.
    public func removeCookies() async {
        await withCheckedContinuation { continuation in
            loop.useCookies { handle in
                if let handle { Cookie.removeAll(of: handle) }
                continuation.resume()
            }
        }
    }
}

extension NetworkRequest {
    /// Whether the server, not another one after a redirect, responded with status 401.
    fileprivate func isRejected(by error: any Error) -> Bool {
        guard case .unacceptableStatus(let failure)? = error as? NetworkError else { return false }
        return failure.status == .unauthorized && failure.url.origin == url.origin
    }

    /// Whether no server received anything of the request: the name of its own host could not be resolved.
    fileprivate func isUnsent(after error: any Error) -> Bool {
        guard case .transport(let failure)? = error as? NetworkError else { return false }
        return failure.isUnsent && failure.kind == .cannotFindHost && failure.url == url
    }
}

extension TransferProgress {
    fileprivate mutating func count(_ progress: Transfer.Progress, resumedAt start: Int64) {
        switch progress {
        case .sent(let count): bytesSent = count
        case .began(let head, let count):
            bytesReceived = head.status == .partialContent && head.range?.first == start ? start : 0
            bytesReceivedEarlier = bytesReceived
            bytesToReceive = count.map { min($0, .max - bytesReceived) + bytesReceived }
        case .received(let count): bytesReceived += Int64(count)
        case .waits, .ended: break
        }
    }
}

extension NetworkClient {
    /// Settings of a client that few apps change.
    public struct Options: Sendable {
        /// The maximum number of redirects per request. Default 20. To receive a redirect, see
        /// ``RouteRequest/redirects``.
        public var maximumRedirects = 20
        /// The maximum length of a response's body that is held in memory, in bytes. Default 512 MiB.
        public var maximumBodySize = 512 << 20
        /// The maximum number of connections to a scheme, host and port; further requests wait. Default 6, minimum 1.
        /// Over HTTP/2, up to 100 requests share connections. All `http` requests through a proxy count as one host.
        /// Requests that wait for the app are not counted: paused ones, and those whose stream is not read.
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
        /// Called with each step of each exchange, in order for each request, on threads for that purpose. The events
        /// contain no secrets. A request waits for it at its end.
        public var onEvent: (@Sendable (NetworkEvent) -> Void)?
        /// Answers requests instead of the network.
        package var stub: (any TransportStub)?

        /// Creates the default options.
        public init() {}
    }
}

// MARK: - Renamed

extension NetworkClient {
    /// Renamed.
    @available(*, unavailable, renamed: "RequestRetry")
    public typealias Retry = RequestRetry
    /// Renamed.
    @available(*, unavailable, renamed: "HostTrust")
    public typealias Trust = HostTrust
}
