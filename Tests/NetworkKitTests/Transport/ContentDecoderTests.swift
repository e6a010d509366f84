import NetworkKit
import TestSupport

/// Compressed bodies: what is complete, truncated or damaged, however it is framed.
@Suite(.needs("python3", package: "python3")) struct ContentDecoderTests {
    /// How the end of a body is known.
    enum Framing: CaseIterable { case length, chunks, end }

    private static let text = String(repeating: "hello, world. ", count: 100_000)

    /// The text in several encodings, by names, from Python's zlib.
    private static let bodies = Task {
        let script = """
            import base64, gzip, zlib
            text = b"hello, world. " * 100000
            raw = zlib.compressobj(wbits=-15)
            bodies = {"gzip": gzip.compress(text), "deflate": zlib.compress(text)}
            bodies["raw"] = raw.compress(text) + raw.flush()
            bodies["members"] = gzip.compress(text[:100]) + gzip.compress(b"") + gzip.compress(text[100:])
            bodies["stored"] = gzip.compress(text, compresslevel=0)
            for name, body in bodies.items(): print(name, base64.b64encode(body).decode())
            """
        let lines = try await Command.python(script).split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), Data(base64Encoded: String($0[1]))!) })
    }

    private static let encodings = [
        ("gzip", "gzip"), ("gzip", "X-GZIP"), ("members", "gzip"), ("stored", "gzip"), ("deflate", "deflate"),
        ("raw", "deflate"),
    ]

    private func server(_ body: Data, _ encoding: String, _ framing: Framing, pieces: Int = 1 << 20) throws -> RawServer
    {
        try RawServer { _, connection in
            let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Encoding: \(encoding)\r\n"
            let field =
                switch framing {
                case .length: "Content-Length: \(body.count)\r\n"
                case .chunks: "Transfer-Encoding: chunked\r\n"
                case .end: ""
                }
            try connection.send(head + field + "\r\n")
            for start in stride(from: 0, to: body.count, by: pieces) {
                let piece = body[start..<min(start + pieces, body.count)]
                let isChunk = framing == .chunks
                let size = isChunk ? "\(String(piece.count, radix: 16))\r\n" : ""
                try connection.send(Data(size.utf8) + piece + Data(isChunk ? "\r\n".utf8 : "".utf8))
            }
            if framing == .chunks { try connection.send("0\r\n\r\n") }
            return framing != .end
        }
    }

    @Test(arguments: encodings, Framing.allCases) func `A complete body is decoded, and a truncated one is an error`(
        _ encoding: (name: String, value: String),
        _ framing: Framing
    ) async throws {
        let body = try #require(try await Self.bodies.value[encoding.name])
        // It may arrive byte by byte.
        for size in [1 << 20, 7, 1] where size > 7 || body.count < 10_000 {
            let whole = try server(body, encoding.value, framing, pieces: size)
            #expect(try await NetworkClient().send(route(whole)).string() == Self.text)
        }
        // Within the trailer, without it, in the middle, within the header, and before it.
        for count in [body.count - 1, body.count - 4, body.count - 8, body.count / 2, 11, 1, 0]
        where count > 0 || framing == .end {
            let cut = try server(body.prefix(count), encoding.value, framing)
            let client = NetworkClient(cache: ResponseCache(directory: nil))
            let message = Comment("\(count) of \(body.count) bytes")
            for _ in 0..<2 {
                #expect(await failure { try await client.send(route(cut)) } == .incompleteBody, message)
            }
            let stream = await failure { for try await _ in try await client.bytes(route(cut)) {} }
            #expect(stream == .incompleteBody, message)
        }
    }

    @Test func `A damaged body is an error, and what follows a member is ignored`() async throws {
        let body = try #require(try await Self.bodies.value["gzip"])
        var damaged = body
        damaged[body.count - 6] ^= 1
        func send(_ body: Data, _ encoding: String = "gzip") async throws -> NetworkResponse {
            let server = try server(body, encoding, .length)
            defer { withExtendedLifetime(server) {} }
            return try await NetworkClient().send(route(server))
        }
        #expect(await failure { try await send(damaged) } == .invalidResponse)
        for rest in [Data(count: 100), Data("rest".utf8)] {
            #expect(try await send(body + rest).string() == Self.text)
        }
        #expect(try await send(Data()).data.isEmpty)
        for encoding in ["br", "gzip, gzip"] {
            #expect(await failure { try await send(body, encoding) } == .invalidResponse, "\(encoding)")
        }
        // These are no compression. Some servers send them.
        for encoding in ["utf-8", "none", "aws-chunked"] { #expect(try await send(body, encoding).data == body) }
    }

    @Test(arguments: encodings)
    func `A reader may pause anywhere`(_ encoding: (name: String, value: String)) async throws {
        let body = try #require(try await Self.bodies.value[encoding.name])
        let server = try server(body, encoding.value, .length, pieces: 5)
        let task = try await NetworkClient().bytes(route(server))
        var text = Data()
        for try await piece in task {
            text += piece
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(text == Data(Self.text.utf8))
    }

    @Test func `An encoding that was asked for is not decoded, nor is a range`() async throws {
        let body = try #require(try await Self.bodies.value["gzip"])
        let server = try server(body, "gzip", .length)
        let client = NetworkClient(cache: ResponseCache(directory: nil))
        #expect(try await client.send(route(server, .get("", headers: [.acceptEncoding: "gzip"]))).data == body)
        #expect(try await client.send(route(server, .get("", headers: [.range: "bytes=0-9"]))).data == body)
        // Nor cached for those who did not ask for it.
        #expect(try await client.send(route(server)).string() == Self.text)
        #expect(try await client.send(route(server, .get("", headers: [.acceptEncoding: "gzip"]))).data == body)
        #expect(server.requests.map { $0.headers["accept-encoding"] } == ["gzip", "identity", "gzip, deflate", "gzip"])
    }
}
