import Foundation
import IndicatorCore

/// Lays out activities as lines of a terminal: label, bar or spinner, amount, rate, elapsed and remaining time, as far
/// as they fit.
struct ProgressLines: Sendable {
    /// The characters and colours that the terminal shows.
    struct Look: Sendable, Hashable {
        var usesUnicode = true
        var usesColor = true

        /// Follows the locale and the variables `NO_COLOR` (no-color.org) and `CLICOLOR_FORCE` (bixense.com/clicolors).
        ///
        /// - Parameter isTerminal: whether to use colours if the variables are not set.
        init(environment: [String: String], isTerminal: Bool) {
            func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
            // The Linux console lacks the characters of the spinner.
            usesUnicode = Charset(environment: environment) == .utf8 && environment["TERM"] != "linux"
            let isForced = value("CLICOLOR_FORCE").map { $0 != "0" } ?? false
            usesColor = value("NO_COLOR") == nil && (isTerminal || isForced)
        }

        /// The style, or plain without colours.
        func style(_ style: LiveLine.Style) -> LiveLine.Style { usesColor ? style : .plain }

        /// An untrusted text, sanitized for display.
        func text(_ text: String, limit: Int = 240) -> String {
            let text = DisplayText.singleLine(text, limit: limit)
            return usesUnicode ? text : Charset.ascii.text(text)
        }
    }

    var look: Look
    var applicationName: String
    /// How many activities get a line.
    var maxLines: Int

    /// The fields of a line, besides its label and bar.
    private enum Field { case amount, percent, rate, elapsed, remaining }

    /// The shortest length of the bars, and the fields, from wide windows to narrow ones.
    private static let details: [(bar: Int, fields: [Field])] = [
        (16, [.amount, .rate, .elapsed, .remaining]), (16, [.amount, .rate, .remaining]), (12, [.amount, .remaining]),
        (10, [.percent, .remaining]), (8, [.percent]), (0, [.percent]), (0, []),
    ]
    /// The longest bars: longer ones show nothing more, and take more bytes.
    private static let longestBar = 60

    /// The activities that get a line: ``maxLines``, and the groups that they belong to.
    private func shown(_ activities: [ActivityDetails]) -> [ActivityDetails] {
        var room = maxLines
        for (index, activity) in activities.enumerated() {
            let isGroup = index + 1 < activities.count && activities[index + 1].depth > activity.depth
            if room == 0 { return Array(activities.prefix(index)) }
            if !isGroup { room -= 1 }
        }
        return activities
    }

    /// The lines of a snapshot: at most ``maxLines`` and those of their groups, and one with the number of the other
    /// activities.
    ///
    /// - Parameters:
    ///   - width: the columns of the window. The last one stays empty: some terminals wrap when it is written.
    ///   - frame: the number of the frame, for the spinner.
    func lines(for snapshot: IndicatorSnapshot, width: Int, now: Date, frame: Int) -> [LiveLine] {
        let width = max(width - 1, 1)
        var activities = shown(snapshot.activities)
        if activities.isEmpty { activities = [ActivityDetails(label: applicationName, since: snapshot.since)] }
        // A snapshot lists at most 16 activities. Beyond that, those without a label are counted, too; further members
        // of groups are not.
        let (listed, groups) = (snapshot.activities.count, snapshot.activities.count { $0.depth == 0 })
        let count = listed + (listed < 16 ? 0 : max(snapshot.activityCount - groups, 0))
        let labels = activities.map(label)
        let labelWidth = labels.map { DisplayText.columns(of: $0) }.max() ?? 0
        let hasSpinner = activities.contains { $0.progress == nil }
        let hasBar = activities.contains { $0.progress != nil }
        let mark = hasSpinner ? 2 : 0

        var rows: [[String]] = []
        var widths: [Int] = []
        var bar = 0
        var room = 0
        for detail in Self.details {
            rows = activities.map { activity in detail.fields.map { text($0, of: activity, now) } }
            widths = detail.fields.indices.map { field in
                rows.map { DisplayText.columns(of: $0[field]) }.max() ?? 0
            }
            bar = hasBar ? detail.bar : 0
            room = width - mark - ([bar] + widths).reduce(0) { $0 + ($1 > 0 ? $1 + 2 : 0) }
            // The label comes first, as long as it does not take more than half of the window.
            if room >= min(labelWidth, max(12, width / 2)) { break }
        }
        if bar > 0 { bar += min(max(room - labelWidth, 0), Self.longestBar - bar) }
        room = min(room, labelWidth)

        var lines = zip(zip(activities, labels), rows).map { item, fields in
            var line = LiveLine()
            if hasSpinner { line.append(item.0.progress == nil ? spinner(frame) + " " : "  ", look.style(.accent)) }
            let label = DisplayText.fitted(item.1, to: room, ellipsis: look.usesUnicode ? DisplayText.ellipsis : "...")
            line.append(label, look.style(item.0.attention == nil ? .plain : .failure))
            // A left-to-right mark (LRM) keeps terminals with bidirectional text from mixing the fields into the label.
            if label.unicodeScalars.contains(where: Self.isRightToLeft) { line.append("\u{200E}") }
            var column = mark + room
            if bar > 0 {
                line.pad(to: column + 2)
                if let progress = item.0.progress { append(progress, to: &line, columns: bar) }
                column += bar + 2
            }
            for (field, width) in zip(fields, widths) where width > 0 {
                column += width + 2
                line.pad(to: column - DisplayText.columns(of: field))
                line.append(field)
            }
            line.trim()
            return line
        }
        if count > activities.count {
            var line = LiveLine()
            let text = "and \(count - activities.count) more"
            line.append(DisplayText.fitted(text, to: width, ellipsis: ""), look.style(.faint))
            lines.append(line)
        }
        return lines
    }

