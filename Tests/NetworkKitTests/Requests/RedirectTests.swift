import NetworkKit
import TestSupport

/// Redirects, with the `curl` program as the reference.
@Suite struct RedirectTests {
    /// A cell of the table: a method, a status, and whether the target has another origin.
    struct Case: Sendable, CustomTestStringConvertible {
        var method: HTTPRequest.Method
        var status: Int
        var isOtherOrigin: Bool

        var testDescription: String { "\(method.rawValue) \(status) \(isOtherOrigin ? "other" : "same")" }

        static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete]

        static let all = methods.flatMap { method in
            [300, 301, 302, 303, 307, 308].flatMap { status in
                [false, true].map { Case(method: method, status: status, isOtherOrigin: $0) }
            }
        }

        var hasBody: Bool { [.post, .put, .patch].contains(method) }

        /// curl's options for the method. For one without an option of its own: `--request`, which applies to all
        /// requests.
        func arguments(file: URL) -> [String] {
            switch method {
            case .get: []
            case .head: ["--head"]
            case .post: ["--data-binary", "@\(file.path)"]
            case .put: ["--upload-file", file.path]
            case .patch: ["--request", "PATCH", "--data-binary", "@\(file.path)"]
            default: ["--request", method.rawValue]
            }
        }

        /// curl uses `--request PATCH` or `DELETE` for all requests, as its manual says, even after it has dropped the
        /// body. In these cases RFC 9110 §15.4 is the only reference.
        var isKnownToDiffer: Bool {
            method == .patch && status < 307 && status > 300 || method == .delete && status == 303
        }
    }

    private static let fields: [(name: String, value: String)] = [
        ("Authorization", "Bearer secret"), ("Cookie", "a=b"), ("X-Api-Key", "secret"), ("X-Plain", "1"),
        ("X-Unknown", "secret"), ("Accept-Language", "en"), ("X-Request-ID", "1"),
    ]

    /// The request that arrived at the target, as text for a cell of the table.
    private static func describe(_ request: ReceivedRequest?) -> String {
        guard let request else { return "nothing" }
        let names = fields.map { $0.name.lowercased() }.sorted().filter { request.headers[$0] != nil }
        return ([request.method] + (request.bodyCount > 0 ? ["body"] : []) + names).joined(separator: ", ")
    }

    /// Two servers; the first one redirects.
    private final class Servers: Sendable {
        let first: RawServer
        let second: RawServer

        init(_ test: Case) throws {
            let second = try RawServer.closing { _, connection in try connection.respond(text: "here") }
            self.second = second
            let location = test.isOtherOrigin ? "\(second.url)/target" : "/target"
            first = try RawServer.closing { request, connection in
                if request.target == "/target" { return try connection.respond(text: "here") }
                try connection.respond("\(test.status) Elsewhere", headers: ["Location: \(location)"])
            }
        }

        var arrived: ReceivedRequest? { (first.requests + second.requests).first { $0.target == "/target" } }
    }

    private static func sent(_ test: Case, body: RouteBody) async throws -> String {
        let servers = try Servers(test)
        let client = NetworkClient(interceptors: [
            .bearerToken("secret"), .header("Cookie", "a=b"), .header("X-Api-Key", "secret"),
            .header("X-Plain", "1", isSensitive: false),
            .header("X-Unknown", "secret"), .header("Accept-Language", "en"), .header("X-Request-ID", "1"),
        ])
        let request = Endpoint(test.method, "begin", body: test.hasBody ? body : .none)
        _ = try await client.send(route(servers.first, request))
        return describe(servers.arrived)
    }

    private static func sentByCurl(_ test: Case, file: URL) async throws -> String {
        let servers = try Servers(test)
        let options = ["--silent", "--show-error", "--location", "--noproxy", "*"] + test.arguments(file: file)
        let headers = fields.flatMap { ["--header", "\($0.name): \($0.value)"] }
        let result = try await Command.run("curl", options + headers + ["\(servers.first.url)/begin"], package: "curl")
        #expect(result.status == 0, "\(result.error)")
        return describe(servers.arrived)
    }

    @Test(.needs("curl", package: "curl")) func `Every cell is as curl does it`() async throws {
        let folder = try TemporaryDirectory()
        let file = folder.url.appending(path: "body.bin")
        try Data(repeating: 7, count: 1000).write(to: file)
        for test in Case.all {
            let own = try await Self.sent(test, body: .data(Data(repeating: 7, count: 1000)))
            var reference = try await Self.sentByCurl(test, file: file)
            // curl cannot know that these fields are secret.
            if test.isOtherOrigin {
                #expect(!own.contains("authorization") && !own.contains("cookie"), "\(test.testDescription)")
                reference = reference.replacing(", x-api-key", with: "").replacing(", x-unknown", with: "")
            }
            if !test.isKnownToDiffer { #expect(own == reference, "\(test.testDescription)") }
        }
    }

    @Test func `Methods change as the standard requires`() async throws {
        for (method, status, isOtherOrigin, start) in [
            (.patch, 301, false, "PATCH, body"), (.patch, 302, false, "PATCH, body"), (.patch, 303, false, "GET,"),
            (.delete, 303, true, "GET,"),
        ] as [(HTTPRequest.Method, Int, Bool, String)] {
            let test = Case(method: method, status: status, isOtherOrigin: isOtherOrigin)
            #expect(try await Self.sent(test, body: .data(Data("x".utf8))).hasPrefix(start))
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
            let servers = try Servers(Case(method: .post, status: status, isOtherOrigin: isOtherOrigin))
            _ = try await NetworkClient().send(route(servers.first, .post("begin", body: body)))
            let arrived = try #require(servers.arrived)
            #expect(count.contains(arrived.bodyCount))
            #expect(arrived.headers["content-type"] == servers.first.requests[0].headers["content-type"])
        }
    }

    @Test func `A dropped body drops its content type`() async throws {
        let servers = try Servers(Case(method: .post, status: 303, isOtherOrigin: false))
        _ = try await NetworkClient().send(route(servers.first, .post("begin", body: .json(["a": 1]))))
        #expect(servers.arrived?.method == "GET" && servers.arrived?.headers["content-type"] == nil)
    }

    @Test func `Credentials stay with their origin`() async throws {
        let servers = try Servers(Case(method: .get, status: 302, isOtherOrigin: true))
        let credentials = Credentials(user: "user", password: "secret", isBasic: true)
        _ = try await NetworkClient().send(route(servers.first, .get("begin").with(\.credentials, credentials)))
        #expect(servers.first.requests[0].headers["authorization"] == "Basic dXNlcjpzZWNyZXQ=")
        #expect(servers.arrived?.headers["authorization"] == nil)
    }

    @Test(arguments: [
        "file:///etc/passwd", "http://[::1", "gopher://127.0.0.1/", "http://", "http:///path", "javascript:alert(1)",
        "http://127.0.0.1:99999999/", "//", "http://a b/", "",
    ])
    func `A location that cannot be followed is an error`(location: String) async throws {
        let error = try await error(of: location)
        #expect(error is NetworkError && !"\(error as Any)".contains("root:"), "\(error as Any)")
    }

    /// The error of a request that is redirected.
    private func error(of location: String) async throws -> (any Error)? {
        let server = try RawServer.closing { _, connection in
            try connection.respond("302 Found", headers: ["Location: \(location)"])
        }
        return await thrown { try await NetworkClient().send(route(server)) }
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

    @Test(arguments: [
        "app://user:s3cr3t@host/callback", "app://host/callback?code=s3cr3t", "app:/callback#token=s3cr3t",
    ])
    func `The message about a location contains no secrets`(_ location: String) async throws {
        let text = "\(try await error(of: location) as Any)"
        #expect(text.contains("callback") && !text.contains("s3cr3t"), "\(text)")
    }

    @Test func `Ten thousand hops end at the twentieth`() async throws {
        let server = try RawServer.keeping { request, connection in
            let next = (Int(request.target.dropFirst()) ?? 0) + 1
            try connection.respond("302 Found", headers: ["Location: /\(min(next, 10_000))"])
        }
        let error = await thrown { try await NetworkClient().send(route(server, .get("0"))) }
        if case .tooManyRedirects(let urls)? = error as? NetworkError {
            #expect(urls.count == 21 && server.requests.count == 21)
        } else {
            Issue.record("\(error as Any)")
        }
        #expect(!"\(error as Any)".contains("loop"))
    }

    @Test func `A loop is reported`() async throws {
        let server = try RawServer.keeping { request, connection in
            try connection.respond("302 Found", headers: ["Location: \(request.target == "/a" ? "/b" : "/a")"])
        }
        let error = await thrown { try await NetworkClient().send(route(server, .get("a"))) }
        #expect("\(error as Any)".contains("in a loop"))
    }
}

/// Bodies of redirects, which nobody reads.
@Suite struct RedirectBodyTests {
    @Test(arguments: [1, 100_000]) func `A body that is cut off does not matter`(words: Int) async throws {
        let body = String(repeating: "word", count: words)
        let server = try RawServer.closing { request, connection in
            if request.target == "/next" { return try connection.respond(text: "here") }
            try connection.send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 1000000\r\n\r\n\(body)")
        }
        #expect(try await NetworkClient().send(route(server)).string() == "here")
        for try await piece in try await NetworkClient().bytes(route(server)) { #expect(piece == Data("here".utf8)) }
    }
}
