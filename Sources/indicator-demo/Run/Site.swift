import ArgumentParser
import Foundation
import IndicatorCommands

/// The server of a run: the demo's own, or another.
struct Site: Sendable {
    let url: URL
    /// The features of the server.
    let features: ServerFeatures
    private let server: DemoServer?

    /// Probes a server, or starts one. On failure, prints the error and ends the command.
    ///
    /// - Parameter baseURL: the server; `nil` for the demo's own.
    init(baseURL: URL?) async throws {
        do {
            if let baseURL {
                url = baseURL
                features = try await ServerFeatures.of(baseURL)
                server = nil
            } else {
                Self.bypassProxy()
                let server = try await DemoServer()
                url = server.url
                features = .all
                self.server = server
            }
        } catch let error as any CustomStringConvertible & Error {
            try? Output.error.write("indicator-demo: error: \(error)\n")
            throw ExitCode.failure
        }
    }

    /// Stops the server, if it is the demo's own.
    func stop() async {
        await server?.stop()
    }

    /// libcurl also sends requests for this machine to the proxy of `http_proxy`, which cannot reach it.
    private static func bypassProxy() {
        setenv("no_proxy", "127.0.0.1", 1)
        setenv("NO_PROXY", "127.0.0.1", 1)
    }
}
