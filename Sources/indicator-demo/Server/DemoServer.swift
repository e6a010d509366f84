import FlyingFox
import FlyingSocks
import Foundation

/// An HTTP server on the loopback address, with slow responses.
final class DemoServer: Sendable {
    /// The server could not be started.
    struct StartError: Error, CustomStringConvertible {
        var port: UInt16
        var reason: String

        var description: String { "cannot listen on 127.0.0.1:\(port): \(reason)" }
    }

    private let server: HTTPServer
    private let listening: Task<Void, Never>
    /// The URL of the server.
    let url: URL

    /// Starts a server.
    ///
    /// - Parameter port: the port; 0 for any free port.
    init(port: UInt16 = 0) async throws(StartError) {
        do {
            let address = try sockaddr_in.inet(ip4: "127.0.0.1", port: port)
            // `DemoRoutes` limits the duration of responses.
            let server = HTTPServer(address: address, timeout: 120, logger: .disabled)
            await DemoRoutes.add(to: server)
            let (events, continuation) = AsyncThrowingStream<Void, any Error>.makeStream()
            listening = Task {
                do { try await server.run() } catch { continuation.finish(throwing: error) }
            }
            Task {
                do {
                    try await server.waitUntilListening(timeout: 10)
                    continuation.yield()
                } catch { continuation.finish(throwing: error) }
            }
            for try await _ in events { break }
            self.server = server
            url = try await Self.url(of: server)
        } catch {
            throw StartError(port: port, reason: Self.text(of: error))
        }
    }

    /// Serves until the task or the process ends.
    func waitForEnd() async { await listening.value }

    /// Closes all connections.
    func stop() async {
        await server.stop(timeout: 0)
        listening.cancel()
    }

    private static func url(of server: HTTPServer) async throws -> URL {
        guard case .ip4(let address, let port)? = await server.listeningAddress,
            let url = URL(string: "http://\(address):\(port)")
        else { throw SocketError.disconnected }
        return url
    }

    private static func text(of error: any Error) -> String {
        if case SocketError.failed(_, let number, _) = error { return String(cString: strerror(number)) }
        return "\(error)"
    }
}
