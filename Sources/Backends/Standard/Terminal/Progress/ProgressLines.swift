import BackendConfiguration
import IndicatorCore
import Foundation

/// Lays out activities as lines of a terminal, in the columns of a template, as far as they fit.
struct ProgressLines: Sendable {
    var look: TextLook
    var applicationName: String
    /// How many activities get a line.
    var maxLines: Int
    var template = LineTemplate.standard

    private typealias Field = LineTemplate.Field

    /// The shortest length of the bars, and the fields that are left out, from wide windows to narrow ones. The name
    /// keeps its room longest.
    private static let steps: [(bar: Int, without: Set<Field>)] = [
        (16, []), (16, [.elapsed]), (12, [.elapsed, .rate]), (12, [.elapsed, .rate, .detail]),
        (10, [.elapsed, .rate, .detail, .amount, .done, .total]),
        (8, [.elapsed, .rate, .detail, .amount, .done, .total, .remaining]),
        (0, [.elapsed, .rate, .detail, .amount, .done, .total, .remaining, .bar]),
        (0, Set(Field.allCases).subtracting([.label])),
    ]
    /// The longest bars: longer ones show nothing more, and take more bytes.
    private static let longestBar = 60
    /// The columns of the shortest bar and a percentage, with their gaps.
    private static let shortestRest = 16

    /// The activities that get a line: ``maxLines``, those that run before those that wait for their turn; the groups
    /// that they belong to; and those that wait for the user.
    private func shown(_ activities: [ActivityDetails]) -> [ActivityDetails] {
        let single = activities.indices.filter { index in
            index + 1 == activities.count || activities[index + 1].depth <= activities[index].depth
        }
        let byTurn = single.filter { !activities[$0].isWaiting } + single.filter { activities[$0].isWaiting }
        let chosen = Set(byTurn.prefix(maxLines))
        var shown: [ActivityDetails] = []
        // From the end, where the members of a group are before it.
        var depth = 0
        for (index, activity) in activities.enumerated().reversed() {
            guard chosen.contains(index) || activity.attention != nil || activity.depth < depth else { continue }
            shown.append(activity)
            depth = activity.depth
        }
        return shown.reversed()
    }

    /// The lines of a snapshot: at most ``maxLines`` and those of their groups, those with what activities ask the user
    /// for, and one with the number of the other activities.
    ///
    /// - Parameters:
    ///   - width: the columns of the window. The last one stays empty: some terminals wrap when it is written.
    ///   - height: how many lines there is room for. The last one to be left out is the number of the others.
    ///   - frame: the number of the frame, for the spinner.
    func lines(
        for snapshot: IndicatorSnapshot,
        width: Int,
        height: Int = .max,
        now: Date,
        frame: Int
    ) -> [LiveLine] {
        let width = max(width - 1, 1)
        var activities = shown(snapshot.activities)
        if activities.isEmpty { activities = [ActivityDetails(label: applicationName, since: snapshot.since)] }
        // A snapshot lists at most 16 activities. Beyond that, those without a label are counted, too; further members
        // of groups are not.
        let (listed, groups) = (snapshot.activities.count, snapshot.activities.count { $0.depth == 0 })
        let count = listed + (listed < 16 ? 0 : max(snapshot.activityCount - groups, 0))

        while activities.count > 1,
            activities.count + activities.count(where: { $0.attention != nil }) + (count > activities.count ? 1 : 0)
                > height
        {
            activities.removeLast()
        }
        let rows = activities.map { Row(activity: $0, layout: self, now: now, frame: frame) }
        let grid = Grid(rows, width: width, layout: self)
        var lines: [LiveLine] = []
        for row in rows {
            lines.append(grid.line(row))
            if let attention = row.activity.attention {
                var line = LiveLine()
                let text = String(repeating: "  ", count: row.activity.depth) + "! \(look.shown(attention))"
                line.append(fitted(text, to: width), look.style(.failure))
                lines.append(line)
            }
        }
        if count > activities.count {
            var line = LiveLine()
            let waiting = snapshot.activities.count(where: \.isWaiting) - activities.count(where: \.isWaiting)
            let others = count - activities.count - waiting
            let texts = [others > 0 ? "\(others) more" : nil, waiting > 0 ? "\(waiting) waiting" : nil]
            let text = "and " + texts.compactMap(\.self).joined(separator: ", ")
            line.append(SafeText.fitted(text, to: width, ellipsis: ""), look.style(.faint))
            lines.append(line)
        }
        return lines
    }

