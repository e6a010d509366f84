import FlyingFox
import Foundation

/// What the demo server answers.
enum DemoRoutes {
    /// A path that the server answers, for its index page and the help.
    struct Entry: Sendable {
        var route: String
        var summary: String
    }

    static let entries =
        [
            Entry(route: "GET /fast", summary: "answers at once"),
            Entry(route: "GET /slow?ms=2000", summary: "answers after so many milliseconds"),
            Entry(
                route: "GET /stream?ms=2000",
                summary: "sends its body little by little for so long; /download is the same"
            ),
            Entry(route: "GET /status/418", summary: "answers with this status code"),
            Entry(route: "POST /upload?ms=2000", summary: "takes a body, reading it for so long, and throws it away"),
        ] + EchoRoutes.entries + StoreRoutes.entries

    /// The longest that an answer takes.
    static let longest = Duration.seconds(60)

    static func add(to server: HTTPServer) async {
        await server.appendRoute("GET /") { _ in
            let index = entries.map { "\($0.route)  \($0.summary)\n" }.joined()
            return HTTPResponse(statusCode: .ok, headers: text, body: Data(index.utf8))
        }
        await server.appendRoute("GET /fast") { _ in
            HTTPResponse(statusCode: .ok, headers: text, body: Data("fast\n".utf8))
        }
        await server.appendRoute("GET /slow") { request in
            try await Task.sleep(for: duration(of: request))
            return HTTPResponse(statusCode: .ok, headers: text, body: Data("slow\n".utf8))
        }
        for path in ["GET /stream", "GET /download"] {
            await server.appendRoute(HTTPRoute(path)) { request in
                let body = PacedBytes(count: 256 * 1024, duration: duration(of: request))
                return HTTPResponse(statusCode: .ok, body: HTTPBodySequence(from: body, count: body.count))
            }
        }
        await server.appendRoute("GET /status/:code") { (code: Int) in
            let known = (200...599).contains(code)
            return HTTPResponse(statusCode: known ? HTTPStatusCode(code, phrase: "Status \(code)") : .badRequest)
        }
        await server.appendRoute("POST /upload") { request in
            try await read(request.bodySequence, for: duration(of: request))
            return HTTPResponse(statusCode: .created)
        }
        await EchoRoutes.add(to: server)
        await StoreRoutes.add(to: server)
    }

    private static let text: HTTPHeaders = [.contentType: "text/plain; charset=utf-8"]

    private static func duration(of request: HTTPRequest) -> Duration {
        let milliseconds = request.query["ms"].flatMap(Int.init) ?? 2000
        return min(max(.milliseconds(milliseconds), .zero), longest)
    }

    /// Reads a body as slowly as asked for, so that its sender has progress to show.
    private static func read(_ body: HTTPBodySequence, for duration: Duration) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        var received = 0
        for try await chunk in body {
            received += chunk.count
            guard let count = body.count, count > 0 else { continue }
            try await clock.sleep(until: start + duration * received / count)
        }
        try await clock.sleep(until: start + duration)
    }
}
