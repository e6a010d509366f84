import InMemoryLogging
import NetworkKit
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct ExchangeLogTests {
    private let log = InMemoryLogHandler()
    private let client: NetworkClient

    init() {
        var options = NetworkClient.Options()
        options.logger = Logger(label: "requests") { [log] _ in log }
        options.logger?.logLevel = .debug
        client = NetworkClient(retry: .init(maximumAttempts: 2, initialDelay: .milliseconds(1)), options: options)
    }

    /// The lines, in two parts: the number of the exchange, and the rest.
    private var lines: [[Substring]] { log.entries.map { "\($0.message)".split(separator: " ", maxSplits: 1) } }

    @Test func `Redirects and retries are exchanges of their own`() async throws {
        let server = try RawServer.closing { request, connection in
            switch request.target {
            case "/": try connection.respond("302 Found", headers: ["Location: /next"], text: "moved")
            default: try connection.respond("503 Service Unavailable")
            }
        }
        _ = await thrown { try await client.send(route(server)) }
        let url = server.url.absoluteString
        let once = [
            "GET ", "GET : status 302", "GET : 5 bytes", "GET /next", "GET /next: status 503", "GET /next: 0 bytes",
        ]
        #expect(lines.map { String($0[1]).replacing(url, with: "") } == once + once)
        #expect(Set(lines.map(\.first)).count == 4)
    }

    @Test func `No message contains a secret`() async throws {
        let server = try RawServer.closing { _, connection in
            try connection.respond(
                headers: [
                    "Set-Cookie: id=hunter2", "X-Plain: hunter2", "ETag: \"tag\"", "Retry-After: 5",
                    "Location: http://me:hunter2@h/next?token=hunter2&page=2#access_token=hunter2",
                    "Content-Location: /next?token=hunter2",
                ],
                text: "hunter2 received"
            )
        }
        var headers: HTTPFields = [.authorization: "Bearer hunter2", .acceptLanguage: "de"]
        for name in ["X-Api-Key", "X-Plain"] { headers[try #require(HTTPField.Name(name))] = "hunter2" }
        let request = Endpoint(
            .post,
            "a",
            query: ["token": "hunter2", "page": 2],
            headers: headers,
            body: .data(Data("hunter2 sent".utf8))
        ).with(\.credentials, Credentials(user: "me", password: "hunter2", isBasic: true))
        _ = try await client.send(route(server, request))
        #expect(log.entries.count == 3)
        for entry in log.entries { #expect(!"\(entry)".contains("hunter2"), "\(entry)") }
        #expect(lines[0][1].hasSuffix("/a?…"))
        func fields(_ index: Int) -> Logger.Metadata {
            if case .dictionary(let fields)? = log.entries[index].metadata["headers"] { fields } else { [:] }
        }
        let (sent, answer) = (fields(0), fields(1))
        #expect(sent["accept-language"] == "de")
        #expect([sent["authorization"], answer["set-cookie"]] == ["…", "…"])
        #expect([answer["content-length"], answer["etag"], answer["retry-after"]] == ["16", "\"tag\"", "5"])
        #expect(answer["location"] == "http://h/next?…")
        #expect(answer["content-location"] == "/next?…")
    }

    @Test func `Failures and cancelled requests end`() async throws {
        let server = try RawServer.closing { request, connection in
            if request.target == "/hangs" { return connection.waitForEnd() }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        }
        _ = await thrown { try await client.send(route(server, .get("half").with(\.retry, .never))) }
        let task = client.start(route(server, .get("hangs")))
        #expect(await eventually { server.requests.count == 2 })
        task.cancel()
        _ = await thrown { try await task.response }
        #expect(lines.count { $0[1].contains("/half: http") || $0[1].hasSuffix(": CancellationError()") } == 2)
    }
}
