import NetworkKit
import TestSupport

@Suite(.needs(.http2)) struct TLSTests {
    private let files: HTTP2Server
    private var folder: TemporaryDirectory { files.folder }
    private var server: Daemon { files.daemon }
    private var url: URL { files.url }

    init() async throws {
        files = try await HTTP2Server()
        try Data("found".utf8).write(to: folder.url.appending(path: "index.html"))
        try Data(count: 3 << 20).write(to: folder.url.appending(path: "large"))
    }

    /// The numbers of the connections that the server has logged.
    private var connections: Set<Substring> { Set(server.output.matches(of: /\[id=([0-9]+)\]/).map(\.1)) }

    @Test("Requests use HTTP/2") func requestsUseHTTP2() async throws {
        let client = files.client()
        #expect(try await client.send(URLRoute(url)).string() == "found")
        // Ten concurrent ones share a connection.
        let sizes = try await withThrowingTaskGroup { group in
            for _ in 0..<10 { group.addTask { try await client.send(URLRoute(url, .get("large"))).data.count } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sizes == Array(repeating: 3 << 20, count: 10))
        // libcurl 7 sends longer ones over HTTP/1.1, which this server does not support.
        let body = Data("sent ".utf8) + Data(count: 60_000)
        #expect(try await client.send(URLRoute(url, .post("echo", body: .data(body)))).data == body)
        #expect(try await refusal { try await client.send(URLRoute(url, .get("missing"))) }.status == 404)
        // The server logs each frame that it receives.
        #expect(server.output.contains(":method: POST"))
    }

    /// libcurl passes on all fields of a paused stream at once when it continues.
    @Test(.timeLimit(.minutes(5))) func `Suspended requests over HTTP/2 get their responses`() async throws {
        let client = files.client()
        _ = try await client.send(URLRoute(url))
        for _ in 0..<3 {
            server.send(SIGSTOP)
            let tasks = (0..<5).map { client.start(URLRoute(url, .get("\($0)"))) }
            // For the requests to be sent. If they are not, they must have responses, too.
            try await Task.sleep(for: .milliseconds(50))
            for task in tasks { task.suspend() }
            server.send(SIGCONT)
            // Reads what has arrived on the connection, which suspended requests do not.
            _ = try await client.send(URLRoute(url))
            for task in tasks { task.resume() }
            for task in tasks { #expect(try await refusal { try await task.response }.status == 404) }
        }
    }

    @Test("Requests over HTTP/2 share a connection", .timeLimit(.minutes(5)))
    func requestsShareAConnection() async throws {
        let client = files.client(connections: 1)
        let download = client.start(URLRoute(url, .get("large")))
        #expect(await eventually { server.output.contains(":path: /large") })
        download.suspend()
        #expect(try await client.send(URLRoute(url)).string() == "found")
        #expect(connections.count == 1)
        download.cancel()
    }

    @Test(.timeLimit(.minutes(5))) func `More requests than streams need no more connections`() async throws {
        let client = files.client(connections: 1)
        // The server's limit, ten streams, is known afterwards.
        _ = try await client.send(URLRoute(url))
        let texts = try await withThrowingTaskGroup { group in
            for _ in 0..<100 { group.addTask { try await client.send(URLRoute(url)).string() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "found", count: 100))
        #expect(connections.count == 1)
    }
}
