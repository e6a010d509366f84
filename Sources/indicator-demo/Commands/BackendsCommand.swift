import ArgumentParser
import IndicatorBackends

/// `indicator-demo backends`: what can run here.
struct BackendsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backends",
        abstract: "List the backends that can show the indicator here, and what would help the others.",
        discussion: """
            The backends are those of the config file, with its settings, and then the kinds that it does not use; see \
            'indicator-demo check-config'. Without a config file they are all kinds.

            The names in the first column are those of the config file and of 'run --backend'. The status is 78 when \
            the configuration is wrong.
            """
    )

    @Option(help: ArgumentHelp("The config file to use, whatever is at the usual places.", valueName: "file"))
    var config: String?

    func run() async throws {
        let setup = try await DemoSetup.forCommand(
            DemoSetup.Options(config: config, delays: try DelayOverrides()),
            includingUnused: true
        )
        let style = TerminalStyle.standardOutput()
        try await Output.guarding {
            try Output.standard.write(BackendTable(backends: setup.backends, style: style).text)
        }
    }
}
