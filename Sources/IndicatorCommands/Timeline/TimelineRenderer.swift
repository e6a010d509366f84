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

    /// The columns, and the end of the axis in seconds.
    private typealias Layout = (label: Int, plot: Int, note: Int, end: Double)

    private let style: TerminalStyle

    package init(style: TerminalStyle) { self.style = style }

    /// The lines: the axis, one row per request, the indicator, and a legend.
    package func render(_ timeline: Timeline) -> [String] {
        let layout = layout(of: timeline)
        let axis = axis(duration: layout.end, columns: layout.plot)
        let indent = String(repeating: " ", count: layout.label + (layout.label > 0 ? 2 : 0))
        func faint(_ text: String, indent: String = "") -> String {
            indent + style.look.styled(fitted(text, to: max(style.width - indent.count, 0)), .faint)
        }
        var lines = timeline.origin.map { [faint("times from \($0)")] } ?? []
        lines += [indent + style.look.styled(axis.labels, .faint), indent + style.look.styled(axis.rule, .faint)]
        lines += timeline.rows.map { line(of: $0, glyphs: busy, in: layout) }
        if !timeline.rows.isEmpty { lines.append(indent + style.look.styled(axis.rule, .faint)) }
        lines.append(line(of: timeline.indicator, glyphs: shown, emphasis: .accent, in: layout))
        let isBusy = timeline.rows.contains { !$0.spans.isEmpty }
        let legend = [
            isBusy ? "\(busy.both)\(busy.both) in progress" : nil,
            timeline.indicator.spans.isEmpty ? nil : "\(shown.both)\(shown.both) indicator shown",
        ].compactMap(\.self).joined(separator: "   ")
        return lines + ["", faint(legend, indent: style.width < indent.count + legend.count ? "" : indent)]
    }

    private func layout(of timeline: Timeline) -> Layout {
        let all = timeline.rows + [timeline.indicator]
        let least = 10
        var label = min(all.map { SafeText.columns(of: $0.label) }.max() ?? 0, max(style.width / 3, 9))
        // How it ended is worth more than a longer line.
        let note = min(all.map { SafeText.columns(of: $0.note) }.max() ?? 0, max(style.width - label - 4 - least, 6))
        let rest = style.width - (note > 0 ? note + 2 : 0)
        if rest - label - 2 < least { label = max(rest - least - 2, 0) }
        return (label, max(rest - (label > 0 ? label + 2 : 0), 1), note, max(timeline.end, 0.001))
    }

    private var busy: Glyphs { style.look.usesUnicode ? ("━", "╸", "╺") : ("=", "=", "=") }
    private var shown: Glyphs { style.look.usesUnicode ? ("█", "▌", "▐") : ("#", "#", "#") }

    private func line(of row: Timeline.Row, glyphs: Glyphs, emphasis: TextStyle = .plain, in layout: Layout) -> String {
        let label = TextWidth.padded(
            fitted(SafeText.singleLine(row.label, limit: 200), to: layout.label),
            to: layout.label + (layout.label > 0 ? 2 : 0)
        )
        let bars = bars(of: row, glyphs: glyphs, columns: layout.plot, end: layout.end)
        guard layout.note > 0, !row.note.isEmpty else {
            return label + style.look.styled(String(bars.reversed().drop { $0 == " " }.reversed()), emphasis)
        }
        let note = fitted(SafeText.singleLine(row.note, limit: 200), to: layout.note)
        let noteStyle = row.isGood.map { $0 ? TextStyle.success : .warning } ?? .faint
        return label + style.look.styled(bars, emphasis) + "  " + style.look.styled(note, noteStyle)
    }

    private func bars(of row: Timeline.Row, glyphs: Glyphs, columns: Int, end: Double) -> String {
        let scale = Double(columns * 2) / end
        var halves = [Bool](repeating: false, count: columns * 2)
        for span in row.spans {
            let start = min(Int((span.lowerBound * scale).rounded()), halves.count - 1)
            let end = min(max(Int((span.upperBound * scale).rounded()), start + 1), halves.count)
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
        SafeText.fitted(style.look.shown(text), to: width, ellipsis: style.look.usesUnicode ? SafeText.ellipsis : "~")
    }

    // MARK: - Axis

    /// The units of time in seconds, and readable steps.
    private static let units = [("s", 1.0), ("min", 60), ("h", 3600), ("d", 86_400)]
    private static let steps: [Double] =
        [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30]
        + [1, 2, 5, 10, 15, 30].map { $0 * 60 } + [1, 2, 3, 6, 12].map { $0 * 3600 }
        + [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000].map { $0 * 86_400 }

    /// The labels and the marks of a time axis, whose length is in seconds.
    func axis(duration: Double, columns: Int) -> (labels: String, rule: String) {
        let step = Self.steps.first { duration / $0 * 9 <= Double(columns) } ?? duration / 4
        let (unit, seconds) = Self.units.last { step >= $0.1 } ?? Self.units[0]
        let digits = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3
        var labels = ""
        var rule = [Character](repeating: style.look.usesUnicode ? "─" : "-", count: columns)
        for time in stride(from: 0, through: duration, by: step) {
            let column = Int(time / duration * Double(columns))
            let text = String(format: "%.\(digits)f \(unit)", time / seconds)
            guard column < columns else { break }
            rule[column] = style.look.usesUnicode ? (column == 0 ? "├" : "┼") : "+"
            if column + text.count <= columns, column == 0 || column > labels.count {
                labels += String(repeating: " ", count: column - labels.count) + text
            }
        }
        return (labels, String(rule))
    }
}
