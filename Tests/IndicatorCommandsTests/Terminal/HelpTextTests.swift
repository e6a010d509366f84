import TestSupport
import Testing

@testable import IndicatorCommands

@Suite struct HelpTextTests {
    @Test(arguments: [40, 50, 60, 80, 120]) func `Help fits the terminal`(columns: Int) async throws {
        let demo = try DemoProgram()
        for command in ["run", "replay", "check-config", "backends", "watch", "serve"] {
            let result = try await demo.run(command, "--help", environment: ["COLUMNS": "\(columns)"])
            for line in result.output.split(separator: "\n") where line.count > columns {
                // A text without spaces is not split.
                let word = line.drop { $0 == " " }
                #expect(!word.contains(" "), "\(command): \(line)")
            }
        }
    }

    @Test func `Help keeps its indentation`() throws {
        let text = """
            USAGE: tool run [--config <file>] [--backend <name> ...] [--json]
              GET /stream  sends its body little by little for so long
              tool run --backend logFile --start-delay 0.3
            A sentence that is longer than a line is.
            """
        #expect(
            HelpText.wrapped(text, to: 36) == """
                USAGE: tool run [--config <file>]
                       [--backend <name> ...]
                       [--json]
                  GET /stream  sends its body little
                               by little for so long
                  tool run --backend logFile
                    --start-delay 0.3
                A sentence that is longer than a
                line is.
                """
        )
    }

    @Test func `An option that fills the first column is wrapped below the second`() {
        let text = "  --start-delay <seconds> Seconds of work before the indicator is shown. (default: 1)"
        #expect(
            HelpText.wrapped(text, to: 60) == """
                  --start-delay <seconds> Seconds of work before the
                                          indicator is shown. (default: 1)
                """
        )
    }

    @Test func `Completion scripts are not wrapped`() async throws {
        let demo = try DemoProgram()
        let narrow = try await demo.run("--generate-completion-script", "zsh", environment: ["COLUMNS": "40"])
        let wide = try await demo.run("--generate-completion-script", "zsh", environment: ["COLUMNS": "400"])
        #expect(narrow.status == 0)
        #expect(narrow.output == wide.output)
    }
}
