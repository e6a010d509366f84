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
        var source = ConfigurationSource(forCommandOf: app, path: config)
        let configuration = try source.loadForCommand()
        var backends = configuration.choosesBackends ? await ProgramBackend.all(of: configuration) : []
        let registry = BackendRegistry.standard
        // Without settings, these cannot do anything.
        let hooks = [BackendKind.command.name, BackendKind.webhook.name]
        func isListed(_ kind: String) -> Bool { backends.contains { $0.name == kind } }
        // A section that is not listed still provides settings.
        source.overrides.backends = registry.kinds.map(\.name).filter { !hooks.contains($0) && !isListed($0) }
        if let others = try? IndicatorConfiguration.load(from: source) {
            backends += await ProgramBackend.all(of: others).map { backend in
                var backend = backend
                backend.isUsed = !configuration.choosesBackends
                return backend
            }
        }
        for kind in hooks where !isListed(kind) {
            let help = "add a section '\(kind)' to the config file; see '\(Program.name) check-config --reference'"
            backends.append(ProgramBackend(unused: kind, "it has no settings", help: help))
        }
        backends += ProgramBackend.missing(in: registry)
        let table = BackendTable(style: .standardOutput())
        let text = table.text(of: backends) + "\n" + table.text(of: source.automatic)
        try await Output.guarding { try Output.standard.write(text) }
    }
}
