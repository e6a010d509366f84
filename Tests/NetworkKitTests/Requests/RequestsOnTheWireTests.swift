import TestSupport

@testable import NetworkKit

/// Requests as they arrive at the server.
@Suite struct RequestsOnTheWireTests {
    private let server: RawServer

    init() throws {
        server = try RawServer.keeping { _, connection in try connection.respond(text: "{}") }
    }

    private func received(_ request: Endpoint, _ interceptors: [NetworkClient.Interceptor] = []) async throws
        -> ReceivedRequest
    {
        _ = try await NetworkClient(interceptors: interceptors).send(route(server, request))
        return try #require(server.requests.last)
    }

    @Test func `Methods, queries and bodies arrive as written`() async throws {
        for (request, line, type, body) in [
            (.get("a/\("b/c")", query: ["x": ["y": 1]]), "GET /a/b%2Fc?x%5By%5D=1", nil, ""),
            (.delete("a", query: ["x": 1]), "DELETE /a?x=1", nil, ""),
            (
                .post("form", body: .form(["a": "b c", "d": [1]])), "POST /form",
                "application/x-www-form-urlencoded; charset=utf-8", "a=b%20c&d%5B%5D=1"
            ),
            (
                .put("json", body: .json(["b": 1.50, "a": ["ä", nil]])), "PUT /json", "application/json",
                #"{"a":["ä",null],"b":1.5}"#
            ),
            (.patch("p", body: .data(Data([0, 1]), contentType: "x/own")), "PATCH /p", "x/own", "\0\u{1}"),
        ] as [(Endpoint, String, String?, String)] {
            let arrived = try await received(request)
            #expect("\(arrived.method) \(arrived.target)" == line)
            #expect(arrived.headers["content-type"] == type && arrived.body == Data(body.utf8), "\(arrived)")
        }
        // Without one, libcurl would send that of a form.
        let untyped = try await received(.post("", body: .data(Data())), [.init { $0.setHeader("Content-Type", nil) }])
        for request in [untyped, try await received(.post(""))] {
            #expect(request.headers["content-type"] == nil && request.headers["content-length"] == "0")
        }
    }

    /// Up to 64 KiB, libcurl has a copy.
    @Test(arguments: [1, 65_535, 65_536, 300_000]) func `Bodies of each size arrive`(_ count: Int) async throws {
        let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        for method in [HTTPRequest.Method.get, .post, .patch] {
            let request = try await received(Endpoint(method, "", body: .data(body)))
            #expect(request.method == method.rawValue && request.body == body)
        }
    }

    @Test func `The route's own fields precede those of interceptors`() async throws {
        let interceptors: [NetworkClient.Interceptor] = [
            .bearerToken("token"), .header("X-App", "demo"), .header("X-Own", "not this"),
            .bearerToken("other", hosts: ["example.com"]),
        ]
        let own = try #require(HTTPField.Name("X-Own"))
        let request = try await received(.get("", headers: [own: "route's"]), interceptors)
        #expect(request.headers["authorization"] == "Bearer token")
        #expect(request.headers["x-app"] == "demo")
        #expect(request.headers["x-own"] == "route's")
        let elsewhere = try await received(.get(""), [.bearerToken("other", hosts: ["example.com"])])
        #expect(elsewhere.headers["authorization"] == nil)
    }

    @Test func `A line break in a field does not add a field`() async throws {
        let fields: HTTPFields = [.acceptLanguage: "b\r\nX-C: d", .cookie: "a", .cookie: "b"]
        let arrived = try await received(.get("", headers: fields)).headers
        #expect(["accept-language", "x-c", "cookie"].map { arrived[$0] } == ["b  X-C: d", nil, "a; b"])
    }

    @Test func `Content types are requested and checked`() async throws {
        let good = Endpoint.get("").with(\.validation, .contentTypes("application/json"))
        let error = await thrown { try await received(good) }
        if case .unacceptableContentType(let failure, _)? = error as? NetworkError {
            #expect(failure.status == 200)
        } else {
            Issue.record("\(error as Any)")
        }
        #expect(server.requests.last?.headers["accept"] == "application/json")
        #expect(error?.localizedDescription == (error as? NetworkError)?.description)
        // Those of the client, unless the route has others.
        let client = NetworkClient(validation: .contentTypes("image/*"))
        for (request, accepted) in [
            (Endpoint.get(""), "image/*"), (good, "application/json"), (.get("").with(\.validation, .all), "*/*"),
        ] {
            _ = await thrown { try await client.send(route(server, request)) }
            #expect(server.requests.last?.headers["accept"] == accepted)
        }
    }

    @Test func `A file is streamed`() async throws {
        let folder = try TemporaryDirectory()
        let file = folder.url.appending(path: "picture.png")
        try Data(repeating: 7, count: 300_000).write(to: file)
        let request = try await received(.put("file", body: .file(file)))
        #expect(request.headers["content-type"] == "image/png" && request.headers["content-length"] == "300000")
        #expect(request.body == Data(repeating: 7, count: 300_000))
        // Child processes do not inherit it.
        let reader = BodyReader(try #require(try RouteBody.file(file).prepared()))
        #expect(try withUnsafeTemporaryAllocation(byteCount: 9, alignment: 1) { try reader.read(into: $0) } == 9)
        let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let open = files.filter { URL(filePath: "/proc/self/fd/\($0)").resolvingSymlinksInPath().path == file.path }
        // The client's thread may still have that of the request.
        #expect(open.contains { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
        withExtendedLifetime(reader) {}
    }
}
