import IndicatorBackends
import TestSupport

@testable import IndicatorCommands

@Suite struct TerminalStyleTests {
    private func style(_ environment: [String: String], columns: Int = 0, isTerminal: Bool = true) -> TerminalStyle {
        TerminalStyle(columns: columns, isTerminal: isTerminal, environment: environment)
    }

    @Test func `The terminals own width takes precedence`() {
        #expect(style(["COLUMNS": "70"], columns: 120).width == 120)
        #expect(style(["COLUMNS": "70"]).width == 70)
        #expect(style(["COLUMNS": "nonsense"]).width == 80)
        #expect(style([:]).width == 80)
    }

    @Test func `Colours need a terminal that supports them`() {
        #expect(style(["TERM": "xterm"]).look.usesColor)
        #expect(!style(["TERM": "xterm", "NO_COLOR": "1"]).look.usesColor)
        #expect(style(["TERM": "xterm", "NO_COLOR": ""]).look.usesColor)
        #expect(!style(["TERM": "dumb"]).look.usesColor)
        #expect(!style([:]).look.usesColor)
        #expect(!style(["TERM": "xterm"], isTerminal: false).look.usesColor)
    }
}
