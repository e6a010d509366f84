import TestSupport

@testable import NetworkKit

@Suite(.timeLimit(.minutes(5))) struct TokenRefreshTests {
    /// A server that accepts one token.
    private final class Service: Sendable {
        /// What the server's threads and the refresh share.
        final class Shared: Sendable {
            let token = Locked("new")
            let refreshes = Locked(0)
            /// How many requests arrive before any of them is rejected: a request that begins later waits for the new
            /// token, and is never sent with the old one.
            let together = Locked(1)
            let rejected = Locked(0)
        }

        private let shared = Shared()
        let server: RawServer

        init() throws {
            let shared = shared
            server = try RawServer.closing { request, connection in
                let isAccepted = request.headers["authorization"] == "Bearer \(shared.token.withLock { $0 })"
                if request.target == "/other" {
                    try connection.respond("302 Found", headers: ["Location: http://localhost:1/"])
                } else if request.target == "/processed" {
                    try connection.respond("303 See Other", headers: ["Location: /processed/1"])
                } else if isAccepted || request.target == "/open" {
                    try connection.respond(body: request.body)
                } else {
                    shared.rejected.withLock { $0 += 1 }
                    waitUntil { shared.rejected.withLock { $0 } >= shared.together.withLock { $0 } }
                    try connection.respond("401 Unauthorized", text: "no")
                }
            }
        }

        /// A client that begins with an old token.
        func client(
            _ first: String? = "old",
            refresh: @escaping @Sendable (String?) async throws -> String
        ) -> NetworkClient {
            let options = NetworkClient.Options { $0.maximumConnectionsPerHost = 100 }
            let counted: @Sendable (String?) async throws -> String = { [shared] rejected in
                shared.refreshes.withLock { $0 += 1 }
                return try await refresh(rejected)
            }
            return NetworkClient(interceptors: [.refreshedToken(first, refresh: counted)], options: options)
        }

        var refreshes: Int { shared.refreshes.withLock { $0 } }

        func rejectTogether(_ count: Int) { shared.together.withLock { $0 = count } }

        func accept(_ token: String) { shared.token.withLock { $0 = token } }

        func requests(_ authorization: String?) -> Int {
            server.requests.count { $0.headers["authorization"] == authorization.map { "Bearer \($0)" } }
        }
    }

    private let service: Service

    init() throws { service = try Service() }

    private func post(_ text: String) -> URLRoute {
        route(service.server, .post("post", body: .data(Data(text.utf8))))
    }

    @Test func `A rejected token is refreshed once for all requests and they are sent again`() async throws {
        service.rejectTogether(50)
        let client = service.client { rejected in
            #expect(rejected == "old")
            return "new"
        }
        let texts = try await withThrowingTaskGroup { group in
            for number in 0..<50 { group.addTask { try await client.send(post("\(number)")).string() } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(texts == Set((0..<50).map { "\($0)" }))
        #expect(service.refreshes == 1)
        #expect(service.requests("old") == 50)
        #expect(service.requests("new") == 50)
    }

    @Test func `Requests wait for the first token`() async throws {
        let client = service.client(nil) { rejected in
            #expect(rejected == nil)
            return "new"
        }
        #expect(try await client.send(post("hello")).string() == "hello")
        #expect(service.server.requests.count == 1)
    }

    @Test func `Streams and downloads are sent again`() async throws {
        let folder = try TemporaryDirectory()
        let client = service.client { _ in "new" }
        var text = Data()
        for try await piece in try await client.bytes(post("stream")) { text += piece }
        #expect(text == Data("stream".utf8))
        service.accept("newer")
        let other = service.client("new") { _ in "newer" }
        let file = folder.url.appending(path: "file")
        _ = try await other.download(post("file"), to: file)
        #expect(try Data(contentsOf: file) == Data("file".utf8))
    }

    struct NoToken: Error {}

    @Test func `A failed refresh fails all waiting requests and the next one tries again`() async throws {
        service.rejectTogether(5)
        let mayEnd = Flag()
        let client = service.client { _ in
            if !mayEnd.isRaised { throw NoToken() }
            return "new"
        }
        let errors = await withTaskGroup { group in
            for _ in 0..<5 { group.addTask { await thrown { try await client.send(post("")) } } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.allSatisfy { $0 is NoToken })
        // Some may have got their response after the refresh had failed.
        #expect((1...5).contains(service.refreshes))
        mayEnd.raise()
        #expect(try await client.send(post("hello")).string() == "hello")
    }

    @Test func `A request is sent only once more when new tokens are rejected too`() async throws {
        let service = service
        let client = service.client { _ in "wrong \(service.refreshes)" }
        for count in 1...3 {
            #expect(try await refusal { try await client.send(post("")) }.status == .unauthorized)
            #expect(service.refreshes == count)
            #expect(service.server.requests.count == 2 * count)
        }
    }

    @Test func `A refresh through the same client does not wait for itself`() async throws {
        let service = service
        let shared = Locked<NetworkClient?>(nil)
        let client = service.client { _ in
            let client = try #require(shared.withLock { $0 })
            // Rejected, and still no refresh of the refresh.
            _ = await thrown { try await client.send(post("")) }
            let open = route(service.server, .post("open", body: .data(Data("new".utf8))))
            return try await client.send(open).string()
        }
        shared.withLock { $0 = client }
        defer { shared.withLock { $0 = nil } }
        #expect(try await client.send(post("hello")).string() == "hello")
        #expect(service.refreshes == 1)
        #expect(service.requests(nil) == 2)
    }

    @Test func `A waiting request can be cancelled without the refresh`() async throws {
        let mayEnd = Flag()
        service.rejectTogether(2)
        let client = service.client { _ in
            #expect(await eventually { mayEnd.isRaised })
            return "new"
        }
        let works = (0..<2).map { _ in Task { try await client.send(post("hello")).string() } }
        #expect(await eventually { service.refreshes == 1 })
        works[0].cancel()
        await #expect(throws: CancellationError.self) { try await works[0].value }
        mayEnd.raise()
        #expect(try await works[1].value == "hello")
        #expect(service.refreshes == 1)
    }

    @Test func `Only a response to the token refreshes it`() async throws {
        let client = service.client { _ in "new" }
        let own = Endpoint.get("", headers: [.authorization: "Bearer own"])
        for request in [own, .get("other"), .post("processed")] {
            _ = await thrown { try await client.send(route(service.server, request)) }
        }
        #expect(service.server.requests.suffix(2).map(\.target) == ["/processed", "/processed/1"])
        #expect(service.refreshes == 0)
    }
}
