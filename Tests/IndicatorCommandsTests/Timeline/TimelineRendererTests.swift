import IndicatorBackends
import TestSupport

@testable import IndicatorCommands

@Suite struct TimelineRendererTests {
    private func row(_ label: String, _ spans: (start: Double, end: Double)..., note: String = "", isGood: Bool? = nil)
        -> Timeline.Row
    {
        var row = Timeline.Row(label)
        for (start, end) in spans {
            row.change(by: 1, at: .seconds(start))
            row.change(by: -1, at: .seconds(end))
        }
        (row.note, row.isGood) = (note, isGood)
        return row
    }

    private func render(_ timeline: Timeline, columns: Int = 80, _ environment: [String: String] = [:]) -> [String] {
        let environment = ["LANG": "C.UTF-8"].merging(environment) { $1 }
        let style = TerminalStyle(columns: columns, isTerminal: environment["TERM"] != nil, environment: environment)
        return TimelineRenderer(style: style).render(timeline)
    }

    private var timeline: Timeline {
        Timeline(
            rows: [
                row("GET /a", (0, 4), note: "200", isGood: true),
                row("GET /b", (2, 3), (4, 5), note: "cancelled", isGood: false), row("日本\u{1B}[31m\u{7}語", (9.999, 10)),
            ],
            indicator: row("indicator", (1, 10)),
            end: 10
        )
    }

    @Test func `Draws bars on one axis`() {
        let lines = render(timeline, columns: 53)
        func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }
        #expect(lines.count == 9)
        #expect(lines[2] == "GET /a" + spaces(8) + "━━━━━━━━━━━" + spaces(17) + "  200")
        #expect(lines[3] == "GET /b" + spaces(8) + spaces(5) + "╺━━╸  ━━━" + spaces(14) + "  cancelled")
        #expect(lines[4] == "日本[31m語" + spaces(4) + spaces(27) + "╺")
        #expect(lines[6] == "indicator" + spaces(5) + spaces(3) + String(repeating: "█", count: 25))
        #expect(lines[8] == spaces(14) + "━━ in progress   ██ indicator shown")
    }

    @Test(arguments: 1...130) func `Fits every width`(width: Int) {
        for usesUnicode in [true, false] {
            for line in render(timeline, columns: width, usesUnicode ? [:] : ["LANG": ""]) {
                #expect(SafeText.columns(of: line) <= max(width, 12), "\(line)")
                #expect(!line.contains("\u{1B}"))
                if !usesUnicode { #expect(line.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(line)") }
            }
        }
    }

    @Test(
        "How a command ended is shown at every width, and its status where there is room for a short line",
        arguments: [
            (80, "  failed: exit status 3"), (58, "  failed: exit status 3"), (40, "  failed: exit…"), (24, "  faile…"),
        ]
    )
    func narrow(width: Int, end: String) {
        let command = row("a command with a long label", (0, 4), note: "failed: exit status 3", isGood: false)
        let timeline = Timeline(rows: [command], indicator: row("indicator", (1, 5)), end: 5)
        let lines = render(timeline, columns: width)
        #expect(lines[2].hasSuffix(end) && SafeText.columns(of: lines[2]) <= width, "\(lines)")
        #expect(width < 35 || lines.last?.hasSuffix("indicator shown") == true, "\(lines)")
    }

    @Test func `An empty timeline is drawn, and colours are used only if supported`() {
        #expect(render(Timeline(rows: [], indicator: Timeline.Row("indicator"), end: 0)).count == 5)
        let coloured = render(timeline, ["TERM": "xterm"]).joined(separator: "\n")
        #expect(coloured.contains("\u{1B}[0;36m") && !coloured.contains("\u{7}"))
    }

    @Test(arguments: [0.001, 0.5, 9, 60, 4000, 90_000, 1e7, 1e10]) func `Marks are not crowded`(duration: Double) {
        let style = TerminalStyle(columns: 80, isTerminal: false, environment: [:])
        let axis = TimelineRenderer(style: style).axis(duration: duration, columns: 60)
        #expect(axis.rule.count == 60)
        #expect(axis.labels.count <= 60)
        #expect((1...8).contains(axis.rule.count { $0 == "+" }), "\(axis.labels)")
    }
}
