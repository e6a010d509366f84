import Foundation
import IndicatorBackends
import IndicatorCore

/// Draws a timeline as lines of text that fit the terminal.
///
/// Bars have a resolution of half a column. The indicator's differ in shape, and notes contain the result of a row, so
/// colours are not needed to read it.
package struct TimelineRenderer {
    /// A bar's full column, its left half and its right half.
    private typealias Glyphs = (both: Character, left: Character, right: Character)

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
            lines.append(line(of: row, glyphs: busy, in: timeline, layout: layout))
        }
        if !timeline.rows.isEmpty { lines.append(indent + style.styled(axis.rule, .faint)) }
        lines.append(line(of: timeline.indicator, glyphs: shown, emphasis: .cyan, in: timeline, layout: layout))
        let isBusy = timeline.rows.contains { !$0.spans.isEmpty }
        let legend = [
            isBusy ? "\(busy.both)\(busy.both) in progress" : nil,
            timeline.indicator.spans.isEmpty ? nil : "\(shown.both)\(shown.both) indicator shown",
        ].compactMap(\.self).joined(separator: "   ")
        lines += ["", indent + style.styled(fitted(legend, to: max(style.width - indent.count, 0)), .faint)]
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

    private var busy: Glyphs { style.usesUnicode ? ("━", "╸", "╺") : ("=", "=", "=") }
    private var shown: Glyphs { style.usesUnicode ? ("█", "▌", "▐") : ("#", "#", "#") }

    private func line(
        of row: Timeline.Row,
        glyphs: Glyphs,
        emphasis: TerminalStyle.Emphasis? = nil,
        in timeline: Timeline,
        layout: Layout
    ) -> String {
        let label = TextWidth.padded(
            fitted(SafeText.singleLine(row.label, limit: 200), to: layout.label),
            to: layout.label + (layout.label > 0 ? 2 : 0)
        )
        let bars = bars(of: row, glyphs: glyphs, in: timeline, columns: layout.plot)
        guard layout.note > 0, !row.note.isEmpty else {
            return label + styled(String(bars.reversed().drop { $0 == " " }.reversed()), emphasis)
        }
        let note = fitted(SafeText.singleLine(row.note, limit: 200), to: layout.note)
        let noteEmphasis = row.isGood.map { $0 ? TerminalStyle.Emphasis.green : .yellow } ?? .faint
        return label + styled(bars, emphasis) + "  " + style.styled(note, noteEmphasis)
    }

    private func bars(of row: Timeline.Row, glyphs: Glyphs, in timeline: Timeline, columns: Int) -> String {
        let scale = Double(columns * 2) / max(timeline.end - timeline.start, 0.001)
        var halves = [Bool](repeating: false, count: columns * 2)
        for span in row.spans {
            let start = min(Int(((span.lowerBound - timeline.start) * scale).rounded()), halves.count - 1)
            let end = min(max(Int(((span.upperBound - timeline.start) * scale).rounded()), start + 1), halves.count)
            guard start >= 0 else { continue }
            for half in start..<end { halves[half] = true }
        }
        return String(
            (0..<columns).map { column in
                switch (halves[column * 2], halves[column * 2 + 1]) {
                case (false, false): " "
                case (true, false): glyphs.left
                case (false, true): glyphs.right
                case (true, true): glyphs.both
                }
            }
        )
    }

    private func fitted(_ text: String, to width: Int) -> String {
        let text = (style.usesUnicode ? Charset.utf8 : .ascii).text(text)
        return SafeText.fitted(text, to: width, ellipsis: style.usesUnicode ? SafeText.ellipsis : "~")
    }

    private func styled(_ text: String, _ emphasis: TerminalStyle.Emphasis?) -> String {
        emphasis.map { style.styled(text, $0) } ?? text
    }
}
