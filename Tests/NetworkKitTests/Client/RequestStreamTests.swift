import Foundation
import HTTPTypes
import IndicatorThreads
import NetworkKit
import TestSupport
import Testing

/// Bodies of requests that are asynchronous sequences, or compressed.
@Suite(.timeLimit(.minutes(5))) struct RequestStreamTests {
    /// Numbered pieces, some of them empty.
    private struct Pieces: AsyncSequence, Sendable {
        var count: Int
        var size = 1
        var error: (any Error)?
        var onNext: @Sendable (Int) async throws -> Void = { _ in }

        struct Iterator: AsyncIteratorProtocol {
            let pieces: Pieces
            var number = 0

            mutating func next() async throws -> Data? {
                try await pieces.onNext(number)
                guard number < pieces.count else {
                    if let error = pieces.error { throw error }
                    return nil
                }
                number += 1
                return number % 3 == 0 ? Data() : Data(repeating: UInt8(number % 251), count: pieces.size)
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }

        var all: Data {
            (1...count).reduce(into: Data()) { all, number in
                if number % 3 != 0 { all += Data(repeating: UInt8(number % 251), count: size) }
            }
        }
    }

    /// A server that decodes chunked bodies, and returns them.
    private func echo(rejecting: @escaping @Sendable (Int) -> String? = { _ in nil }) throws -> RawServer {
        let count = Locked(0)
        return try RawServer.closing { request, connection in
            let body = request.headers["transfer-encoding"] == "chunked" ? try connection.readChunks() : request.body
            let number = count.withLock { count in
                count += 1
                return count
            }
            let encoding = request.headers["content-encoding"].map { ["Content-Encoding: \($0)"] } ?? []
            let status = rejecting(number)
            try connection.respond(
                status ?? "200 OK",
                headers: encoding + ["Location: /next"],
                body: body
            )
        }
    }

    private func post(_ server: RawServer, _ body: RouteBody) -> URLRoute { route(server, .put("", body: body)) }

    @Test(arguments: [1, 100_000]) func `A sequence is sent as it is produced`(_ size: Int) async throws {
        let pieces = Pieces(count: 50, size: size)
        let server = try echo()
        defer { server.stop() }
        let response = try await NetworkClient().send(post(server, .stream { pieces }))
        #expect(response.data == pieces.all)
    }

    @Test func `A sequence is sent again after a redirect a retry and a refresh`() async throws {
        let server = try echo {
            ["503 Service Unavailable", "307 Temporary Redirect", "401 Unauthorized"][safe: $0 - 1]
        }
        let made = Locked(0)
        let client = NetworkClient(
            interceptors: [.refreshedToken("old") { _ in "new" }],
            retry: .init(initialDelay: .milliseconds(1))
        )
        let pieces = Pieces(count: 20, size: 1000)
        let body = RouteBody.stream {
            made.withLock { $0 += 1 }
            return pieces
        }
        #expect(try await client.send(post(server, body)).data == pieces.all)
        #expect(made.withLock { $0 } == 4)
    }

    @Test func `The next piece is not requested while the server does not read`() async throws {
        let mayRead = Locked(false)
        let server = try RawServer.closing { _, connection in
            waitUntil { mayRead.withLock { $0 } }
            try connection.respond(body: Data("\(try connection.readChunks().count)".utf8))
        }
        let requested = Locked(0)
        let pieces = Pieces(count: 300, size: 1 << 20) { number in requested.withLock { $0 = number } }
        let task = NetworkClient().start(post(server, .stream { pieces }))
        #expect(await eventually { server.requests.count == 1 && requested.withLock { $0 } > 1 })
        #expect(requested.withLock { $0 } < 100)
        mayRead.withLock { $0 = true }
        #expect(try await task.response.string() == "\(200 << 20)")
    }

    struct Broken: Error {}

    @Test func `An error of the sequence fails the request`() async throws {
        let pieces = Pieces(count: 3, size: 10, error: Broken())
        let server = try RawServer.closing { _, connection in connection.waitForEnd() }
        await #expect(throws: Broken.self) { try await NetworkClient().send(post(server, .stream { pieces })) }
    }

    @Test func `A sequence that waits is cancelled with its request`() async throws {
        let isCancelled = Locked(false)
        let isWaiting = Locked(false)
        let pieces = Pieces(count: 3) { number in
            guard number == 1 else { return }
            isWaiting.withLock { $0 = true }
            do { try await Task.sleep(for: .seconds(1000)) } catch { isCancelled.withLock { $0 = true } }
        }
        let server = try RawServer.closing { _, connection in connection.waitForEnd() }
        let work = Task { try await NetworkClient().send(post(server, .stream { pieces })) }
        #expect(await eventually { isWaiting.withLock { $0 } })
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(await eventually { isCancelled.withLock { $0 } })
    }

    @Test func `A server that answers before the end ends the sequence`() async throws {
        let isCancelled = Locked(false)
        let isWaiting = Locked(false)
        let pieces = Pieces(count: 3) { number in
            guard number == 1 else { return }
            isWaiting.withLock { $0 = true }
            do { try await Task.sleep(for: .seconds(1000)) } catch { isCancelled.withLock { $0 = true } }
        }
        let server = try RawServer.closing { _, connection in
            waitUntil { isWaiting.withLock { $0 } }
            try connection.respond("413 Content Too Large")
        }
        let error = await thrown { _ = try await NetworkClient().send(post(server, .stream { pieces })) }
        guard case .unacceptableStatus(let failure)? = error as? NetworkError else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(failure.status.code == 413)
        #expect(await eventually { isCancelled.withLock { $0 } })
    }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

extension RawConnection {
    /// Reads a chunked body.
    fileprivate func readChunks() throws -> Data {
        var body = Data()
        func line() throws -> String {
            var text: [UInt8] = []
            while text.last != 0x0A {
                var byte: UInt8 = 0
                guard recv(descriptor, &byte, 1, 0) == 1 else { throw Closed() }
                text.append(byte)
            }
            return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
        while let count = Int(try line(), radix: 16), count > 0 {
            var rest = count
            while rest > 0 {
                var buffer = [UInt8](repeating: 0, count: min(rest, 1 << 18))
                let read = recv(descriptor, &buffer, buffer.count, 0)
                guard read > 0 else { throw Closed() }
                body += buffer.prefix(read)
                rest -= read
            }
            _ = try line()
        }
        _ = try line()
        return body
    }
}
