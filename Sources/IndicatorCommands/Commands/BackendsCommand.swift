package import ArgumentParser
import IndicatorBackends

/// `backends`: what can run here.
package struct BackendsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "backends",
        abstract: "List the backends that can show the indicator here, and what would help the others.",
        discussion: """
            The backends are those of the config file, with its settings, and then the kinds that it does not use; see \
            '\(Program.name) check-config'. Without a config file they are all kinds.

            The names in the first column are those of the config file. The status is 78 when \
            the configuration is wrong.
            """
    )

    @Option(help: ArgumentHelp("The config file to use, whatever is at the usual places.", valueName: "file"))
    var config: String?

    package init() {}

    package func run() async throws {
        let setup = try await ProgramSetup.forCommand(
            ProgramSetup.Options(config: config, delays: try DelayOverrides()),
            includingUnused: true
        )
        let style = TerminalStyle.standardOutput()
        try await Output.guarding {
            try Output.standard.write(BackendTable(backends: setup.backends, style: style).text)
        }
    }
}
