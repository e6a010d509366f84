package import ArgumentParser
import IndicatorBackends

/// `backends`: which backends can run here.
package struct BackendsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "backends",
        abstract: "List the backends, whether each can run here, and what would help if not.",
        discussion: """
            Lists the backends of the config file with its settings, then the kinds that it does not use; see \
            '\(Program.name) check-config'. Without a config file, lists all kinds.

            Then it lists what 'backends: auto' would choose here, and why.

            The first column has the names that a config file uses. The status is 78 when the configuration is wrong.
            """
    )

    @Option(
        help: ArgumentHelp("The config file to use instead of those at the default locations.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var config: String?

    @Option(help: ArgumentHelp("The name of the app that uses the file.", valueName: "app"))
    var app = Program.name

    package init() {}

    package func run() async throws {
        let source = ConfigurationSource(forCommandOf: app, path: config)
        let backends = try await source.availabilityForCommand()
        let table = BackendTable(style: .standardOutput())
        try Output.standard.write(table.text(of: backends) + "\n" + table.text(ofAutomatic: source.automatic))
    }
}
