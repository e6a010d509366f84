package import ArgumentParser
import IndicatorBackends

/// `check-config`: what is wrong in a config file, or what holds.
package struct CheckConfigCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Check a config file: every mistake in it, or the settings in effect and where each comes from.",
        discussion: """
            Without FILE, the file that \(Program.name) itself would use is checked: $INDICATOR_CONFIG, then \
            \(Program.name)/indicator.yaml and indicator/indicator.yaml under $XDG_CONFIG_HOME and each of \
            $XDG_CONFIG_DIRS. Environment variables such as INDICATOR_START_DELAY are stronger than the file, and are \
            checked too.

            Mistakes go to standard error as 'file:line:column: error: ...', and the status is then 78.

            EXAMPLES
              \(Program.name) check-config ~/.config/my-app/indicator.yaml
              \(Program.name) check-config --reference > indicator.yaml
              INDICATOR_START_DELAY=0.5 \(Program.name) check-config
            """
    )

    @Argument(help: "The config file to check.")
    var file: String?

    @Flag(help: "Print every setting with its default and an example, as a config file, and check nothing.")
    var reference = false

    package init() {}

    package func run() async throws {
        if reference {
            return try await Output.guarding { try Output.standard.write(BackendRegistry.standard.settingsReference) }
        }
        let configuration: IndicatorConfiguration
        do throws(ConfigurationError) {
            configuration = try IndicatorConfiguration.load(applicationName: Program.name, path: file)
        } catch {
            try? Output.error.write("\(error)\n")
            throw ExitCode.configuration
        }
        for warning in configuration.warnings {
            try? Output.error.write(warning.line(severity: "warning") + "\n")
        }
        try await Output.guarding {
            try Output.standard.write(SettingsTable(configuration: configuration).text)
        }
    }
}
