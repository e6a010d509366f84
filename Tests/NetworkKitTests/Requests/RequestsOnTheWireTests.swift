import HTTPTypes
import TestSupport

@testable import NetworkKit

/// Requests as they arrive at the server.
@Suite struct RequestsOnTheWireTests {
    private let server: RawServer

    init() throws {
        server = try RawServer.keeping { _, connection in try connection.respond(text: "{}") }
    }

    private func received(_ request: Endpoint, interceptors: [NetworkClient.Interceptor] = []) async throws
        -> ReceivedRequest
    {
        _ = try await NetworkClient(interceptors: interceptors).send(route(server, request))
        return try #require(server.requests.last)
    }

    @Test func `Methods queries and bodies arrive as written`() async throws {
        let get = try await received(.get("a/\("b/c")", query: ["x": ["y": 1]]))
        #expect(get.method == "GET")
        #expect(get.target == "/a/b%2Fc?x%5By%5D=1")
        let delete = try await received(.delete("a", query: ["x": 1]))
        #expect(delete.method == "DELETE")
        #expect(delete.target == "/a?x=1")
        let form = try await received(.post("form", body: .form(["a": "b c", "d": [1]])))
        #expect(form.method == "POST")
        #expect(form.headers["content-type"] == "application/x-www-form-urlencoded; charset=utf-8")
        #expect(String(decoding: form.body, as: UTF8.self) == "a=b%20c&d%5B%5D=1")
        let json = try await received(.put("json", body: .json(["b": 1.50, "a": ["ä", nil]])))
        #expect(json.method == "PUT")
        #expect(json.headers["content-type"] == "application/json")
        #expect(String(decoding: json.body, as: UTF8.self) == #"{"a":["ä",null],"b":1.5}"#)
        let patch = try await received(.patch("p", body: .data(Data([0, 255]), contentType: "application/x-own")))
        #expect(patch.method == "PATCH")
        #expect(patch.headers["content-type"] == "application/x-own")
        #expect(patch.body == Data([0, 255]))
        // Without one, libcurl would send that of a form.
        let untyped = try await received(
            .post("", body: .data(Data())),
            interceptors: [.init { $0.setHeader("Content-Type", nil) }]
        )
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

    @Test func `The routes own fields precede those of interceptors`() async throws {
        let interceptors: [NetworkClient.Interceptor] = [
            .bearerToken("token"), .header("X-App", "demo"), .header("X-Own", "not this"),
            .bearerToken("other", hosts: ["example.com"]),
        ]
        let own = try #require(HTTPField.Name("X-Own"))
        let request = try await received(.get("", headers: [own: "route's"]), interceptors: interceptors)
        #expect(request.headers["authorization"] == "Bearer token")
        #expect(request.headers["x-app"] == "demo")
        #expect(request.headers["x-own"] == "route's")
        let elsewhere = try await received(.get(""), interceptors: [.bearerToken("other", hosts: ["example.com"])])
        #expect(elsewhere.headers["authorization"] == nil)
    }

    @Test func `A line break in a field does not add a field`() async throws {
        let request = try await received(
            .get("", headers: [.acceptLanguage: "b\r\nX-C: d", .cookie: "a", .cookie: "b"])
        )
        #expect(request.headers["accept-language"] == "b  X-C: d")
        #expect(request.headers["x-c"] == nil)
        #expect(request.headers["cookie"] == "a; b")
    }

    @Test func `Content types are requested and checked`() async throws {
        let good = Endpoint.get("").with(\.validation, .contentTypes("application/json"))
        let error = await thrown { _ = try await received(good) }
        guard case .unacceptableContentType(let failure, _)? = error as? NetworkError else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(failure.status == 200)
        #expect(server.requests.last?.headers["accept"] == "application/json")
        #expect(error?.localizedDescription == (error as? NetworkError)?.description)
        // Those of the client, unless the route has others.
        let client = NetworkClient(validation: .contentTypes("image/*"))
        for (request, accepted) in [
            (Endpoint.get(""), "image/*"), (good, "application/json"), (.get("").with(\.validation, .all), "*/*"),
        ] {
            _ = await thrown { _ = try await client.send(route(server, request)) }
            #expect(server.requests.last?.headers["accept"] == accepted)
        }
    }

    @Test func `A file is streamed`() async throws {
        let folder = try TemporaryDirectory()
        let file = folder.url.appending(path: "picture.png")
        try Data(repeating: 7, count: 300_000).write(to: file)
        let request = try await received(.put("file", body: .file(file)))
        #expect(request.headers["content-type"] == "image/png")
        #expect(request.headers["content-length"] == "300000")
        #expect(request.body == Data(repeating: 7, count: 300_000))
        // Child processes do not inherit it.
        let reader = BodyReader(try #require(try RouteBody.file(file).prepared()))
        #expect(try withUnsafeTemporaryAllocation(byteCount: 9, alignment: 1) { try reader.read(into: $0) } == 9)
        let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let open = files.filter { URL(filePath: "/proc/self/fd/\($0)").resolvingSymlinksInPath().path == file.path }
        // The client's thread may still have that of the request.
        #expect(Set(open.map { fcntl($0, F_GETFD) & FD_CLOEXEC }) == [FD_CLOEXEC])
        withExtendedLifetime(reader) {}
    }
}
