import NetworkKit
import TestSupport

/// Servers that send without end what is no part of a response. libcurl reads as long as there is something to read.
@Suite(.needs(.certificates), .serialized) struct FloodTests {
    /// A frame that is no part of a response, and does not count against a limit of nghttp2.
    enum Frame: String, CaseIterable {
        case emptyData = "0, 0, stream, b''"
        /// A body that consists of padding.
        case paddedData = "0, 8, stream, b'\\0'"
        case priority = "2, 0, stream, bytes(5)"
        case unknown = "200, 0, 0, bytes(100)"
        /// An interim response with status 103.
        case hint = "1, 4, stream, b'\\x08\\x03103'"
    }

    /// Answers each connection's first request with a head, unless the frame is one, and repeats the frame until the
    /// client closes the connection.
    private func server(repeating frame: Frame) async throws -> TLSServer {
        try await .frames(
            """
            stream = request()
            \(frame == .hint ? "" : "send(1, 4, stream, b'\\x88')")
            flood = frame(\(frame.rawValue)) * 20000
            print("flood")
            while True: connection.sendall(flood)
            """
        )
    }

    @Test(.timeLimit(.minutes(5)), arguments: Frame.allCases)
    func `A flood does not stop requests to other hosts`(_ frame: Frame) async throws {
        let flood = try await server(repeating: frame)
        let server = try RawServer.closing { request, connection in
            if request.target == "/never" { connection.waitForEnd() } else { try connection.respond(text: "here") }
        }
        let client = flood.client
        let flooded = client.start(URLRoute(flood.url, .get("").with(\.timeLimit, .seconds(10))))
        let cancelled = client.start(URLRoute(flood.url))
        #expect(await eventually { flood.output.contains { $0.contains("flood") } }, "\(flood.errors)")
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
        let flood = try await server(repeating: .emptyData)
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
