import ArgumentParser
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// `indicator-demo serve`: the demo's server, alone.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the demo's HTTP server alone, until Ctrl-C.",
        discussion: """
            It listens on this machine only, and answers:
            \(DemoRoutes.entries.map { "  \($0.route)  \($0.summary)" }.joined(separator: "\n"))

            EXAMPLES
              indicator-demo serve --port 8080
              indicator-demo run --base-url http://127.0.0.1:8080
            """
    )

    @Option(help: "The port to listen on; 0 has the system pick one.")
    var port: UInt16 = 0

    func run() async throws {
        let server: DemoServer
        do {
            server = try await DemoServer(port: port)
        } catch {
            try? Output.error.write("indicator-demo: error: \(error)\n")
            throw ExitCode.failure
        }
        try await Output.guarding { try Output.standard.write("\(server.url.absoluteString)\n") }
        let group = ServiceGroup(
            services: [RunningServer(server: server)],
            gracefulShutdownSignals: [.sigint, .sigterm],
            logger: Logger(label: "indicator-demo", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        try await group.run()
    }
}

/// A server that runs until the program is asked to end.
private struct RunningServer: Service {
    let server: DemoServer

    func run() async throws {
        try await gracefulShutdown()
        await server.stop()
    }
}
