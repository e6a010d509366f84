import ArgumentParser
import Foundation
import IndicatorCommands

/// `indicator-demo serve`: only the demo's server.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run only the demo's HTTP server, until Ctrl-C.",
        discussion: """
            Listens on the loopback address, and prints its URL and routes:
            \(DemoRoutes.table)
            An invalid parameter is answered with status 400.

            EXAMPLES
              indicator-demo serve --port 8080
              indicator-demo run --base-url http://127.0.0.1:8080
            """
    )

    @Option(
        parsing: .unconditional,
        help: "The port to listen on, by default any free one.",
        transform: { text in
            guard let port = UInt16(text) else { throw ValidationError("expected a number from 0 to 65535") }
            return port
        }
    )
    var port: UInt16 = 0

    func run() async throws {
        let server = try await DemoServer(port: port)
        try Output.standard.write("\(server.url.absoluteString)\n")
        // For people. Standard output has only the URL, for programs.
        try? Output.error.write(DemoRoutes.table + "\n")
        await server.waitForEnd()
    }
}
