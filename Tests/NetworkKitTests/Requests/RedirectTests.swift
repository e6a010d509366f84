import NetworkKit
import TestSupport

/// Redirects, with the `curl` program as the reference.
@Suite struct RedirectTests {
    private static let fields = [
        ("Authorization", "Bearer secret"), ("Cookie", "a=b"), ("X-Api-Key", "secret"), ("X-Plain", "1"),
        ("X-Unknown", "secret"), ("Accept-Language", "en"), ("X-Request-ID", "1"),
    ]

    /// Two servers; the first one redirects to the other, or to itself.
    private struct Servers {
        let first: RawServer
        let second: RawServer

        init(_ status: Int, toOther isOtherOrigin: Bool) throws {
            let second = try RawServer.closing { _, connection in try connection.respond(text: "here") }
            self.second = second
            let location = isOtherOrigin ? "\(second.url)/target" : "/target"
            first = try RawServer.closing { request, connection in
                if request.target == "/target" { return try connection.respond(text: "here") }
                try connection.respond("\(status) Elsewhere", headers: ["Location: \(location)"])
            }
        }

        /// The request that arrived at the target.
        var arrived: ReceivedRequest? { (first.requests + second.requests).first { $0.target == "/target" } }

        /// The request as text for a cell of the table.
        var description: String {
            guard let arrived else { return "nothing" }
            let names = fields.map { $0.0.lowercased() }.sorted().filter { arrived.headers[$0] != nil }
            return ([arrived.method] + (arrived.bodyCount > 0 ? ["body"] : []) + names).joined(separator: ", ")
        }
    }

    private func compareWithCurl(
        _ method: HTTPRequest.Method,
        _ options: [String],
        _ status: Int,
        toOther isOtherOrigin: Bool
    ) async throws {
        let (own, reference) = (
            try Servers(status, toOther: isOtherOrigin), try Servers(status, toOther: isOtherOrigin)
        )
        let client = NetworkClient(
            interceptors: Self.fields.map { .header($0, $1, isSensitive: $0 == "X-Plain" ? false : nil) }
        )
        let hasBody = options.contains { $0.hasSuffix("body.bin") }
        let body = hasBody ? RouteBody.data(Data(count: 1000), contentType: "a/b") : .none
        _ = try await client.send(route(own.first, Endpoint(method, "begin", body: body)))
        let curl = ["--silent", "--show-error", "--location", "--noproxy", "*"] + options
        let headers = Self.fields.flatMap { ["--header", "\($0): \($1)"] }
        let result = try await Command.run("curl", curl + headers + ["\(reference.first.url)/begin"], package: "curl")
        #expect(result.status == 0, "\(result.error)")
        var expected = reference.description
        let cell = "\(method) \(status) \(isOtherOrigin ? "other" : "same")"
        if isOtherOrigin {
            #expect(!own.description.contains("authorization") && !own.description.contains("cookie"), "\(cell)")
            // curl cannot know that these fields are secret.
            expected = expected.replacing(", x-api-key", with: "").replacing(", x-unknown", with: "")
        }
        // curl uses `--request PATCH` or `DELETE` for all requests, as its manual says, even after it has dropped the
        // body. In these cases RFC 9110 §15.4 is the reference.
        switch (method, status) {
        case (.patch, 301), (.patch, 302): expected = expected.replacing("PATCH", with: "PATCH, body")
        case (.patch, 303), (.delete, 303): expected = expected.replacing(method.rawValue, with: "GET")
        default: break
        }
        #expect(own.description == expected, "\(cell)")
        #expect((own.arrived?.headers["content-type"] == "a/b") == own.description.contains("body"), "\(cell)")
    }

    @Test(.needs("curl", package: "curl")) func `Every cell is as curl does it`() async throws {
        let folder = try TemporaryDirectory()
        let file = folder.appending("body.bin")
        try Data(count: 1000).write(to: URL(filePath: file))
        for (method, options) in [
            (.get, []), (.head, ["--head"]), (.post, ["--data-binary", "@\(file)"]), (.put, ["--upload-file", file]),
            (.patch, ["--request", "PATCH", "--data-binary", "@\(file)"]), (.delete, ["--request", "DELETE"]),
        ] as [(HTTPRequest.Method, [String])] {
            for status in [300, 301, 302, 303, 307, 308] {
                for isOther in [false, true] { try await compareWithCurl(method, options, status, toOther: isOther) }
            }
        }
    }

