import Foundation
import HTTPTypes
import IndicatorCore
import IndicatorThreads
import NetworkKit
import TestSupport
import Testing

/// Values of requests that cannot be sent, and descriptions of requests.
@Suite struct RequestValuesTests {
    private let server: RawServer

    init() throws {
        server = try RawServer { _, connection in
            try connection.respond(text: "{}")
            return true
        }
    }

    private func problem(_ change: @escaping @Sendable (inout NetworkRequest) -> Void) async -> String {
        let client = NetworkClient(interceptors: [.init { change(&$0) }])
        return "\(await thrown { _ = try await client.send(route(server)) } as Any)"
    }

    @Test(arguments: [Duration.zero, .nanoseconds(-1), .seconds(Int64.min)])
    func `An invalid timeout is an error`(duration: Duration) async {
        for property in [\RouteRequest.timeout, \.timeLimit] {
            let error = await thrown {
                _ = try await NetworkClient().send(route(server, .get("").with(property, duration)))
            }
            #expect("\(error as Any)".contains("must be positive, not \(duration)"))
        }
        #expect(await problem { $0.timeout = duration }.contains("the timeout must be positive"))
        #expect(await problem { $0.timeLimit = duration }.contains("the time limit must be positive"))
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [nil, Duration.seconds(Int64.max), .seconds(1e10), .seconds(9.9e9), Duration(attoseconds: 1)])
    func `Extreme timeouts do not trap`(duration: Duration?) async {
        let request = RouteRequest.get("").with(\.timeout, duration).with(\.timeLimit, duration)
        let error = await thrown { _ = try await NetworkClient().send(route(server, request)) }
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

    @Test func `The time limit includes the wait for a connection`() async throws {
        let server = try RawServer.closing { _, connection in connection.waitForEnd() }
        var options = NetworkClient.Options()
        options.maximumConnectionsPerHost = 1
        let client = NetworkClient(options: options)
        let first = client.start(route(server))
        #expect(await eventually { server.requests.count == 1 })
        let error = await thrown { _ = try await client.send(route(server, .get("").with(\.timeLimit, .seconds(0.1)))) }
        #expect(kind(of: error) == .timeLimitExceeded)
        first.cancel()
    }

    // MARK: - Names, paths, descriptions

    @Test func `A path from a variable is encoded`() throws {
        let path = "docs/a b/ü?#%2F"
        #expect(RoutePath(path: path).encoded == "docs/a%20b/%C3%BC%3F%23%252F")
        #expect(RoutePath("files/\(path)").encoded == "files/docs%2Fa%20b%2F%C3%BC%3F%23%252F")
        #expect(throws: NetworkError.self) {
            try URLRoute(URL(string: "http://h")!, .get(RoutePath(path: "a/../b"))).url()
        }
    }

