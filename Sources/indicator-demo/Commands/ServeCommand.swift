import ArgumentParser
import Foundation
import IndicatorCommands

/// `indicator-demo serve`: the demo's server, alone.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the demo's HTTP server alone, until Ctrl-C.",
        discussion: """
            It listens on this machine only, and prints where, and what it answers:
            \(DemoRoutes.table)
            What a parameter must not be is answered with 400.

            EXAMPLES
              indicator-demo serve --port 8080
              indicator-demo run --base-url http://127.0.0.1:8080
            """
    )

    @Option(help: "The port to listen on; 0 has the system pick one.")
    var port: UInt16 = 0

    func run() async throws {
        let signals = Signals.caught()
        let server: DemoServer
        do {
            server = try await DemoServer(port: port)
        } catch {
            try? Output.error.write("indicator-demo: error: \(error)\n")
            throw ExitCode.failure
        }
        try await Output.guarding { try Output.standard.write("\(server.url.absoluteString)\n") }
        // For people; standard output has the address alone, for programs.
        let width = TerminalStyle.standardOutput().width
        try? Output.error.write(HelpText.wrapped(DemoRoutes.table + "\n", to: width))
        for await _ in signals { break }
        await server.stop()
    }
}
