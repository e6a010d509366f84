import TestSupport

@testable import NetworkKit

@Suite(.timeLimit(.minutes(5))) struct TokenRefreshTests {
    /// What the server's threads and the refresh share.
    private final class Service: Sendable {
        let token = Locked("new")
        let refreshes = Counter()
        /// How many requests arrive before any of them is rejected: a request that begins later waits for the new
        /// token, and is never sent with the old one.
        let together = Locked(1)
        let rejected = Counter()
    }

    private let service = Service()
    /// Accepts one token.
    private let server: RawServer

    init() throws {
        server = try RawServer.closing { [service] request, connection in
            let isAccepted = request.headers["authorization"] == "Bearer \(service.token.withLock(\.self))"
            switch request.target {
            case "/other": try connection.respond("302 Found", headers: ["Location: http://localhost:1/"])
            case "/processed": try connection.respond("303 See Other", headers: ["Location: /processed/1"])
            case _ where isAccepted || request.target == "/open": try connection.respond(body: request.body)
            default:
                _ = service.rejected.next()
                waitUntil { service.rejected.current >= service.together.withLock(\.self) }
                try connection.respond("401 Unauthorized", text: "no")
            }
        }
    }

    /// A client that begins with an old token.
    private func client(
        _ first: String? = "old",
        refresh: @escaping @Sendable (String?) async throws -> String
    ) -> NetworkClient {
        let options = NetworkClient.Options { $0.maximumConnectionsPerHost = 100 }
        let counted: @Sendable (String?) async throws -> String = { [service] rejected in
            _ = service.refreshes.next()
            return try await refresh(rejected)
        }
        return NetworkClient(interceptors: [.refreshedToken(first, refresh: counted)], options: options)
    }

    private func requests(_ authorization: String?) -> Int {
        server.requests.count { $0.headers["authorization"] == authorization.map { "Bearer \($0)" } }
    }

    private func post(_ text: String) -> URLRoute {
        route(server, .post("post", body: .data(Data(text.utf8))))
    }

    @Test func `A rejected token is refreshed once for all requests, and they are sent again`() async throws {
        service.together.withLock { $0 = 50 }
        let client = client { rejected in
            #expect(rejected == "old")
            return "new"
        }
        let texts = try await withThrowingTaskGroup { group in
            for number in 0..<50 { group.addTask { try await client.send(post("\(number)")).string() } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(texts == Set((0..<50).map { "\($0)" }))
        #expect(service.refreshes.current == 1)
        #expect(requests("old") == 50)
        #expect(requests("new") == 50)
    }

    @Test func `Requests wait for the first token`() async throws {
        let client = client(nil) { rejected in
            #expect(rejected == nil)
            return "new"
        }
        #expect(try await client.send(post("hello")).string() == "hello")
        #expect(server.requests.count == 1)
    }

    @Test func `Streams and downloads are sent again`() async throws {
        let folder = try TemporaryDirectory()
        let client = client { _ in "new" }
        var text = Data()
        for try await piece in try await client.bytes(post("stream")) { text += piece }
        #expect(text == Data("stream".utf8))
        service.token.withLock { $0 = "newer" }
        let other = self.client("new") { _ in "newer" }
        let file = folder.url.appending(path: "file")
        _ = try await other.download(post("file"), to: file)
        #expect(try Data(contentsOf: file) == Data("file".utf8))
    }

    struct NoToken: Error {}

    @Test func `A failed refresh fails all waiting requests, and the next one tries again`() async throws {
        service.together.withLock { $0 = 5 }
        let mayEnd = Flag()
        let client = client { _ in
            if !mayEnd.isRaised { throw NoToken() }
            return "new"
        }
        let errors = await withTaskGroup { group in
            for _ in 0..<5 { group.addTask { await thrown { try await client.send(post("")) } } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.allSatisfy { $0 is NoToken })
        // Some may have got their response after the refresh had failed.
        #expect((1...5).contains(service.refreshes.current))
        mayEnd.raise()
        #expect(try await client.send(post("hello")).string() == "hello")
    }

    @Test func `A request is sent only once more when new tokens are rejected, too`() async throws {
        let client = client { [service] _ in "wrong \(service.refreshes.current)" }
        for count in 1...3 {
            #expect(try await refusal { try await client.send(post("")) }.status == .unauthorized)
            #expect(service.refreshes.current == count)
            #expect(server.requests.count == 2 * count)
        }
    }

    @Test func `A refresh through the same client does not wait for itself`() async throws {
        let shared = Locked<NetworkClient?>(nil)
        let client = client { [self] _ in
            let client = try #require(shared.withLock { $0 })
            // Rejected, and still no refresh of the refresh.
            _ = await thrown { try await client.send(post("")) }
            let open = route(server, .post("open", body: .data(Data("new".utf8))))
            return try await client.send(open).string()
        }
        shared.withLock { $0 = client }
        defer { shared.withLock { $0 = nil } }
        #expect(try await client.send(post("hello")).string() == "hello")
        #expect(service.refreshes.current == 1)
        #expect(requests(nil) == 2)
    }

    @Test func `A waiting request can be cancelled without the refresh`() async throws {
        let mayEnd = Flag()
        service.together.withLock { $0 = 2 }
        let client = client { _ in
            #expect(await eventually { mayEnd.isRaised })
            return "new"
        }
        let works = (0..<2).map { _ in Task { try await client.send(post("hello")).string() } }
        #expect(await eventually { service.refreshes.current == 1 })
        works[0].cancel()
        await #expect(throws: CancellationError.self) { try await works[0].value }
        mayEnd.raise()
        #expect(try await works[1].value == "hello")
        #expect(service.refreshes.current == 1)
    }

    @Test func `Only a response to the token refreshes it`() async throws {
        let client = client { _ in "new" }
        let own = Endpoint.get("", headers: [.authorization: "Bearer own"])
        for request in [own, .get("other"), .post("processed")] {
            _ = await thrown { try await client.send(route(server, request)) }
        }
        #expect(server.requests.suffix(2).map(\.target) == ["/processed", "/processed/1"])
        #expect(service.refreshes.current == 0)
    }
}