    /// The line that an activity leaves when it ends.
    func line(for finished: FinishedActivity) -> String {
        let label = look.shown(finished.label)
        let message = look.shown(finished.listedMessage)
        let (mark, style, text): (String, TextStyle, String) =
            switch finished.outcome {
            case .failed:
                (look.usesUnicode ? "✗" : "x", .failure, "\(label): \(message.isEmpty ? "failed" : message)")
            case .cancelled: ("-", .faint, "\(label): cancelled")
            case .succeeded: (look.usesUnicode ? "✓" : "+", .success, label)
            // Nobody said whether it succeeded.
            case .unspecified: (look.usesUnicode ? "•" : "*", .faint, "\(label): ended")
            }
        return "\(look.styled(mark, style)) \(text) (\(look.summary(of: finished)))"
    }

    private func fitted(_ text: String, to columns: Int) -> String {
        SafeText.fitted(text, to: columns, ellipsis: look.usesUnicode ? SafeText.ellipsis : "...")
    }

    /// An activity, and the texts of its fields.
    private struct Row {
        let activity: ActivityDetails
        private let texts: [Field: String]
        private let layout: ProgressLines
        private var look: TextLook { layout.look }

        init(activity: ActivityDetails, layout: ProgressLines, now: Date, frame: Int) {
            (self.activity, self.layout) = (activity, layout)
            let look = layout.look
            let percentage = Percentage(activity.progress)
            // One digit has the room of two, so that nothing moves at 10 %.
            let progress = percentage.map { ($0.value < 10 ? " " : "") + $0.text() }
            let remaining = activity.remaining.map { SnapshotFormat.time($0 / .seconds(1)) }
            let frames = (look.usesUnicode ? Charset.utf8 : .ascii).spinnerFrames
            let texts: [Field: String?] = [
                .label: String(repeating: "  ", count: activity.depth) + look.shown(activity.label ?? ""),
                .spinner: activity.progress == nil ? frames[frame % frames.count] : nil,
                .progress: progress,
                .amount: activity.amountText(in: look.numbers) ?? progress,
                .done: activity.doneText(in: look.numbers),
                .total: activity.totalText(in: look.numbers),
                .rate: activity.rateText(in: look.numbers),
                .elapsed: SnapshotFormat.time(activity.elapsed(at: now)),
                .remaining: remaining,
                .detail: activity.detail.map { look.shown(SafeText.singleLine($0, limit: 40)) },
            ]
            self.texts = texts.compactMapValues { $0.map(look.shown) }
        }

        func text(_ field: Field) -> String { texts[field] ?? "" }

        /// The text and styles of a column; empty if none of its fields has a value.
        func cell(_ column: LineTemplate.Column, label: Int, bar: Int) -> LiveLine {
            var cell = LiveLine()
            var isEmpty = !column.placeholders.isEmpty
            for piece in column.pieces {
                guard case .placeholder(let placeholder) = piece else {
                    if case .literal(let text) = piece { cell.append(look.shown(text)) }
                    continue
                }
                let start = cell.columns
                append(placeholder, to: &cell, label: label, bar: bar)
                if cell.columns > start { isEmpty = false }
                // The room for labels and bars is limited.
                let limit = placeholder.field == .label ? label : placeholder.field == .bar ? bar : .max
                let spaces = min(placeholder.width ?? 0, limit) - (cell.columns - start)
                placeholder.effectiveAlignment.pad(&cell, by: spaces, from: start)
            }
            return isEmpty ? LiveLine() : cell
        }

        private func append(_ placeholder: LineTemplate.Placeholder, to line: inout LiveLine, label: Int, bar: Int) {
            let style = look.style(placeholder.style ?? .plain)
            switch placeholder.field {
            case .label:
                let label = layout.fitted(text(.label), to: label)
                line.append(label, style)
                // A left-to-right mark (LRM) keeps terminals with bidirectional text from mixing the fields into the
                // label.
                if label.unicodeScalars.contains(where: ProgressLines.isRightToLeft) { line.append("\u{200E}") }
            case .bar:
                if let progress = activity.progress {
                    append(progress, to: &line, placeholder, columns: bar)
                } else if bar > 0, !layout.template.fields.contains(.spinner) {
                    line.append(text(.spinner), style)
                }
            case let field: line.append(text(field), style)
            }
        }

