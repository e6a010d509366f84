package import ArgumentParser
import IndicatorBackends
import IndicatorCore

/// `check-config`: the mistakes in a config file, or the settings in effect.
package struct CheckConfigCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Check a config file: print its mistakes, or the settings in effect and their sources.",
        discussion: """
            Without FILE, checks the file that APP uses: $INDICATOR_CONFIG, then APP/indicator.yaml and \
            indicator/indicator.yaml under $XDG_CONFIG_HOME and each of $XDG_CONFIG_DIRS. Environment variables such \
            as INDICATOR_START_DELAY override the file and are checked too. In the file of an app, a kind of backend \
            that only the app has is a warning, and its settings are not checked.

            Mistakes are printed to standard error as 'file:line:column: error: ...'. The status is then 78.

            EXAMPLES
              \(Program.name) check-config ~/.config/my-app/indicator.yaml
              \(Program.name) check-config --app my-app
              \(Program.name) check-config --reference > indicator.yaml
              INDICATOR_START_DELAY=0.5 \(Program.name) check-config
            """
    )

    @Argument(help: "The config file to check.", completion: .file(extensions: ["yaml", "yml"]))
    var file: String?

    @Option(help: ArgumentHelp("The name of the app that uses the file.", valueName: "app"))
    var app = Program.name

    @Flag(help: "Print a config file with every setting, its default and an example, and check nothing.")
    var reference = false

    package init() {}

    package func run() async throws {
        if reference { return try Output.standard.write(BackendRegistry.standard.settingsReference) }
        let configuration = try ConfigurationSource(forCommandOf: app, path: file).loadForCommand()
        for warning in configuration.warnings {
            try? Output.error.write(warning.line(severity: "warning") + "\n")
        }
        let heading = configuration.file.map { "\($0): no mistakes" } ?? "no config file found; these are the defaults"
        let settings = configuration.settings.map { [$0.key, $0.value ?? "-", $0.source] }
        let style = TerminalStyle.standardOutput()
        let lines = [heading, ""] + TextWidth.aligned(settings, width: style.isTerminal ? style.width : .max)
        try Output.standard.write(lines.map { QuotedText.escaped($0) + "\n" }.joined())
    }
}
