import Foundation
import IndicatorBackends

/// Draws a timeline as lines of text that fit the terminal.
///
/// Bars have a resolution of half a column. Bars differ in shape, and notes contain the result of a row, so colours are
/// not needed to read it.
package struct TimelineRenderer {
    private struct Glyphs {
        var both: Character
        var left: Character
        var right: Character
    }

    private struct Layout {
        var label: Int
        var plot: Int
        var note: Int
    }

    private let style: TerminalStyle

    package init(style: TerminalStyle) {
        self.style = style
    }

    /// The lines: the axis, one row per request, the indicator, and a legend.
    package func render(_ timeline: Timeline) -> [String] {
        let layout = layout(of: timeline)
        let duration = max(timeline.end - timeline.start, 0.001)
        let axis = TimelineAxis(duration: duration, columns: layout.plot, usesUnicode: style.usesUnicode)
        let indent = String(repeating: " ", count: layout.label + (layout.label > 0 ? 2 : 0))
        var lines: [String] = []
        if let origin = timeline.origin {
            lines.append(style.styled(fitted("times from \(origin)", to: style.width), .faint))
        }
        if timeline.start > 0 {
            let origin = "times from t = \((timeline.start * 1e6).rounded() / 1e6) s"
            lines.append(style.styled(fitted(origin, to: style.width), .faint))
        }
        lines.append(indent + style.styled(axis.labels, .faint))
        lines.append(indent + style.styled(axis.rule, .faint))
        for row in timeline.rows {
            lines.append(line(of: row, in: timeline, layout: layout, emphasis: nil))
        }
        if !timeline.rows.isEmpty { lines.append(indent + style.styled(axis.rule, .faint)) }
        lines.append(line(of: timeline.indicator, in: timeline, layout: layout, emphasis: .cyan))
        lines.append("")
        let legend = legend(of: timeline)
        lines.append(indent + style.styled(fitted(legend, to: max(style.width - indent.count, 0)), .faint))
        return lines
    }

    private func layout(of timeline: Timeline) -> Layout {
        let all = timeline.rows + [timeline.indicator]
        let least = 10
        var label = min(all.map { SafeText.columns(of: $0.label) }.max() ?? 0, max(style.width / 3, 9))
        var note = min(all.map { SafeText.columns(of: $0.note) }.max() ?? 0, style.width / 4)
        func plot() -> Int { style.width - (label > 0 ? label + 2 : 0) - (note > 0 ? note + 2 : 0) }
        if plot() < 2 * least { note = 0 }
        if plot() < least { label = max(style.width - least - 2, 0) }
        return Layout(label: label, plot: max(plot(), 1), note: note)
    }

    private func line(
        of row: Timeline.Row,
        in timeline: Timeline,
        layout: Layout,
        emphasis: TerminalStyle.Emphasis?
    ) -> String {
        let label = fitted(SafeText.singleLine(row.label, limit: 200), to: layout.label, padded: true)
        let bars = bars(of: row, in: timeline, columns: layout.plot)
        let gap = layout.label > 0 ? "  " : ""
        guard layout.note > 0, !row.note.isEmpty else {
            return label + gap + styled(String(bars.reversed().drop { $0 == " " }.reversed()), emphasis)
        }
        let note = fitted(SafeText.singleLine(row.note, limit: 200), to: layout.note)
        let noteEmphasis: TerminalStyle.Emphasis? =
            switch row.outcome {
            case .neutral: .faint
            case .good: .green
            case .bad: .yellow
            }
        return label + gap + styled(bars, emphasis) + "  " + styled(note, noteEmphasis)
    }

    private func bars(of row: Timeline.Row, in timeline: Timeline, columns: Int) -> String {
        let halves = columns * 2
        let scale = Double(halves) / max(timeline.end - timeline.start, 0.001)
        var kinds = [Timeline.Kind?](repeating: nil, count: halves)
        for span in row.spans {
            let start = min(Int(((span.start - timeline.start) * scale).rounded()), halves - 1)
            let end = min(max(Int(((span.end - timeline.start) * scale).rounded()), start + 1), halves)
            guard start >= 0 else { continue }
            for half in start..<end { kinds[half] = span.kind }
        }
        return String(
            (0..<columns).map { column in
                let (left, right) = (kinds[column * 2], kinds[column * 2 + 1])
                switch (left, right) {
                case (nil, nil): return " "
                case (let kind?, nil): return glyphs(of: kind).left
                case (nil, let kind?): return glyphs(of: kind).right
                case (let first?, let second?): return first == second ? glyphs(of: first).both : glyphs(of: .busy).both
                }
            }
        )
    }

    private func glyphs(of kind: Timeline.Kind) -> Glyphs {
        switch (kind, style.usesUnicode) {
        case (.busy, true): Glyphs(both: "━", left: "╸", right: "╺")
        case (.suspended, true): Glyphs(both: "┄", left: "╴", right: "╶")
        case (.shown, true): Glyphs(both: "█", left: "▌", right: "▐")
        case (.busy, false): Glyphs(both: "=", left: "=", right: "=")
        case (.suspended, false): Glyphs(both: ".", left: ".", right: ".")
        case (.shown, false): Glyphs(both: "#", left: "#", right: "#")
        }
    }

    private func legend(of timeline: Timeline) -> String {
        let kinds = Set(timeline.rows.flatMap(\.spans).map(\.kind)).union(timeline.indicator.spans.map(\.kind))
        let meanings: [(Timeline.Kind, String)] = [
            (.busy, "in progress"), (.suspended, "suspended"), (.shown, "indicator shown"),
        ]
        return meanings.filter { kinds.contains($0.0) }.map { kind, meaning in
            "\(String(repeating: glyphs(of: kind).both, count: 2)) \(meaning)"
        }.joined(separator: "   ")
    }

    private func fitted(_ text: String, to width: Int, padded: Bool = false) -> String {
        let text = (style.usesUnicode ? Charset.utf8 : .ascii).text(text)
        let fitted = SafeText.fitted(text, to: width, ellipsis: style.usesUnicode ? SafeText.ellipsis : "~")
        return padded ? fitted + String(repeating: " ", count: max(width - SafeText.columns(of: fitted), 0)) : fitted
    }

    private func styled(_ text: String, _ emphasis: TerminalStyle.Emphasis?) -> String {
        emphasis.map { style.styled(text, $0) } ?? text
    }
}
