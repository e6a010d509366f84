import ArgumentParser
import IndicatorBackends

/// `indicator-demo backends`: what can run here.
struct BackendsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backends",
        abstract: "List the surfaces that can show the indicator here, and what would help the others.",
        discussion: """
            The names in the first column are those of the config file and of 'run --backend'.
            """
    )

    func run() async throws {
        let backends = await DemoBackend.builtIn(applicationName: DemoSetup.applicationName)
        let style = TerminalStyle.standardOutput()
        try await Output.guarding {
            try Output.standard.write(BackendTable(backends: backends, style: style).text)
        }
    }
}
