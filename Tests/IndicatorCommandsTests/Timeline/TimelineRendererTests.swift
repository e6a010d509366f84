import IndicatorBackends
import Testing

@testable import IndicatorCommands

@Suite struct TimelineRendererTests {
    private let timeline = Timeline(
        rows: [
            .init(label: "GET /a", spans: [.init(start: 0, end: 4, kind: .busy)], note: "200", outcome: .good),
            .init(
                label: "GET /b",
                spans: [.init(start: 2, end: 3, kind: .busy), .init(start: 3, end: 5, kind: .suspended)],
                note: "cancelled",
                outcome: .bad
            ),
            .init(label: "日本\u{1B}[31m\u{7}語", spans: [.init(start: 9.999, end: 10, kind: .busy)]),
        ],
        indicator: .init(label: "indicator", spans: [.init(start: 1, end: 10, kind: .shown)]),
        end: 10
    )

    @Test func `Draws bars on one axis`() {
        let lines = TimelineRenderer(style: TerminalStyle(width: 53, usesUnicode: true)).render(timeline)
        func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }
        #expect(lines.count == 9)
        #expect(lines[2] == "GET /a" + spaces(8) + "━━━━━━━━━━━" + spaces(17) + "  200")
        #expect(lines[3] == "GET /b" + spaces(8) + spaces(5) + "╺━━━┄┄┄┄┄" + spaces(14) + "  cancelled")
        #expect(lines[4] == "日本[31m語" + spaces(4) + spaces(27) + "╺")
        #expect(lines[6] == "indicator" + spaces(5) + spaces(3) + String(repeating: "█", count: 25))
        #expect(lines[8] == spaces(14) + "━━ in progress   ┄┄ suspended   ██ ind…")
    }

    @Test(arguments: 1...130) func `Fits every width`(width: Int) {
        for usesUnicode in [true, false] {
            let style = TerminalStyle(width: width, usesUnicode: usesUnicode)
            for line in TimelineRenderer(style: style).render(timeline) {
                #expect(SafeText.columns(of: line) <= max(width, 12), "\(line)")
                #expect(!line.contains("\u{1B}"))
                if !usesUnicode { #expect(line.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(line)") }
            }
        }
    }

    @Test func `Colours are used only if supported`() {
        let style = TerminalStyle(width: 80, usesUnicode: true, usesColor: true, isTerminal: true)
        let coloured = TimelineRenderer(style: style).render(timeline).joined(separator: "\n")
        #expect(coloured.contains("\u{1B}[36m"))
        #expect(!coloured.contains("\u{7}"))
    }

    @Test func `Draws an empty timeline`() {
        let nothing = Timeline(rows: [], indicator: .init(label: "indicator", spans: []), end: 0)
        #expect(TimelineRenderer(style: TerminalStyle(width: 80, usesUnicode: true)).render(nothing).count == 5)
    }

    @Test(arguments: [0.001, 0.5, 9, 60, 4000, 90_000, 1e7, 1e10]) func `Marks are not crowded`(duration: Double) {
        let axis = TimelineAxis(duration: duration, columns: 60, usesUnicode: false)
        #expect(axis.rule.count == 60)
        #expect(axis.labels.count <= 60)
        #expect((1...8).contains(axis.rule.count { $0 == "+" }), "\(axis.labels)")
    }
}