    @Test(arguments: [307, 308], [false, true])
    func `Streamed bodies are sent again`(status: Int, isOtherOrigin: Bool) async throws {
        let folder = try TemporaryDirectory()
        let file = folder.url.appending(path: "body.bin")
        try Data(repeating: 7, count: 300_000).write(to: file)
        var form = MultipartForm()
        form.append("a", name: "b")
        form.append(file: file, name: "file")
        for (body, count) in [(RouteBody.file(file), 300_000...300_000), (.multipart(form), 300_200...300_600)] {
            let servers = try Servers(status, toOther: isOtherOrigin)
            _ = try await NetworkClient().send(route(servers.first, .post("begin", body: body)))
            let arrived = try #require(servers.arrived)
            #expect(count.contains(arrived.bodyCount))
            #expect(arrived.headers["content-type"] == servers.first.requests[0].headers["content-type"])
        }
    }

    @Test(arguments: [
        "file:///etc/passwd", "http://[::1", "gopher://127.0.0.1/", "http://", "http:///path", "javascript:alert(1)",
        "http://127.0.0.1:99999999/", "//", "http://a b/", "", "app://user:s3cr3t@host/callback",
        "app://host/callback?code=s3cr3t", "app:/callback#token=s3cr3t",
    ])
    func `A location that cannot be followed is an error, whose message contains no secrets`(
        _ location: String
    ) async throws {
        let server = try RawServer.closing { _, connection in
            try connection.respond("302 Found", headers: ["Location: \(location)"])
        }
        let error = await thrown { try await NetworkClient().send(route(server)) }
        let text = "\(try #require(error as? NetworkError, "\(error as Any)"))"
        #expect(!text.contains("root:") && !text.contains("s3cr3t"), "\(text)")
        #expect(text.contains("callback") == location.contains("callback"), "\(text)")
    }

    /// As `curl -L` does.
    @Test(arguments: [
        ("Location: /a\r\nLocation: /b", "/a"), ("Location: /caf\u{E9}", "/caf%e9"), ("Location: /cafÃ©", "/caf%C3%A9"),
    ])
    func `The first location is followed with its bytes`(_ fields: String, _ target: String) async throws {
        let server = try RawServer.keeping { request, connection in
            if request.target != "/" { return try connection.respond() }
            let head = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\(fields)\r\n\r\n"
            try connection.send(try #require(head.data(using: .isoLatin1)))
        }
        let host = try #require(HTTPField.Name("Host"))
        let response = try await NetworkClient().send(route(server, .get("", headers: [host: "name.example"])))
        #expect(response.url.path(percentEncoded: true) == target)
        #expect(server.requests.map { $0.headers["host"] } == ["name.example", "name.example"])
        #expect(server.requests.last?.target == target)
    }

    @Test func `A redirect that cannot be followed ends the transfer`() async throws {
        let head = "HTTP/1.1 302 Found\r\nLocation: gopher://x\r\nContent-Length: 1000000\r\n\r\n"
        let server = try RawServer.silent(after: head)
        let client = NetworkClient()
        let error = await thrown { try await client.send(route(server, .get("").with(\.timeout, nil))) }
        #expect(error is NetworkError)
        #expect(await eventually { !server.isConnected })
        withExtendedLifetime(client) {}
    }

    @Test(arguments: [(10_000, false), (2, true)])
    func `The twentieth hop is the last, and a loop is reported`(pages: Int, isLoop: Bool) async throws {
        let server = try RawServer.keeping { request, connection in
            let next = ((Int(request.target.dropFirst()) ?? 0) + 1) % pages
            try connection.respond("302 Found", headers: ["Location: /\(next)"])
        }
        let error = await thrown { try await NetworkClient().send(route(server, .get("0"))) }
        if case .tooManyRedirects(let urls)? = error as? NetworkError {
            #expect(urls.count == 21 && server.requests.count == 21)
        } else {
            Issue.record("\(error as Any)")
        }
        #expect("\(error as Any)".contains("in a loop") == isLoop)
    }

    /// Nobody reads it.
    @Test(arguments: [1, 100_000])
    func `A body of a redirect that is cut off does not matter`(words: Int) async throws {
        let body = String(repeating: "word", count: words)
        let server = try RawServer.closing { request, connection in
            if request.target == "/next" { return try connection.respond(text: "here") }
            try connection.send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 1000000\r\n\r\n\(body)")
        }
        #expect(try await NetworkClient().send(route(server)).string() == "here")
        for try await piece in try await NetworkClient().bytes(route(server)) { #expect(piece == Data("here".utf8)) }
    }
}
