import NetworkKit
import TestSupport

/// Connections that several requests use: which ones may, and what they leave to each other.
@Suite struct ConnectionTests {
    /// Its server still acknowledges, as a box on the way may do.
    @Test(.needs(.http2), .timeLimit(.minutes(5)), arguments: [false, true])
    func `A connection on which a request got nothing is not used again`(_ isTimeLimit: Bool) async throws {
        let server = try await HTTP2Server()
        try Data("found".utf8).write(to: server.folder.url.appending(path: "index.html"))
        let client = server.client()
        #expect(try await client.send(URLRoute(server.url)).string() == "found")
        server.daemon.send(SIGSTOP)
        // Another one that uses the connection.
        async let other = client.send(URLRoute(server.url)).string()
        let request = Endpoint.get("").with(isTimeLimit ? \.timeLimit : \.timeout, .seconds(0.3))
        let kind = await failure { try await client.send(URLRoute(server.url, request)) }
        #expect([.timedOut, .timeLimitExceeded].contains(kind))
        server.daemon.send(SIGCONT)
        #expect(try await client.send(URLRoute(server.url)).string() == "found")
        #expect(try await other == "found")
        #expect(await eventually { Set(server.daemon.output.matches(of: /\[id=([0-9]+)\]/).map(\.1)).count >= 2 })
    }

    /// curl 3384: libcurl 7.88 sends the second body as empty, and the server answers 200.
    @Test(arguments: ["Basic realm=\"a\"", "Digest realm=\"a\", nonce=\"b\""])
    func `A body after a failed authentication arrives`(_ challenge: String) async throws {
        let server = try RawServer.keeping { request, connection in
            if request.target != "/first" { return try connection.respond() }
            try connection.respond("401 Unauthorized", headers: ["WWW-Authenticate: \(challenge)"])
        }
        for first in [Endpoint.put("first", body: .data(Data(count: 1000))), .post("first")] {
            let client = NetworkClient(validation: .all)
            let credentials = Credentials(user: "u", password: "p")
            #expect(try await client.send(route(server, first.with(\.credentials, credentials))).status == 401)
            for _ in 0..<2 {
                _ = try await client.send(route(server, .put("second", body: .data(Data(count: 1000)))))
                #expect(server.requests.last?.bodyCount == 1000)
            }
        }
    }

    /// libcurl expects a challenge, and first sends the request with an empty body.
    @Test(arguments: ["Content-Length: 0", "X: y"])
    func `A response to an empty body is not that to the request`(_ field: String) async throws {
        let server = try RawServer { request, connection in
            guard request.bodyCount == 0 else {
                try connection.respond("507 Insufficient Storage")
                return true
            }
            try connection.send("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n")
            return field.hasPrefix("Content-Length")
        }
        let request = Endpoint.put("", body: .data(Data(count: 1000)))
            .with(\.credentials, Credentials(user: "u", password: "p"))
        #expect(try await NetworkClient(validation: .all).send(route(server, request)).status.code == 507)
        #expect(server.requests.map(\.bodyCount) == [0, 1000])
    }

    @Test func `Requests of each method share a connection`() async throws {
        let server = try RawServer.keeping { _, connection in try connection.respond() }
        // A busy machine may need two seconds between some of them.
        try await expectEventually {
            let (client, count) = (NetworkClient(), server.connectionCount)
            for method in [HTTPRequest.Method.post, .put, .patch, .delete, .post] {
                _ = try await client.send(route(server, Endpoint(method, "", body: .data(Data(count: 100)))))
            }
            return server.connectionCount == count + 1
        }
        #expect(server.requests.allSatisfy { $0.bodyCount == 100 })
    }

