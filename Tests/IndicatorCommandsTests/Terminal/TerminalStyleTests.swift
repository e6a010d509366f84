import IndicatorBackends
import TestSupport

@testable import IndicatorCommands

@Suite struct TerminalStyleTests {
    @Test(arguments: [(120, "70", 120), (0, "70", 70), (0, "nonsense", 80), (0, nil, 80)])
    func `The terminal's own width takes precedence`(own: Int, variable: String?, width: Int) {
        let environment = variable.map { ["COLUMNS": $0] } ?? [:]
        #expect(TerminalStyle(columns: own, isTerminal: true, environment: environment).width == width)
    }

    @Test(arguments: [
        (["TERM": "xterm"], true, true), (["TERM": "xterm", "NO_COLOR": "1"], true, false),
        (["TERM": "xterm", "NO_COLOR": ""], true, true), (["TERM": "dumb"], true, false), ([:], true, false),
        (["TERM": "xterm"], false, false),
    ])
    func `Colours need a terminal that supports them`(environment: [String: String], isTerminal: Bool, hasColor: Bool) {
        let style = TerminalStyle(columns: 0, isTerminal: isTerminal, environment: environment)
        #expect(style.look.usesColor == hasColor)
    }
}
