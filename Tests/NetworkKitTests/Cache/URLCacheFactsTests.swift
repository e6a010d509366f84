import Foundation
import FoundationNetworking
import IndicatorCore
import Testing

/// What Linux's `URLCache` does by itself, which is why ``NetworkKit/ResponseCache`` is not built on it. When one of these fails after
/// an update of the toolchain, that decision can be looked at again.
@Suite struct URLCacheFactsTests {
    /// How often the same is asked for: were it kept a moment after it came, a later request would find it.
    private static let times = 10

    /// Asks ten times, with a `URLCache`, and tells how many requests arrived and with which conditions.
    private func ask(headers: [String]) async throws -> (requests: Int, conditions: [String]) {
        let folder = try TestFolder()
        let server = try RawServer { request, connection in
            try connection.respond(headers: headers, text: "hello")
            return true
        }
        let configuration = URLSessionConfiguration.default
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, diskPath: folder.url.path)
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        for _ in 0..<Self.times {
            let (data, _) = try await session.data(from: server.url.appending(path: "x"))
            #expect(data == Data("hello".utf8))
        }
        let requests = server.requests
        return (requests.count, requests.compactMap { $0.headers["if-none-match"] })
    }

    @Test func itDoesNotRevalidate() async throws {
        let answer = try await ask(headers: ["ETag: \"x\"", "Cache-Control: no-cache"])
        #expect(answer.requests == Self.times)
        #expect(answer.conditions.isEmpty)
    }

    @Test func itDoesNotKeepWhatVaries() async throws {
        #expect(try await ask(headers: ["Cache-Control: max-age=60", "Vary: Accept"]).requests == Self.times)
    }

    @Test func itDoesNotServeAFreshResponseToTheAsyncCalls() async throws {
        #expect(try await ask(headers: ["Cache-Control: max-age=60"]).requests == Self.times)
    }

    @Test func itDoesNotServeAFreshResponseToCompletionHandlers() async throws {
        let server = try RawServer { _, connection in
            try connection.respond(headers: ["Cache-Control: max-age=60"], text: "hello")
            return true
        }
        let folder = try TestFolder()
        let configuration = URLSessionConfiguration.default
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, diskPath: folder.url.path)
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        let url = server.url.appending(path: "x")
        for _ in 0..<Self.times {
            await withCheckedContinuation { continuation in
                session.dataTask(with: url) { _, _, _ in continuation.resume() }.resume()
            }
        }
        #expect(server.requests.count == Self.times)
    }
}
