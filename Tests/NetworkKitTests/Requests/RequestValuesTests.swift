import NetworkKit
import TestSupport

/// Values of requests that cannot be sent, credentials, and retries.
@Suite struct RequestValuesTests {
    private let server: RawServer

    init() throws {
        server = try RawServer.keeping { _, connection in try connection.respond(text: "{}") }
    }

    private func problem(_ change: @escaping @Sendable (inout NetworkRequest) -> Void) async -> String {
        let client = NetworkClient(interceptors: [.init { change(&$0) }])
        return "\(await thrown { try await client.send(route(server)) } as Any)"
    }

    @Test(arguments: [Duration.zero, .nanoseconds(-1), .seconds(Int64.min)])
    func `An invalid timeout is an error`(duration: Duration) async {
        for property in [\Endpoint.timeout, \.timeLimit] {
            let request = Endpoint.get("").with(property, duration)
            let error = await thrown { try await NetworkClient().send(route(server, request)) }
            #expect("\(error as Any)".contains("must be positive, not \(duration)"))
        }
        #expect(await problem { $0.timeout = duration }.contains("the timeout must be positive"))
        #expect(await problem { $0.timeLimit = duration }.contains("the time limit must be positive"))
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [nil, Duration.seconds(Int64.max), .seconds(1e10), .seconds(9.9e9), Duration(attoseconds: 1)])
    func `Extreme timeouts do not trap`(duration: Duration?) async {
        let request = Endpoint.get("").with(\.timeout, duration).with(\.timeLimit, duration)
        let error = await thrown { try await NetworkClient().send(route(server, request)) }
        if duration ?? .seconds(2) > .seconds(1) { #expect(error == nil) } else { #expect(error is NetworkError) }
    }

    @Test func `Changes of an interceptor are checked`() async throws {
        #expect(await problem { $0.setHeader("X-A", "b\r\nX-C: d") }.contains("control character"))
        #expect(await problem { $0.setHeader("X-A", "b\nX-C: d") }.contains("control character"))
        #expect(await problem { $0.setHeader("X A", "b") }.contains("not the name of a header field"))
        #expect(await problem { $0.setHeader("Content-Length", "7") }.contains("set by the client itself"))
        #expect(await problem { $0.url = URL(filePath: "/etc/passwd") }.contains("not an http or https URL"))
        #expect(server.requests.isEmpty)
    }

    @Test func `Credentials are described without the password`() {
        let credentials = Credentials(user: "user", password: "hunter2")
        #expect(!"\(credentials)\(String(reflecting: credentials))".contains("hunter"))
    }

    @Test(.needs(.httpbin)) func `Credentials are sent as basic and as digest`() async throws {
        let httpbin = try await Httpbin()
        func status(_ path: RoutePath, _ credentials: Credentials) async throws -> Int {
            let request = Endpoint.get(path).with(\.credentials, credentials).with(\.validation, .all)
            return try await NetworkClient().send(URLRoute(httpbin.url, request)).status.code
        }
        for (password, code) in [("p", 200), ("x", 401)] {
            let credentials = Credentials(user: "u", password: password, isBasic: true)
            #expect(try await status("basic-auth/u/p", credentials) == code)
        }
        for algorithm in ["MD5", "SHA-256"] {
            let path = RoutePath("digest-auth/auth/u/p/\(algorithm)")
            #expect(try await status(path, Credentials(user: "u", password: "p")) == 200)
            #expect(try await status(path, Credentials(user: "u", password: "x")) == 401)
        }
        var url = try #require(URLComponents(url: httpbin.url, resolvingAgainstBaseURL: true))
        (url.user, url.password) = ("u", "p")
        let response = try await NetworkClient().send(URLRoute(try #require(url.url), .get("digest-auth/auth/u/p")))
        #expect(response.url.user() == nil)
    }

    /// Everyone on the way can read the password, and demand Basic.
    @Test func `Basic is not chosen without TLS`() async throws {
        let plain = try RawServer.keeping { _, connection in
            try connection.respond("401 Unauthorized", headers: ["WWW-Authenticate: Basic realm=a"])
        }
        let request = Endpoint.get("").with(\.credentials, Credentials(user: "u", password: "p"))
        let error = await thrown { try await NetworkClient().send(route(plain, request)) }
        #expect("\(error as Any)".contains("401"))
        #expect(plain.requests.map { $0.headers["authorization"] } == [nil])
    }

    @Test(arguments: ["u\0v", "u\r\nX: y", "u\u{7F}"])
    func `Control characters in credentials are an error`(text: String) async throws {
        for credentials in [Credentials(user: text, password: "p"), Credentials(user: "u", password: text)] {
            let request = Endpoint.get("").with(\.credentials, credentials)
            let error = await thrown { try await NetworkClient().send(route(server, request)) }
            #expect("\(error as Any)".contains("control character"))
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `Retries are announced as one request, which waits before each and whose label shows it`() async throws {
        let recorder = NotificationRecorder()
        let indicator = IndicatorManager()
        indicator.observe(.indicator, in: recorder.center)
        let count = Counter()
        let labels = ["PUT /file", "PUT /file, retry 1 of 4", "PUT /file, retry 2 of 4"]
        let server = try RawServer.closing { request, connection in
            let attempt = count.next()
            // Responds when the label is that of this attempt.
            waitUntil { indicator.snapshot.activities.first?.label == labels[attempt - 1] }
            try connection.respond(attempt < 3 ? "503 Service Unavailable" : "200 OK", text: "done")
        }
        let retry = RequestRetry(maximumAttempts: 5, initialDelay: .milliseconds(1))
        let client = NetworkClient(retry: retry, notificationCenter: recorder.center)
        _ = try await client.send(route(server, .put("file", body: .data(Data(count: 1000)))))
        #expect(recorder.progress.last == 1000)
        #expect(recorder.names == ["Resume", "Complete"])
        // What is not posted before the next progress is part of that.
        #expect(recorder.waits.first == true && recorder.waits.last == false)
    }
}
