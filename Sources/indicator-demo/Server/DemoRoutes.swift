import FlyingFox
import FlyingSocks
import Foundation

/// The routes of the demo's server.
enum DemoRoutes {
    /// A route in the index page and the help.
    struct Entry: Sendable {
        var route: String
        var summary: String
    }

    static let entries =
        [
            Entry(route: "GET /fast", summary: "responds immediately"),
            Entry(route: "GET /slow?ms=2000", summary: "responds after this many milliseconds"),
            Entry(route: "GET /download?ms=2000", summary: "sends its body slowly, for this many milliseconds"),
            Entry(route: "GET /status/418", summary: "responds with this status code"),
            Entry(route: "POST /upload?ms=2000", summary: "reads a body for this many milliseconds, and discards it"),
        ] + EchoRoutes.entries + StoreRoutes.entries

    /// The entries as lines.
    static var table: String { entries.map { "  \($0.route)  \($0.summary)" }.joined(separator: "\n") }

    /// The longest that an answer takes, in milliseconds.
    static let longestMilliseconds = 60_000

    static func add(to server: HTTPServer) async {
        await server.appendRoute("GET /") { _ in
            HTTPResponse(statusCode: .ok, headers: text, body: Data("\(table)\n".utf8))
        }
        await server.appendRoute("GET /fast") { _ in
            HTTPResponse(statusCode: .ok, headers: text, body: Data("fast\n".utf8))
        }
        await server.appendCheckedRoute("GET /slow") { request in
            try await Task.sleep(for: try duration(of: request))
            return HTTPResponse(statusCode: .ok, headers: text, body: Data("slow\n".utf8))
        }
        await server.appendCheckedRoute("GET /download") { request in
            let body = PacedBytes(count: 256 * 1024, duration: try duration(of: request))
            return HTTPResponse(statusCode: .ok, body: HTTPBodySequence(from: body, count: body.count))
        }
        await server.appendCheckedRoute("GET /status/:code") { request in
            let code = try request.number("code", in: 200...599)
            return HTTPResponse(statusCode: HTTPStatusCode(code, phrase: "Status \(code)"))
        }
        await server.appendCheckedRoute("POST /upload") { request in
            try await read(request.bodySequence, for: try duration(of: request))
            return HTTPResponse(statusCode: .ok)
        }
        await EchoRoutes.add(to: server)
        await StoreRoutes.add(to: server)
    }

    fileprivate static let text: HTTPHeaders = [.contentType: "text/plain; charset=utf-8"]

    private static func duration(of request: HTTPRequest) throws(BadParameter) -> Duration {
        .milliseconds(try request.number("ms", in: 0...longestMilliseconds, default: 2000))
    }

    /// Reads a body slowly, so that its sender has progress to show.
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

/// An invalid parameter of a request.
struct BadParameter: Error, Hashable {
    var message: String
}

extension HTTPServer {
    /// Adds a route that responds to a ``BadParameter`` with status 400 and its message.
    func appendCheckedRoute(
        _ route: HTTPRoute,
        _ handler: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) {
        appendRoute(route) { request in
            do { return try await handler(request) } catch let error as BadParameter {
                let body = Data("\(error.message)\n".utf8)
                return HTTPResponse(statusCode: .badRequest, headers: DemoRoutes.text, body: body)
            }
        }
    }
}

extension HTTPRequest {
    /// A number in the path or the query.
    ///
    /// - Parameter default: the number if it is missing; `nil` if it is required.
    func number<Number: LosslessStringConvertible & Comparable>(
        _ name: String,
        in range: ClosedRange<Number>,
        default: Number? = nil
    ) throws(BadParameter) -> Number {
        let text: String? = routeParameters[name] ?? query[name]
        if text == nil, let `default` { return `default` }
        guard let number = text.flatMap(Number.init), range.contains(number) else {
            let expected = "a number from \(range.lowerBound) to \(range.upperBound)"
            throw BadParameter(message: "'\(name)' is '\(text ?? "")'; expected \(expected)")
        }
        return number
    }
}

/// A body that is sent evenly over a duration.
struct PacedBytes: AsyncBufferedSequence {
    typealias Element = UInt8

    /// The number of bytes.
    var count: Int
    /// The duration of sending them.
    var duration: Duration

    func makeAsyncIterator() -> Iterator { Iterator(bytes: self) }

    struct Iterator: AsyncBufferedIteratorProtocol {
        private static let parts = 40
        let bytes: PacedBytes
        private let start = ContinuousClock.now
        private var sent = 0

        init(bytes: PacedBytes) { self.bytes = bytes }

        mutating func next() async throws -> UInt8? {
            try await nextBuffer(suggested: 1)?.first
        }

        mutating func nextBuffer(suggested: Int) async throws -> [UInt8]? {
            guard sent < bytes.count else { return nil }
            let size = Swift.min(Swift.max(suggested, bytes.count / Self.parts), bytes.count - sent)
            try await ContinuousClock().sleep(until: start + bytes.duration * (sent + size) / bytes.count)
            sent += size
            return [UInt8](repeating: UInt8(ascii: "."), count: size)
        }
    }
}
