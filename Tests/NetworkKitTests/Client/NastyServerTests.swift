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

    init() {
        client = NetworkClient(notificationCenter: recorder.center)
    }

    private func failure(_ server: RawServer, _ request: RouteRequest = .get("")) async -> TransportFailure? {
        let error = await thrown { _ = try await client.send(route(server, request)) }
        guard case .transport(let failure)? = error as? NetworkError else {
            Issue.record("expected a transport failure, got \(error as Any)")
            return nil
        }
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
        return failure
    }

    @Test func `Closing immediately is an error`() async throws {
        let server = try RawServer.closing { _, _ in }
        #expect(await failure(server) != nil)
    }

    @Test func `Closing half way through the body is an error`() async throws {
        let server = try RawServer.sending("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        #expect(await failure(server) != nil)
    }

    @Test func `Closing half way through the header is an error`() async throws {
        let server = try RawServer.sending("HTTP/1.1 200 OK\r\nContent-Le")
        #expect(await failure(server) != nil)
    }

    @Test func `Closing half way through a chunk is an error`() async throws {
        let server = try RawServer.sending("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf")
        #expect(await failure(server) != nil)
    }

    @Test func `Closing before the last chunk is an error`() async throws {
        let server = try RawServer.sending("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        #expect(await failure(server) != nil)
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
            let request = RouteRequest.get("").with(\.timeLimit, .seconds(300))
            #expect(try await client.send(route(server, request)).data.count == 2_000_000)
        }
    }

    /// More than the transfer's buffer.
    @Test func `A body after an interim status is an error`() async throws {
        let body = String(repeating: "x", count: 2_000_000)
        let server = try RawServer.sending("HTTP/1.1 101 Switching Protocols\r\n\r\n\(body)")
        #expect(await failure(server, .get("").with(\.timeLimit, .seconds(300)))?.kind == .invalidResponse)
    }

    @Test func `An invalid length is ignored or an error`() async throws {
        for length in ["-5", "four", "99999999999999999999999"] {
            let server = try RawServer.sending("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nfour")
            let outcome = await thrown {
                let response = try await client.send(route(server))
                #expect(try response.string() == "four")
            }
            #expect(outcome == nil || outcome is NetworkError, "\(length): \(outcome as Any)")
        }
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

    @Test func `Ten thousand fields are read or an error`() async throws {
        let server = try RawServer.closing { _, connection in
            let fields = (0..<10_000).map { "X-Field-\($0): \($0)" }
            try connection.respond(headers: fields, text: "hello")
        }
        // libcurl rejects more than 300 kB of header fields in total; either outcome is correct.
        let error = await thrown {
            let response = try await client.send(route(server))
            #expect(response.headers[try #require(HTTPField.Name("X-Field-9999"))] == "9999")
        }
        #expect(error == nil || error is NetworkError, "\(error as Any)")
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

    @Test func `A header of 200 megabytes is an error`() async throws {
        let sent = Locked(0)
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nX-Long: ")
            let piece = Data(repeating: UInt8(ascii: "x"), count: 1 << 20)
            for _ in 0..<200 {
                try connection.send(piece)
                sent.withLock { $0 += piece.count }
            }
            try connection.send("\r\nContent-Length: 0\r\n\r\n")
        }
        #expect(await failure(server) != nil)
        #expect(sent.withLock { $0 } < 100 << 20)
    }

    @Test func `A response that is not httpis an error`() async throws {
        let server = try RawServer.sending("SSH-2.0-OpenSSH_9.2\r\n\r\n")
        #expect(await failure(server) != nil)
    }

    @Test func `A body that is too long is an error`() async throws {
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            let piece = Data(count: 1 << 16)
            while true { try connection.send(piece) }
        }
        var options = NetworkClient.Options()
        options.maximumBodySize = 1 << 20
        let client = NetworkClient(options: options, notificationCenter: recorder.center)
        let error = await thrown { _ = try await client.send(route(server)) }
        guard case .responseTooLarge(_, 1_048_576)? = error as? NetworkError else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
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

    @Test func `A redirect to another host does not disclose the token`() async throws {
        let other = try RawServer.closing { _, connection in try connection.respond(text: "here") }
        let target = other.url
        let server = try RawServer.closing { _, connection in
            try connection.respond("302 Found", headers: ["Location: \(target)/"])
        }
        let client = NetworkClient(interceptors: [.bearerToken("secret")], notificationCenter: recorder.center)
        #expect(try await client.send(route(server)).string() == "here")
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer secret"])
        #expect(other.requests.map { $0.headers["authorization"] } == [nil])
    }
}
