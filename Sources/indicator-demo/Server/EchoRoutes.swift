import FlyingFox
import Foundation
import NetworkKit

// NetworkKit exports those of HTTPTypes.
private typealias HTTPRequest = FlyingFox.HTTPRequest
private typealias HTTPResponse = FlyingFox.HTTPResponse

/// Routes compatible with httpbin.
enum EchoRoutes {
    static let entries = [
        DemoRoutes.Entry(
            route: "POST /post",
            summary: "echoes the request in httpbin's format; so do GET /get and PUT /put"
        ),
        DemoRoutes.Entry(route: "GET /delay/2", summary: "responds after this many seconds"),
        DemoRoutes.Entry(route: "GET /bytes/1024", summary: "responds with this many bytes"),
        DemoRoutes.Entry(route: "GET /cache/60", summary: "responds with a body that is fresh for this many seconds"),
        DemoRoutes.Entry(route: "GET /etag/E", summary: "responds with this ETag, or 304 if the request has it"),
        DemoRoutes.Entry(route: "GET /redirect/3", summary: "redirects this many times, then to /get"),
    ]

    /// The maximum length of `/bytes`, as in httpbin.
    private static let mostBytes = 100 * 1024

    static func add(to server: HTTPServer) async {
        for route in ["GET /get", "POST /post", "PUT /put"] {
            await server.appendRoute(HTTPRoute(route)) { try await echo($0) }
        }
        await server.appendCheckedRoute("GET /delay/:seconds") { request in
            let seconds = try request.number("seconds", in: 0...10.0)
            try await Task.sleep(for: .seconds(seconds))
            return try await echo(request)
        }
        await server.appendCheckedRoute("GET /bytes/:count") { request in
            let count = try request.number("count", in: 0...mostBytes)
            var generator = SystemRandomNumberGenerator()
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            return HTTPResponse(statusCode: .ok, headers: [.contentType: "application/octet-stream"], body: Data(bytes))
        }
        await server.appendCheckedRoute("GET /cache/:seconds") { request in
            let seconds = try request.number("seconds", in: 0...31_536_000)
            return try await echo(request, headers: [HTTPHeader("Cache-Control"): "public, max-age=\(seconds)"])
        }
        await server.appendRoute("GET /etag/:tag") { (request: HTTPRequest, tag: String) in
            let known = request.headers[HTTPHeader("If-None-Match")] ?? ""
            let headers: HTTPHeaders = [HTTPHeader("ETag"): tag]
            let isKnown = known.split(separator: ",").contains { piece in
                let name = piece.trimmingCharacters(in: CharacterSet(charactersIn: " \"W/"))
                return name == tag || name == "*"
            }
            if isKnown {
                return HTTPResponse(statusCode: HTTPStatusCode(304, phrase: "Not Modified"), headers: headers)
            }
            return try await echo(request, headers: headers)
        }
        await server.appendCheckedRoute("GET /redirect/:count") { request in
            let count = try request.number("count", in: 1...100)
            let next = count > 1 ? "/redirect/\(count - 1)" : "/get"
            return HTTPResponse(statusCode: HTTPStatusCode(302, phrase: "Found"), headers: [.location: next])
        }
    }

    private static func echo(_ request: HTTPRequest, headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        let body = try await EchoBody(request.bodyData, contentType: request.headers[.contentType] ?? "")
        var named: [String: JSON] = [:]
        for (name, value) in request.headers { named[name.rawValue] = JSON(value) }
        let host = request.headers[.host] ?? "127.0.0.1"
        let answer: JSON = [
            "args": EchoBody.object(request.query.map { ($0.name, $0.value) }), "data": JSON(body.data),
            "files": EchoBody.object(body.files), "form": EchoBody.object(body.form), "headers": .object(named),
            "json": body.json, "origin": "127.0.0.1", "url": JSON("http://\(host)\(request.path)"),
        ]
        var headers = headers
        headers[.contentType] = "application/json"
        return HTTPResponse(statusCode: .ok, headers: headers, body: answer.serializedData)
    }
}
