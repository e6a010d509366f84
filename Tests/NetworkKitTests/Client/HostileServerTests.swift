import NetworkKit
import TestSupport

/// Responses that violate the rules of HTTP, or stretch them. None of them ends the process; each results in a response
/// or a ``NetworkError``.
@Suite struct HostileServerTests {
    private let recorder = NotificationRecorder()
    private let client: NetworkClient

    init() { client = NetworkClient(notificationCenter: recorder.center) }

    static let malformed: [String] = {
        let ok = "HTTP/1.1 200 OK\r\n"
        let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
        let lengths = [
            "-1", "+5", "0x5", "5 5", "5,5", "5, 6", "", " ", "9223372036854775807", "9223372036854775808",
            "18446744073709551616", "1e3", "٥", "5\r\nContent-Length: 6", "4294967296", "2147483648",
        ]
        let chunks = [
            "", "0", "0\r\n", "0\r\n\r\n", "-1\r\n", "z\r\n", "5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
            "5\r\nhello\r\n0\r\nHTTP/1.1 500 No\r\n\r\n", "5;a=b\r\nhello\r\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n",
            "FFFFFFFFFFFFFFFF\r\nhello", "FFFFFFFFFFFFFFFFF\r\nhello", "7FFFFFFFFFFFFFFF\r\nhello", "5\nhello\n0\n\n",
            "5\r\nhello\r\n0\r\n" + String(repeating: "A: b\r\n", count: 5000) + "\r\n",
            "5\r\nhello\r\n0\r\n: x\r\nno colon\r\n\r\n", " 5 \r\nhello\r\n0\r\n\r\n",
            "5\r\nhello\r\n0\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n",
        ]
        let lines = [
            "", "\r\n", "\r\n\r\n", "HTTP", "HTTP/", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 \r\n\r\n",
            "HTTP/1.1 20\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 -1 OK\r\n\r\n", "HTTP/1.1 000 \r\n\r\n", "HTTP/1.1 999 X\r\n\r\n",
            "HTTP/1.1 abc\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/3 200\r\n\r\n",
            "HTTP/0.9 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\nabc", "200 OK\r\n\r\n", "<html>", "\0\0\0\0\0\0\0\0",
            "\u{16}\u{3}\u{1}\u{2}\0", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
            String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 200) + ok + "\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "HTTP/1.1 199 X\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 304 Not Modified\r\n\r\n",
            "HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 407 Proxy\r\nProxy-Authenticate: Basic\r\n\r\n",
        ]
        let fields = [
            "no colon", ": empty name", "A B: c", "A\0B: c", "A: b\0c", " folded first", "A: b\r\n folded",
            "A:\u{1B}[31m", "A: b" + String(repeating: "\r\n c", count: 70_000), "Content-Encoding: gzip",
            "Content-Encoding: gzip, br, zstd, gzip, gzip, gzip, gzip",
            "Content-Encoding: what",
            "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: what",
            "Connection: close, keep-alive", "Set-Cookie: " + String(repeating: "a", count: 9000), "Set-Cookie: =",
            "Location: /", "Content-Type: ;;;=;\"", "Alt-Svc: h3=\":99999\"", "Strict-Transport-Security: max-age=-1",
            "WWW-Authenticate: Digest", "Content-Range: bytes 5-1/0",
            String(repeating: "X: y\r\n", count: 45_000) + "Z: z", String(repeating: "a:\n", count: 90_000) + "Z: z",
        ]
        let challenges = [
            "Digest", "Digest realm", "Digest realm=\"", "Digest nonce=\"\u{FF}\", algorithm=SHA-9000, qop=\"what\"",
            "Digest realm=\"\(String(repeating: "a", count: 50_000))\", nonce=\"n\"", "Digest =,=,=,",
            "Basic, Digest, Digest",
        ]
        let refused = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nWWW-Authenticate: "
        return lines + challenges.map { "\(refused)\($0)\r\n\r\n" }
            + lengths.map { ok + "Content-Length: \($0)\r\n\r\nhello" } + chunks.map { chunked + $0 }
            + fields.map { ok + $0 + "\r\n\r\nhello" }
    }()

    @Test func `Malformed responses are responses or errors`() async throws {
        #expect(Self.malformed.count >= 85)
        let credentials = NetworkClient.Interceptor.credentials(Credentials(user: "a", password: "secret"))
        let options = NetworkClient.Options { $0.keepsCookies = true }
        let client = NetworkClient(interceptors: [credentials], validation: .all, options: options)
        for text in Self.malformed {
            let server = try RawServer.sending(text)
            let error = await thrown {
                let response = try await client.send(route(server))
                _ = try? response.string()
                _ = "\(response)"
            }
            #expect(error == nil || error is NetworkError, "\(text.prefix(60)): \(error as Any)")
            #expect((1...3).contains(server.requests.count))
            #expect(server.requests.allSatisfy { !"\($0.headers)".contains("secret") })
            let download = await thrown { for try await _ in try await client.bytes(route(server)) {} }
            #expect(download == nil || download is NetworkError, "\(text.prefix(60)): \(download as Any)")
        }
    }

    @Test(arguments: [("200 OK", "5\r\nhello\r\n"), ("401 Unauthorized", "")])
    func `Trailers are not header fields`(_ status: String, _ body: String) async throws {
        let start = "HTTP/1.1 \(status)\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
        let server = try RawServer.sending(start + body + "0\r\nX-Sum: 1\r\n\r\n")
        let credentials = Credentials(user: "u", password: "p", isBasic: true)
        let request = Endpoint.get("").with(\.credentials, credentials).with(\.validation, .all)
        let response = try await NetworkClient().send(route(server, request))
        #expect(response.status.code == Int(status.prefix(3)))
        #expect(response.headers.map(\.name) == [.transferEncoding, .trailer])
    }

    /// The server sends 100 MiB, unless the client closes the connection.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "X-A: trailer\r\n"),
            ("", "HTTP/1.1 103 Early Hints\r\nX-A: hint\r\n\r\n"),
            ("HTTP/1.1 200 OK\r\n", "X-A: field\r\n"), ("HTTP/1.1 200 OK\r\nX-A: ", "long"),
        ]
    )
    func `Fields without end are an error`(_ start: String, _ field: String) async throws {
        let sent = Locked(0)
        let server = try RawServer.closing { _, connection in
            try connection.send(start)
            let fields = Data(String(repeating: field, count: 1000).utf8)
            while sent.withLock({ $0 }) < 100 << 20 {
                try connection.send(fields)
                sent.withLock { $0 += fields.count }
            }
        }
        #expect(await failure { try await NetworkClient().send(route(server)) } == .invalidResponse)
        #expect(await eventually { !server.isConnected })
        // The sockets hold some megabytes.
        #expect(sent.withLock { $0 } < 100 << 20)
    }

    @Test func `Messages carry no control characters and no secrets`() async throws {
        let server = try RawServer.sending(
            "HTTP/1.1 500 Bad\u{1B}[31m\u{202E}\r\nContent-Type: \u{1B}]0;x\u{7}\u{202E}\r\n\r\n\u{1B}[2J\u{202E}evil\u{2066}\u{9B}1m"
        )
        var base = try #require(URLComponents(url: server.url, resolvingAgainstBaseURL: true))
        base.user = "user"
        base.password = "hunter2"
        let secret = URLRoute(try #require(base.url), .get("a", query: ["token": "hunter3"]))
        let typed = NetworkClient(validation: .init(statuses: nil, contentTypes: ["a/b"]))
        var errors: [(any Error)?] = []
        for client in [NetworkClient(), typed] { errors.append(await thrown { try await client.send(secret) }) }
        server.stop()
        errors.append(await thrown { try await NetworkClient().send(secret) })
        for error in errors {
            for text in ["\(try #require(error))", String(reflecting: error)] {
                let categories = Set(text.unicodeScalars.map(\.properties.generalCategory))
                #expect(!text.contains("hunter") && categories.isDisjoint(with: [.control, .format]), "\(text)")
            }
        }
    }

    /// `LONG` is more than the transfer's buffer. Which error it is depends on the version of libcurl.
    @Test(
        arguments: [
            ("", isWhole: false), ("SSH-2.0-OpenSSH_9.2\r\n\r\n", false), ("200 OK\r\nContent-Le", false),
            ("200 OK\r\nContent-Length: 100\r\n\r\nhalf", false),
            ("200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf", false),
            ("200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", false),
            ("101 Switching Protocols\r\n\r\nLONG", false),
            // These are responses: one is cut off, the others have a status line among the fields.
            ("200 OK\r\nContent-Length: 2000000\r\n\r\nLONG, and more", true),
            ("200 OK\r\nHTTP/x: y\r\nContent-Length: 2000000\r\n\r\nLONG", true),
            ("200 OK\r\nHTTP/1.1: 100\r\nContent-Length: 2000000\r\n\r\nLONG", true),
        ]
    )
    func `A response is as long as it announces, or an error`(text: String, isWhole: Bool) async throws {
        let body = String(repeating: "x", count: 2_000_000)
        let server = try RawServer.sending(
            (text.first?.isNumber == true ? "HTTP/1.1 " : "") + text.replacing("LONG", with: body)
        )
        let request = Endpoint.get("").with(\.timeLimit, .seconds(300))
        let failure = await failure {
            let text = try await client.send(route(server, request)).string()
            #expect(text == body)
        }
        #expect((failure == nil) == isWhole)
        if text.hasPrefix("101") { #expect(failure == .invalidResponse) }
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

    @Test func `A response may arrive byte by byte`() async throws {
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
            for byte in "hello, world".utf8 {
                usleep(1_800_000)
                try connection.send(Data([byte]))
            }
        }
        let limited = Endpoint.get("").with(\.timeLimit, .seconds(2))
        async let failure = failure { try await client.send(route(server, limited)) }
        // Longer than the timeout in total, but never silent for that long.
        let response = try await client.send(route(server, .get("").with(\.timeout, .seconds(20))))
        #expect(try response.string() == "hello, world")
        #expect(await failure == .timeLimitExceeded)
    }

    /// The body is more than sockets hold.
    @Test(.timeLimit(.minutes(5)), arguments: ["413 Content Too Large", "200 OK"])
    func `An answer before the body was read ends the request`(_ status: String) async throws {
        let hasAnswer = Flag()
        let server = try RawServer.keeping { _, connection in
            try connection.respond(status)
            hasAnswer.wait()
        }
        defer { hasAnswer.raise() }
        let request = Endpoint.post("unread", body: .data(Data(count: 64 << 20))).with(\.validation, .all)
        #expect(try await client.send(route(server, request)).status.code == Int(status.prefix(3)))
    }
}
