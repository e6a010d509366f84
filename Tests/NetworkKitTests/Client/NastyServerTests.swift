import Foundation
import HTTPTypes
import IndicatorCore
import IndicatorThreads
import NetworkKit
import TestSupport
import Testing

/// Servers that misbehave.
@Suite struct NastyServerTests {
    private let recorder = NotificationRecorder()
    private let client: NetworkClient

    init() { client = NetworkClient(notificationCenter: recorder.center) }

    private func failure(_ server: RawServer, _ request: Endpoint = .get("")) async -> TransportFailure? {
        let error = await thrown { _ = try await client.send(route(server, request)) }
        guard case .transport(let failure)? = error as? NetworkError else {
            Issue.record("expected a transport failure, got \(error as Any)")
            return nil
        }
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
        return failure
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "SSH-2.0-OpenSSH_9.2\r\n\r\n",
    ])
    func `A response that is cut off, or none, is an error`(text: String) async throws {
        #expect(await failure(try RawServer.sending(text)) != nil)
    }

    @Test func `What was not announced is cut off`() async throws {
        let server = try RawServer.sending("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nright, and more")
        #expect(try await client.send(route(server)).string() == "righ")
    }

    @Test func `A status line among the fields does no harm`() async throws {
        for field in ["HTTP/x: y", "HTTP/1.1: 100"] {
            let server = try RawServer.sending(
                "HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 2000000\r\n\r\n"
                    + String(repeating: "x", count: 2_000_000)
            )
            let request = Endpoint.get("").with(\.timeLimit, .seconds(300))
            #expect(try await client.send(route(server, request)).data.count == 2_000_000)
        }
    }

    /// More than the transfer's buffer.
    @Test func `A body after an interim status is an error`() async throws {
        let body = String(repeating: "x", count: 2_000_000)
        let server = try RawServer.sending("HTTP/1.1 101 Switching Protocols\r\n\r\n\(body)")
        #expect(await failure(server, .get("").with(\.timeLimit, .seconds(300)))?.kind == .invalidResponse)
    }

    @Test func `A response may arrive byte by byte`() async throws {
        let server = try RawServer.closing { _, connection in
            for byte in "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n".utf8 {
                try connection.send(Data([byte]))
                usleep(10_000)
            }
            for byte in "hello, world".utf8 {
                try connection.send(Data([byte]))
                usleep(900_000)
            }
        }
        // Longer than the timeout in total, but never silent for that long.
        let response = try await client.send(route(server, .get("").with(\.timeout, .seconds(10))))
        #expect(try response.string() == "hello, world")
    }

    @Test func `An answer before the body was sent ends the request`() async throws {
        let server = try RawServer.closing { _, connection in try connection.respond("413 Content Too Large") }
        let error = await thrown {
            _ = try await client.send(route(server, .post("", body: .data(Data(count: 1 << 20)))))
        }
        #expect(error is NetworkError)
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

    @Test func `A response to HEAD has no body`() async throws {
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        }
        let response = try await client.send(route(server, .head("")))
        #expect(response.status == 200)
        #expect(response.headers[.contentLength] == "1000")
        #expect(response.data.isEmpty)
    }
}
