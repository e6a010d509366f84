import Foundation
import HTTPTypes
import IndicatorThreads
import NetworkKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct NetworkEventTests {
    private final class Log: Sendable {
        let events = Locked<[NetworkEvent]>([])

        func client() -> NetworkClient {
            var options = NetworkClient.Options()
            options.onEvent = { [self] event in events.withLock { $0.append(event) } }
            return NetworkClient(retry: .init(maximumAttempts: 2, initialDelay: .milliseconds(1)), options: options)
        }

        var all: [NetworkEvent] { events.withLock { $0 } }
    }

    private let log = Log()

    @Test func `Redirects and retries are exchanges of their own`() async throws {
        let server = try RawServer.closing { request, connection in
            switch request.target {
            case "/": try connection.respond("302 Found", headers: ["Location: /next"], text: "moved")
            default: try connection.respond("503 Service Unavailable")
            }
        }
        _ = await thrown { _ = try await log.client().send(route(server)) }
        let url = server.url.absoluteString
        let lines = log.all.map { $0.description.replacing(url, with: "").drop { $0 != " " }.dropFirst() }
        let once: [Substring] = [
            "GET ", "GET : status 302", "GET : 5 bytes", "GET /next", "GET /next: status 503", "GET /next: 0 bytes",
        ]
        #expect(lines == once + once)
        #expect(Set(log.all.map(\.exchange)).count == 4)
    }

    @Test func `No event contains a secret`() async throws {
        let server = try RawServer.closing { _, connection in
            try connection.respond(
                headers: [
                    "Set-Cookie: id=hunter2", "X-Plain: hunter2", "ETag: \"tag\"", "Retry-After: 5",
                    "Location: http://me:hunter2@h/next?token=hunter2&page=2#access_token=hunter2",
                    "Content-Location: /next?token=hunter2",
                ],
                text: "hunter2 received"
            )
        }
        var headers: HTTPFields = [.authorization: "Bearer hunter2", .acceptLanguage: "de"]
        for name in ["X-Api-Key", "X-Plain"] { headers[try #require(HTTPField.Name(name))] = "hunter2" }
        let request = Endpoint(
            .post,
            "a",
            query: ["token": "hunter2", "page": 2],
            headers: headers,
            body: .data(Data("hunter2 sent".utf8))
        ).with(\.credentials, Credentials(user: "me", password: "hunter2", scheme: .basic))
        _ = try await log.client().send(route(server, request))
        #expect(log.all.count == 3)
        for event in log.all {
            var text = ""
            dump(event, to: &text)
            #expect(!"\(event) \(text)".contains("hunter2"), "\(text)")
        }
        #expect(log.all[0].headers[.acceptLanguage] == "de")
        #expect(log.all[0].headers[.authorization] == "…")
        #expect(log.all[0].url.hasSuffix("/a?…"))
        let answer = log.all[1].headers
        #expect(answer[.setCookie] == "…")
        #expect([answer[.contentLength], answer[.eTag], answer[.retryAfter]] == ["16", "\"tag\"", "5"])
        #expect(answer[.location] == "http://h/next?…")
        #expect(answer[.contentLocation] == "/next?…")
    }

    @Test func `Failures and cancelled requests end`() async throws {
        let server = try RawServer.closing { request, connection in
            if request.target == "/hangs" { return connection.waitForEnd() }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        }
        let client = log.client()
        let options = Endpoint.get("half").with(\.retry, .never)
        _ = await thrown { _ = try await client.send(route(server, options)) }
        let task = client.start(route(server, .get("hangs")))
        #expect(await eventually { server.requests.count == 2 })
        task.cancel()
        _ = await thrown { _ = try await task.response }
        let failures = log.all.compactMap { event -> (any Error)? in
            guard case .end(_, let failure) = event.kind else { return nil }
            return failure
        }
        #expect(failures.count == 2)
        #expect(failures.first is NetworkError)
        #expect(failures.last is CancellationError)
    }

    @Test func `All requests of a client are cancelled and later ones are not`() async throws {
        let folder = try TemporaryDirectory()
        let server = try RawServer.closing { request, connection in
            if request.target == "/later" { return try connection.respond(text: "hello") }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbeginning")
            connection.waitForEnd()
        }
        let client = NetworkClient()
        let stream = try await client.bytes(route(server))
        let works = [
            Task { _ = try await client.send(route(server)) },
            Task { _ = try await client.download(route(server), to: folder.url.appending(path: "file")) },
            Task { _ = try await client.start(route(server)).response },
            Task { for try await _ in stream {} },
        ]
        #expect(await eventually { server.requests.count == 4 })
        client.cancelAllRequests()
        for work in works { await #expect(throws: CancellationError.self) { try await work.value } }
        #expect(try await client.send(route(server, .get("later"))).string() == "hello")
    }
}