    /// The server may be about to close it. libcurl would close those to other hosts, too.
    @Test func `A POST does not use an idle connection`() async throws {
        let servers = try (0..<2).map { _ in try RawServer.keeping { _, connection in try connection.respond() } }
        let client = NetworkClient()
        for server in servers { _ = try await client.send(route(server)) }
        try await Task.sleep(for: .seconds(2.1))
        _ = try await client.send(route(servers[0], .post("", body: .data(Data(count: 10)))))
        for server in servers { _ = try await client.send(route(server)) }
        #expect(servers.map(\.connectionCount) == [2, 1])
        #expect(servers[0].requests.map(\.bodyCount) == [0, 10, 0])
    }

    /// What a server does to a request on a connection that is used again.
    enum Answer: String, CaseIterable {
        case refuse = "send(3, 0, stream, bytes([0, 0, 0, 7]))"
        case close = "os.close(connection.detach())"
        /// With an end of the TLS session.
        case unwrap = "os.close(connection.unwrap().detach())"
    }

    @Test(
        .needs(.certificates),
        arguments: [
            (Answer.refuse, HTTPRequest.Method.post, true), (.refuse, .put, true), (.close, .post, true),
            (.close, .put, true), (.unwrap, .post, true), (.unwrap, .put, true),
            // nginx with a limit of one request refuses those that wait for the first connection.
            (.refuse, .post, false),
        ]
    )
    func `A request is sent again, with its body, if it was refused or may be repeated`(
        _ answer: Answer,
        _ method: HTTPRequest.Method,
        _ isUsedAgain: Bool
    ) async throws {
        let server = try await TLSServer.frames(
            """
            if number == 0 and \(isUsedAgain ? "True" : "False"): send(1, 5, request(), b"\\x88")
            stream = request()
            print("body", body())
            if number == 1: send(1, 5, stream, b"\\x88")
            else: \(answer.rawValue)
            request()
            """
        )
        let client = server.client
        if isUsedAgain { _ = try await client.send(URLRoute(server.url)) }
        let request = Endpoint(method, "", body: .data(Data(count: 1000)))
        let error = await thrown { try await client.send(URLRoute(server.url, request)) }
        let isRepeated = answer == .refuse || method == .put
        #expect(isRepeated ? error == nil : kind(of: error) == .connectionLost, "\(error as Any)")
        let sent = (isUsedAgain ? ["request 0"] : []) + ["request 0", "body 1000"]
        #expect(server.output == (isRepeated ? sent + ["request 1", "body 1000"] : sent))
    }

    /// nginx does so at the limit of `keepalive_requests`: 72 of 800 failed.
    @Test(.needs(.certificates)) func `A POST that GOAWAY refuses is sent again on another connection`() async throws {
        let server = try await TLSServer.frames(
            """
            if number == 0:
                send(1, 5, request(), b"\\x88")
                first, second = request(), request()
                send(7, 0, 0, struct.pack(">II", first, 0))
                send(1, 5, first, b"\\x88")
                os.close(connection.unwrap().detach())
            send(1, 5, request(), b"\\x88")
            request()
            """
        )
        let client = server.client
        _ = try await client.send(URLRoute(server.url))
        async let first = client.send(URLRoute(server.url, .post("")))
        async let second = client.send(URLRoute(server.url, .post("")))
        #expect(try await [first.status, second.status] == [200, 200])
        #expect(server.output.count { $0 == "request 0" } == 3 && server.output.contains("request 1"))
    }

