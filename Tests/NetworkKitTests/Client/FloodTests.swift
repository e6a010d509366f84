import NetworkKit
import TestSupport

/// Servers that send without end what is no part of a response. libcurl reads as long as there is something to read.
@Suite(.needs(.certificates), .serialized) struct FloodTests {
    @Test(.timeLimit(.minutes(5)), arguments: FrameServer.Frame.allCases)
    func `A flood does not stop requests to other hosts`(_ frame: FrameServer.Frame) async throws {
        let flood = try await FrameServer(repeating: frame, isAnswering: frame != .hint)
        let server = try RawServer.closing { request, connection in
            if request.target == "/never" { connection.waitForEnd() } else { try connection.respond(text: "here") }
        }
        let client = flood.client
        let flooded = client.start(URLRoute(flood.url, .get("").with(\.timeLimit, .seconds(10))))
        let cancelled = client.start(URLRoute(flood.url))
        #expect(await eventually { flood.floodCount > 0 }, "\(flood.errors)")
        cancelled.cancel()
        let never = Endpoint.get("never").with(\.timeLimit, .seconds(0.1))
        #expect(await failure { try await client.send(route(server, never)) } == .timeLimitExceeded)
        #expect(try await client.send(route(server)).string() == "here")
        #expect(await failure { try await flooded.response } != nil)
        #expect(await thrown { try await cancelled.response } != nil)
    }

    /// A connection that libcurl reads from without end is shut down, also without a time limit. A later libcurl, that
    /// of Debian 13, returns in between, and what it reads is no data for the timeout.
    @Test(.timeLimit(.minutes(5)), arguments: ["send", "bytes", "download"])
    func `A flooded request fails`(_ function: String) async throws {
        let flood = try await FrameServer(repeating: .emptyData)
        let client = flood.client
        let folder = try TemporaryDirectory()
        let route = URLRoute(flood.url, .get("").with(\.timeout, .seconds(1)))
        let error = await thrown {
            switch function {
            case "bytes": for try await _ in try await client.bytes(route) {}
            case "download": _ = try await client.download(route, to: folder.url.appending(path: "file"))
            default: _ = try await client.send(route)
            }
        }
        #expect([.connectionLost, .incompleteBody, .timedOut].contains(kind(of: error)), "\(error as Any)")
    }
}