    /// The line that an activity leaves when it ends.
    func line(for finished: FinishedActivity) -> String {
        let label = look.text(finished.label)
        let time = Self.time(finished.duration)
        let (mark, style, text): (String, LiveLine.Style, String) =
            switch finished.outcome {
            case .failed(let message):
                (
                    look.usesUnicode ? "✗" : "x", .failure,
                    message.isEmpty ? "\(label): failed" : "\(label): \(look.text(message))"
                )
            case .cancelled: ("-", .faint, "\(label): cancelled")
            case .unspecified, .succeeded: (look.usesUnicode ? "✓" : "+", .success, label)
            }
        let shown = look.usesColor ? style.sequence + mark + LiveLine.Style.plain.sequence : mark
        return "\(shown) \(text) (\(time))"
    }

    private func label(_ activity: ActivityDetails) -> String {
        let label = [activity.attention, activity.label].compactMap { $0 }.joined(separator: " - ")
        return String(repeating: "  ", count: activity.depth) + look.text(label)
    }

    private static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x590..<0x900, 0xFB1D..<0xFE00, 0xFE70..<0xFF00, 0x10800..<0x11000, 0x1E800..<0x1F000: true
        default: false
        }
    }

    private func spinner(_ frame: Int) -> String {
        let frames = look.usesUnicode ? TerminalTitleBackend.spinnerFrames : TerminalTitleBackend.asciiSpinnerFrames
        return frames[frame % frames.count]
    }

    private func append(_ progress: Double, to line: inout LiveLine, columns: Int) {
        let halves = Int((min(max(progress, 0), 1) * Double(2 * columns)).rounded(.down))
        let (done, half) = halves.quotientAndRemainder(dividingBy: 2)
        line.append(String(repeating: look.usesUnicode ? "━" : "#", count: done), look.style(.accent))
        if half == 1, look.usesUnicode { line.append("╸", look.style(.accent)) }
        let rest = columns - done - (look.usesUnicode ? half : 0)
        line.append(String(repeating: look.usesUnicode ? "─" : "-", count: rest), look.style(.faint))
    }

    private func text(_ field: Field, of activity: ActivityDetails, _ now: Date) -> String {
        let percent = Percentage(activity.progress).map {
            String(repeating: " ", count: $0.value < 10 ? 1 : 0) + "\($0.value)%"
        }
        switch field {
        case .amount: return activity.amountText ?? percent ?? ""
        case .percent: return percent ?? ""
        case .rate: return activity.rateText ?? ""
        case .elapsed: return SnapshotFormat.time(now.timeIntervalSince(activity.since))
        case .remaining:
            return activity.remaining.map { "\(SnapshotFormat.time($0 / .seconds(1))) left" } ?? ""
        }
    }
}

extension ProgressLines {
    /// Such as `2.1 s`, and from a minute on `1:05`.
    static func time(_ duration: Duration) -> String {
        duration < .seconds(60) ? "\(tenths(duration / .seconds(1))) s" : SnapshotFormat.time(duration / .seconds(1))
    }

    private static func tenths(_ number: Double) -> String {
        let tenths = Int((min(max(number, 0), 1e15) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