    @Test func `A request is described as a curl command without its secrets`() async throws {
        let client = NetworkClient(interceptors: [
            .bearerToken("hunter1"), .header("X-Api-Key", "hunter2"),
            .header("X-App", "it's \u{202E}", isSensitive: false),
            .header("X-Own", "hunter3"),
        ])
        let credentials = Credentials(user: "user", password: "hunter4", scheme: .digest)
        let request = RouteRequest.post("a b", body: .json(["p": "hunter5"]), query: ["token": "hunter6", "q": "x y"])
        let route = URLRoute(URL(string: "https://example.com/api")!, request.with(\.credentials, credentials))
        let text = try await client.curlDescription(of: route)
        #expect(
            text
                == "curl --location --request POST --header 'Content-Type: application/json' --header 'Authorization: …' "
                + #"--header 'X-Api-Key: …' --header 'X-App: it'\''s  ' --header 'X-Own: …' --digest --user 'user:…' "#
                + "--data-binary @body 'https://example.com/api/a%20b?q=x%20y&token=%E2%80%A6'"
        )
        #expect(!"\(credentials)\(String(reflecting: credentials))".contains("hunter"))
    }

    // MARK: - Credentials, cookies

    @Test(.needs(.httpbin)) func `Credentials are sent as basic and as digest`() async throws {
        let httpbin = try await Httpbin()
        func status(_ path: RoutePath, _ credentials: Credentials) async throws -> Int {
            let request = RouteRequest.get(path).with(\.credentials, credentials)
                .with(\.validation, ResponseValidation.none)
            return try await NetworkClient().send(URLRoute(httpbin.url, request)).status.code
        }
        for (password, code) in [("p", 200), ("x", 401)] {
            let credentials = Credentials(user: "u", password: password, scheme: .basic)
            #expect(try await status("basic-auth/u/p", credentials) == code)
        }
        for algorithm in ["MD5", "SHA-256"] {
            let path = RoutePath("digest-auth/auth/u/p/\(algorithm)")
            for scheme in [Credentials.Scheme.any, .digest] {
                #expect(try await status(path, Credentials(user: "u", password: "p", scheme: scheme)) == 200)
                #expect(try await status(path, Credentials(user: "u", password: "x", scheme: scheme)) == 401)
            }
        }
        var url = try #require(URLComponents(url: httpbin.url, resolvingAgainstBaseURL: true))
        (url.user, url.password) = ("u", "p")
        let response = try await NetworkClient().send(URLRoute(try #require(url.url), .get("digest-auth/auth/u/p")))
        #expect(response.url.user() == nil)
    }

    /// Everyone on the way can read the password, and demand Basic.
    @Test(.needs(.certificates)) func `Basic is only chosen over TLS`() async throws {
        let challenge = "WWW-Authenticate: Basic realm=\"a\""
        let plain = try RawServer { _, connection in
            try connection.respond("401 Unauthorized", headers: [challenge])
            return true
        }
        let credentials = Credentials(user: "u", password: "p")
        let request = RouteRequest.get("").with(\.credentials, credentials)
        let error = await thrown { _ = try await NetworkClient().send(route(plain, request)) }
        #expect("\(error as Any)".contains("401"))
        #expect(plain.requests.map { $0.headers["authorization"] } == [nil])
        let certificates = try await Certificates()
        let script = """
            import http.server, ssl, sys
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    field = self.headers["Authorization"] or ""
                    self.send_response(200 if field else 401)
                    self.send_header("WWW-Authenticate", 'Basic realm="a"')
                    # Otherwise the body ends with the connection, which Python ends without TLS's own end.
                    self.send_header("Content-Length", str(len(field)))
                    self.end_headers()
                    self.wfile.write(field.encode())
            server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1], sys.argv[2])
            server.socket = context.wrap_socket(server.socket, server_side=True)
            print(server.server_port, flush=True)
            server.serve_forever()
            """
        let arguments = ["-c", script, certificates.path("server.pem"), certificates.path("server.key")]
        let encrypted = try Daemon("python3", arguments, package: "python3")
        #expect(await eventually { encrypted.output.hasSuffix("\n") })
        let port = encrypted.output.trimmingCharacters(in: .newlines)
        var options = NetworkClient.Options()
        options.certificateAuthorities = URL(filePath: certificates.path("ca.pem"))
        let url = try #require(URL(string: "https://127.0.0.1:\(port)"))
        let response = try await NetworkClient(options: options).send(URLRoute(url, request))
        #expect(try response.string() == "Basic dTpw")
    }

    @Test(arguments: ["u\0v", "u\r\nX: y", "u\u{7F}"])
    func `Control characters in credentials are an error`(text: String) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "here") }
        for credentials in [Credentials(user: text, password: "p"), Credentials(user: "u", password: text)] {
            let request = RouteRequest.get("").with(\.credentials, credentials)
            let error = await thrown { _ = try await NetworkClient().send(route(server, request)) }
            #expect("\(error as Any)".contains("control character"))
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `Cookies are kept if enabled`() async throws {
        // libcurl treats 127.0.0.1 like TLS.
        let server = try RawServer(at: "127.0.0.2") { request, connection in
            let cookies = ["Set-Cookie: a=1; Path=/only", "Set-Cookie: b=2; Secure", "Set-Cookie: c=3; Path=/"]
            try connection.respond(headers: request.target == "/set" ? cookies : [], text: "x")
            return true
        }
        var options = NetworkClient.Options()
        options.keepsCookies = true
        for client in [NetworkClient(), NetworkClient(options: options)] {
            for path in ["set", "only/x", "other"] {
                _ = try await client.send(route(server, .get(RoutePath(path: path))))
            }
        }
        #expect(server.requests.map { $0.headers["cookie"] } == [nil, nil, nil, nil, "a=1; c=3", "c=3"])
    }

    // MARK: - Retries

    @Test func `The label shows the retry and the progress restarts`() async throws {
        let recorder = NotificationRecorder()
        let indicator = IndicatorManager()
        indicator.observe(.indicator, in: recorder.center)
        let seen = Locked<[String]>([])
        let count = Locked(0)
        let server = try RawServer.closing { request, connection in
            let number = count.withLock { count in
                count += 1
                return count
            }
            // The label during this attempt.
            let first = indicator.snapshot.activities.first
            seen.withLock { $0.append("\(first?.label ?? "-")") }
            try connection.respond(number < 3 ? "503 Service Unavailable" : "200 OK", text: "done")
        }
        let hooks = Locked<[String]>([])
        var retry = RequestRetry(maximumAttempts: 5, initialDelay: .milliseconds(1))
        retry.onRetry = { attempt in
            let progress = indicator.snapshot.progress
            hooks.withLock { $0.append("\(attempt.number) of \(attempt.count), \(progress ?? -1)") }
        }
        let client = NetworkClient(retry: retry, notificationCenter: recorder.center)
        _ = try await client.send(route(server, .put("file", body: .data(Data(count: 1000)))))
        #expect(seen.withLock { $0 } == ["PUT /file", "PUT /file, retry 1 of 4", "PUT /file, retry 2 of 4"])
        #expect(hooks.withLock { $0 } == ["1 of 4, 0.0", "2 of 4, 0.0"])
        #expect(recorder.progress.count { $0 == 0 } == 2)
        #expect(recorder.progress.last == 1000)
    }

    @Test func `An incomplete body is retried`() async throws {
        let count = Locked(0)
        let server = try RawServer.closing { _, connection in
            let number = count.withLock { count in
                count += 1
                return count
            }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + (number == 1 ? "he" : "hello"))
        }
        let client = NetworkClient(retry: .init(initialDelay: .milliseconds(1)))
        #expect(try await client.send(route(server)).string() == "hello")
        let post = await thrown {
            count.withLock { $0 = 0 }
            _ = try await client.send(route(server, .post("")))
        }
        #expect(kind(of: post) == .incompleteBody)
    }

    @Test func `The indicator counts bytes`() async throws {
        let recorder = NotificationRecorder()
        let indicator = IndicatorManager()
        indicator.observe(.indicator, in: recorder.center)
        let seen = Locked<ActivityDetails?>(nil)
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            try connection.send(Data(count: 500))
            waitUntil { (indicator.snapshot.progress ?? 0) >= 0.5 }
            seen.withLock { $0 = indicator.snapshot.activities.first }
            try connection.send(Data(count: 500))
        }
        _ = try await NetworkClient(notificationCenter: recorder.center).send(route(server))
        let details = try #require(seen.withLock { $0 })
        #expect(details.completed == 500)
        #expect(details.total == 1000)
        #expect(details.unit == .bytes)
    }
}
