import TestSupport

@testable import NetworkKit

@Suite struct RetryTests {
    private static let url = URL(string: "http://example.com")!

    private func status(_ status: Int, retryAfter: String? = nil) -> NetworkError {
        let headers: HTTPFields = retryAfter.map { [.retryAfter: $0] } ?? [:]
        return .unacceptableStatus(NetworkResponse(url: Self.url, status: .init(code: status), headers: headers))
    }

    private func failure(_ kind: TransportFailure.Kind) -> NetworkError {
        .transport(TransportFailure(url: Self.url, kind: kind, reason: ""))
    }

    private func delay(
        _ policy: RequestRetry,
        after attempt: Int = 1,
        of method: HTTPRequest.Method = .get,
        _ error: any Error,
        chance: Double = 0
    ) -> Duration? {
        policy.delay(afterAttempt: attempt, of: method, error: error, chance: chance)
    }

    @Test func `Each delay is twice as long, up to the maximum`() {
        let policy = RequestRetry(maximumAttempts: 9, initialDelay: .seconds(1), maximumDelay: .seconds(5), jitter: 0)
        let waits = (1...9).map { delay(policy, after: $0, status(503)) }
        #expect(waits == [1, 2, 4, 5, 5, 5, 5, 5, nil].map { $0.map { Duration.seconds($0) } })
        #expect(delay(RequestRetry(maximumAttempts: .max, jitter: 0), after: 1_000_000, status(503)) == .seconds(30))
        #expect(delay(.never, status(503)) == nil)
    }

    @Test func `A part of each delay is random`() {
        let policy = RequestRetry(initialDelay: .seconds(1), jitter: 0.5)
        #expect(delay(policy, status(503), chance: 0) == .seconds(1))
        #expect(delay(policy, status(503), chance: 1) == .milliseconds(500))
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST", "PATCH", "get", "LOCK"])
    func `Only idempotent methods are retried`(name: String) throws {
        let isIdempotent = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].contains(name)
        let method = try #require(HTTPRequest.Method(name))
        #expect((delay(RequestRetry(), of: method, status(503)) != nil) == isIdempotent)
    }

    @Test func `Only transient failures are retried`() {
        for (codes, isRetried) in [([408, 429, 500, 502, 503, 504], true), ([400, 401, 403, 404, 422, 501], false)] {
            for code in codes { #expect((delay(RequestRetry(), status(code)) != nil) == isRetried, "\(code)") }
        }
        for kind in [TransportFailure.Kind.timedOut, .cannotConnect, .incompleteBody, .insecure] {
            #expect((delay(RequestRetry(), failure(kind)) != nil) == (kind != .insecure), "\(kind)")
        }
        #expect(delay(RequestRetry(), NetworkError.tooManyRedirects([Self.url])) == nil)
        #expect(delay(RequestRetry(), CancellationError()) == nil)
    }

    @Test(
        arguments: [
            (429, "7", 7), (429, "0", 1), (429, "20", 20), (429, "21", nil), (429, "99999999999999999999", nil),
            (429, "soon", 1), (503, "Sun, 06 Nov 1994 08:49:37 GMT", 1), (503, "Fri, 01 Jan 2100 00:00:00 GMT", nil),
        ] as [(Int, String, Int?)]
    )
    func `The server may set the delay`(code: Int, retryAfter: String, seconds: Int?) {
        let policy = RequestRetry(initialDelay: .seconds(1), maximumDelay: .seconds(20), jitter: 0)
        #expect(delay(policy, status(code, retryAfter: retryAfter)) == seconds.map { .seconds($0) })
    }

    @Test func `The client waits on its clock`() async throws {
        let server = try RawServer.closing { _, connection in try connection.respond("503 Service Unavailable") }
        let clock = VirtualClock()
        let policy = RequestRetry(maximumAttempts: 3, initialDelay: .seconds(10), jitter: 0)
        let client = NetworkClient(retry: policy, clock: clock)
        let work = Task { try await client.send(route(server)) }
        #expect(await eventually { clock.deadlines == [.seconds(10)] })
        #expect(server.requests.count == 1)
        clock.advance(by: .seconds(10))
        #expect(await eventually { clock.deadlines == [.seconds(30)] })
        #expect(server.requests.count == 2)
        clock.advance(by: .seconds(20))
        await #expect(throws: NetworkError.self) { try await work.value }
        #expect(server.requests.count == 3)
    }

    @Test func `A route overrides the client's policy, and the method that was sent counts`() async throws {
        let server = try RawServer.closing { _, connection in try connection.respond("503 Service Unavailable") }
        let posts = NetworkClient.Interceptor { if $0.url.path().hasSuffix("post") { $0.method = .post } }
        let retry = RequestRetry(maximumAttempts: 3, initialDelay: .milliseconds(1))
        let client = NetworkClient(interceptors: [posts], retry: retry)
        let never = Endpoint.get("never").with(\.retry, .never)
        let twice = Endpoint.get("twice").with(\.retry, .init(maximumAttempts: 2, initialDelay: .milliseconds(1)))
        for request in [never, twice, .get("post")] {
            await #expect(throws: NetworkError.self) { try await client.send(route(server, request)) }
        }
        #expect(server.requests.map(\.target) == ["/never", "/twice", "/twice", "/post"])
    }
}

@Suite struct HTTPDateTests {
    @Test(arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
    func `The three formats of RFC 9110 are read`(text: String) {
        #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    /// The first one, found by fuzzing, crashed Foundation's `DateFormatter`.
    @Test(arguments: [
        "Sun, 06\u{6f1}ov 19=14 08:49:37 GMT", "", "0", "-1", "Sun", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Now 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    ])
    func `Invalid dates are rejected`(text: String) { #expect(HTTPDate.parse(text) == nil) }
}