        private func append(
            _ progress: Double,
            to line: inout LiveLine,
            _ placeholder: LineTemplate.Placeholder,
            columns: Int
        ) {
            let styles = (look.style(placeholder.style ?? .plain), look.style(placeholder.restStyle ?? .plain))
            let halves = Int((min(max(progress, 0), 1) * Double(2 * columns)).rounded(.down))
            let (done, half) = halves.quotientAndRemainder(dividingBy: 2)
            line.append(String(repeating: look.usesUnicode ? "━" : "#", count: done), styles.0)
            if half == 1, look.usesUnicode { line.append("╸", styles.0) }
            let rest = columns - done - (look.usesUnicode ? half : 0)
            line.append(String(repeating: look.usesUnicode ? "─" : "-", count: rest), styles.1)
        }
    }

    /// The columns that fit into a window.
    private struct Grid {
        private let window: Int
        private var columns: [(column: LineTemplate.Column, width: Int)] = []
        private var label = 0
        private var bar = 0

        init(_ rows: [Row], width: Int, layout: ProgressLines) {
            window = width
            let template = layout.template
            func option(_ field: Field) -> Int? {
                template.columns.lazy.flatMap(\.placeholders).first { $0.field == field }?.width
            }
            let labelWidth = option(.label) ?? rows.map { SafeText.columns(of: $0.text(.label)) }.max() ?? 0
            let hasLabel = template.fields.contains(.label)
            let hasBar = template.fields.contains(.bar) && rows.contains { $0.activity.progress != nil }
            let longestBar = option(.bar) ?? ProgressLines.longestBar
            var room = 0
            for step in ProgressLines.steps {
                // Where the amount has no room, the percentage may have.
                let replacesAmount = !step.without.contains(.progress) && !template.fields.contains(.progress)
                bar = step.without.contains(.bar) ? 0 : hasBar ? min(step.bar, longestBar) : 1
                columns = template.columns.compactMap { column -> (column: LineTemplate.Column, width: Int)? in
                    var column = column
                    if replacesAmount, step.without.contains(.amount) { column.replace(.amount, with: .progress) }
                    let fields = column.placeholders.map(\.field)
                    // Text alone has no more room than the percentage.
                    if (fields.isEmpty ? [.progress] : fields).allSatisfy(step.without.contains) { return nil }
                    let width = self.width(of: column, in: rows)
                    return width > 0 || fields.contains(.label) ? (column, width) : nil
                }
                room = width - columns.reduce(0) { $0 + $1.column.gap + $1.width } + (columns.first?.column.gap ?? 0)
                // A name comes first, as long as there is room for a percentage.
                let needed = hasLabel ? min(labelWidth, max(12, width / 2, width - ProgressLines.shortestRest)) : 0
                if room >= needed { break }
            }
            label = max(min(room, labelWidth), 0)
            if hasBar, bar > 0 { bar += min(max(room - label, 0), longestBar - bar) }
            for index in columns.indices { columns[index].width = self.width(of: columns[index].column, in: rows) }
        }

        /// The width of a column with the current lengths of labels and bars.
        private func width(of column: LineTemplate.Column, in rows: [Row]) -> Int {
            rows.map { $0.cell(column, label: label, bar: bar).columns }.max() ?? 0
        }

        func line(_ row: Row) -> LiveLine {
            var line = LiveLine()
            for (index, item) in columns.enumerated() {
                if index > 0 { line.append(String(repeating: " ", count: item.column.gap)) }
                let start = line.columns
                line.append(row.cell(item.column, label: label, bar: bar))
                let alignment = item.column.placeholders.first?.effectiveAlignment ?? .left
                alignment.pad(&line, by: item.width - (line.columns - start), from: start)
            }
            line.cut(to: window)
            line.trim()
            return line
        }
    }

    private static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x590..<0x900, 0xFB1D..<0xFE00, 0xFE70..<0xFF00, 0x10800..<0x11000, 0x1E800..<0x1F000: true
        default: false
        }
    }
}