    /// golang/go 19943: a server that ends an idle connection with a 408.
    @Test(arguments: [HTTPRequest.Method.get, .post], [false, true])
    func `What a server sends unasked is not the next response`(
        _ method: HTTPRequest.Method,
        _ isClosed: Bool
    ) async throws {
        let hasSent = Flag()
        let server = try RawServer { request, connection in
            try connection.respond(text: request.target)
            guard request.target == "/first" else { return true }
            try connection.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nlate")
            if isClosed { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
            hasSent.raise()
            return true
        }
        let client = NetworkClient()
        #expect(try await client.send(route(server, .get("first"))).string() == "/first")
        #expect(await eventually { hasSent.isRaised })
        let next = Endpoint(method, "next", body: method == .post ? .data(Data(count: 9)) : .none)
        #expect(try await client.send(route(server, next)).string() == "/next")
        #expect(server.requests.map(\.target) == ["/first", "/next"])
    }

    @Test(
        .needs(.certificates),
        .timeLimit(.minutes(5)),
        arguments: [
            // Its window holds 64 KiB of the body.
            (HTTPRequest.Method.put, 100_000, false), (.put, 300_000, false),
            // curl 986: libcurl 7.88 drops it. nginx does so with `return 200`: 50 of 200 POSTs of 70 kB failed.
            (.put, 100, true), (.put, 1_000_000, true), (.post, 1_000_000, true),
        ]
    )
    func `A response is complete although the server does not read the body, or resets its stream`(
        _ method: HTTPRequest.Method,
        _ size: Int,
        _ isReset: Bool
    ) async throws {
        let server = try await TLSServer.frames(
            """
            stream = request()
            head = frame(1, 4, stream, b"\\x88\(isReset ? "" : "\\x0f\\x0d\\x015")")
            end = \(isReset ? "frame(3, 0, stream, bytes(4))" : "b''")
            connection.sendall(head + frame(0, 1, stream, b"hello") + end)
            request()
            """
        )
        let request = Endpoint(method, "", body: .data(Data(count: size))).with(\.timeLimit, .seconds(250))
        #expect(try await server.client.send(URLRoute(server.url, request)).string() == "hello")
    }

    @Test(.timeLimit(.minutes(5))) func `A response to HEAD with a body is complete at its head`() async throws {
        let server = try RawServer.silent(after: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        let request = Endpoint(.head, "", body: .data(Data("x".utf8))).with(\.timeLimit, .seconds(250))
        #expect(try await NetworkClient().send(route(server, request)).status == 200)
        #expect(server.requests.first?.bodyCount == 1)
    }

    @Test func `What a 204 announces does not become the next response`() async throws {
        let server = try RawServer { request, connection in
            if request.target == "/next" {
                try connection.respond(text: "next")
                return true
            }
            try connection.send("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")
            // The next request, if it comes on this connection.
            var byte: UInt8 = 0
            if recv(connection.descriptor, &byte, 1, Int32(MSG_PEEK)) == 1 { try connection.send("hello") }
            return true
        }
        let client = NetworkClient()
        #expect(try await client.send(route(server)).status == 204)
        #expect(try await client.send(route(server, .get("next"))).string() == "next")
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["", "Content-Encoding: gzip\r\n"])
    func `A response that announces too much is refused at its head`(field: String) async throws {
        let server = try RawServer.silent(after: "HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\(field)\r\n")
        let error = await thrown { try await NetworkClient().send(route(server)) }
        if case .responseTooLarge? = error as? NetworkError {} else { Issue.record("\(error as Any)") }
        // It may be the length of what was asked for, not of a body.
        let head = try await NetworkClient().send(route(server, .head("")))
        #expect(head.headers[.contentLength] == "5000000000")
    }

    /// Another one on the way may have cut it off.
    @Test(.needs(.certificates), arguments: [true, false], ["200 OK\\r\\n\\r\\nhalf", "401 No\\r\\n\\r\\n"])
    func `A body without a length needs the end of its TLS session`(_ isEnded: Bool, _ answer: String) async throws {
        let server = try await TLSServer(
            serving: """
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 \(answer)")
                os.close(connection\(isEnded ? ".unwrap()" : "").detach())
                """
        )
        let error = await thrown {
            // A 401 may be followed by another response.
            let request = Endpoint.get("").with(\.credentials, Credentials(user: "u", password: "p"))
                .with(\.validation, .all)
            let text = try await server.client.send(URLRoute(server.url, request)).string()
            #expect(text == (answer.hasSuffix("half") ? "half" : ""))
        }
        #expect(isEnded ? error == nil : kind(of: error) == .incompleteBody, "\(error as Any)")
    }
}
