import ArgumentParser
import IndicatorBackends
import IndicatorCore

/// All indicators in one line, as a panel shows it.
struct PanelLine: Sendable, Hashable {
    /// What a panel may highlight; waybar's `class`.
    enum Kind: String, Sendable, Hashable, Encodable {
        /// No indicator is shown.
        case idle
        case active
        /// An app waits for the user.
        case attention
        /// Work has ended, or an app was lost, within the last seconds.
        case succeeded
        case failed
        /// Work has ended, and nobody said how.
        case ended
    }

    var kind = Kind.idle
    /// Empty if there is nothing to show.
    var text = ""
    /// A line for each activity.
    var tooltip = ""
    /// How much is done, on average of the apps that know.
    var percentage: Int?
}

/// Follows the indicators, and prints a new line for a panel: at once when an indicator is hidden, otherwise at most
/// ten times a second, and never the same line twice.
struct WatchPanel: WatchDisplay {
    /// How long the outcome of an activity is shown.
    static let outcomeTime: Duration = .seconds(5)
    /// The shortest success that is shown. Failures always are.
    static let shortestSuccess = 1.0
    /// The shortest time between two lines.
    static let interval: Duration = .milliseconds(100)
    /// How many indicators are on the line.
    static let limit = 16

    private struct Shown {
        /// In the order in which they were shown.
        var number: Int
        var source: WatchEvent.Source
        var state: WatchedState

        /// What a backend of the app itself would show.
        var snapshot: IndicatorSnapshot {
            var activities = (state.activities ?? []).map { ActivityDetails(label: $0.label, progress: $0.progress) }
            if activities.isEmpty { activities = [ActivityDetails(label: state.label, progress: state.progress)] }
            activities[0].attention = state.attention
            return IndicatorSnapshot(state: .active, activityCount: state.count ?? 1, activities: activities)
        }
    }

    let format: WatchFormat
    /// Whether there is only one line.
    let isOnly: Bool
    var size = TerminalDevice.Size()
    private var shown: [String: Shown] = [:]
    private var count = 0
    /// What has ended last.
    private var outcome: (line: PanelLine, end: Duration)?
    private var written: (line: PanelLine, time: Duration)?
    /// Whether a line may differ from the one that was written, and whether it must not wait.
    private var (isOutdated, isUrgent) = (true, false)
    private var hasBegun = false

    init(_ format: WatchFormat, isOnly: Bool = false) { (self.format, self.isOnly) = (format, isOnly) }

    mutating func receive(_ event: WatchEvent, at now: Duration) {
        let name = event.source.name
        switch event.event {
        case .appeared, .changed:
            guard let state = event.state, state.visible else { return hide(name) }
            count += shown[name] == nil ? 1 : 0
            shown[name] = Shown(number: shown[name]?.number ?? count, source: event.source, state: state)
            isOutdated = true
        case .finished:
            if let finished = event.finished { note(finished, of: event.source, at: now) }
        case .lost:
            // One that was lost before the first line is no news.
            if hasBegun, shown[name] != nil {
                let text = "\(event.source.title): lost"
                outcome = (PanelLine(kind: .failed, text: text, tooltip: text), now + Self.outcomeTime)
            }
            hide(name)
        case .vanished, .broken:
            hide(name)
        }
    }

    private mutating func hide(_ name: String) {
        if shown.removeValue(forKey: name) != nil { (isOutdated, isUrgent) = (true, true) }
    }

    private mutating func note(_ activity: WatchEvent.Finished, of source: WatchEvent.Source, at now: Duration) {
        let kinds: [String: (kind: PanelLine.Kind, word: String)] = [
            "failed": (.failed, "failed"), "succeeded": (.succeeded, "done"), "unspecified": (.ended, "ended"),
        ]
        guard let (kind, word) = kinds[activity.outcome], kind == .failed || activity.seconds >= Self.shortestSuccess
        else { return }
        let message = activity.message.map { ": \(SafeText.singleLine($0, limit: 60))" } ?? ""
        let label = SafeText.singleLine(activity.label, limit: 60)
        let text = "\(source.title): \(label) \(word)"
        let tooltip = "\(text) after \(activity.duration)\(message)"
        outcome = (PanelLine(kind: kind, text: text + message, tooltip: tooltip), now + Self.outcomeTime)
        isOutdated = true
    }

    mutating func next(at now: Duration) throws -> (text: String, wakeAt: Duration?) {
        // https://i3wm.org/docs/i3bar-protocol.html: an endless array.
        let header = format != .i3bar || hasBegun || isOnly ? "" : "{\"version\":1}\n[\n"
        let (line, wakeAt) = nextLine(at: now)
        return (header + (try line.map { try format.text(of: $0, isOnly: isOnly) } ?? ""), wakeAt)
    }

    /// The next line to write, if it is time for one, and when to ask again.
    mutating func nextLine(at now: Duration) -> (line: PanelLine?, wakeAt: Duration?) {
        hasBegun = true
        if let end = outcome?.end, end <= now { (outcome, isOutdated) = (nil, true) }
        guard isOutdated else { return (nil, outcome?.end) }
        if let written, !isUrgent, now < written.time + Self.interval { return (nil, written.time + Self.interval) }
        (isOutdated, isUrgent) = (false, false)
        let line = line
        guard line != written?.line else { return (nil, outcome?.end) }
        written = (line, now)
        return (line, outcome?.end)
    }

    /// The line as it is now.
    var line: PanelLine {
        // What the user is asked comes first: panels truncate long lines.
        let all = shown.values.sorted {
            ($0.state.attention == nil ? 1 : 0, $0.number) < ($1.state.attention == nil ? 1 : 0, $1.number)
        }
        let first = all.prefix(Self.limit)
        let rest = all.count > first.count ? ["\(all.count - first.count) more"] : []
        let outcome = outcome.flatMap { $0.line.kind == .failed || all.isEmpty ? $0.line : nil }
        var line = PanelLine()
        line.kind = all.first?.state.attention != nil ? .attention : outcome?.kind ?? (all.isEmpty ? .idle : .active)
        let texts = first.map { Self.text(of: $0.snapshot, title: $0.source.title, limit: 60) }
        line.text = (texts + rest + [outcome?.text].compactMap(\.self)).joined(separator: " · ")
        let tooltips = first.flatMap(Self.tooltip) + rest + [outcome?.tooltip].compactMap(\.self)
        line.tooltip = tooltips.joined(separator: "\n")
        let known = all.compactMap(\.state.progress)
        line.percentage = known.isEmpty ? nil : Percentage(known.reduce(0, +) / Double(known.count))?.value
        return line
    }

    private static let format =
        SnapshotFormat(pieces: [.placeholder(.app), .literal(": ")] + SnapshotFormat.standard.pieces)

    private static func text(of snapshot: IndicatorSnapshot, title: String, limit: Int) -> String {
        format.text(for: snapshot, applicationName: title, valueLimit: limit)
    }

    private static func tooltip(of indicator: Shown) -> [String] {
        let (snapshot, title) = (indicator.snapshot, indicator.source.title)
        guard snapshot.activities.count > 1 else { return [text(of: snapshot, title: title, limit: 200)] }
        var lines = snapshot.activities.map { activity in
            var single = snapshot
            (single.activities, single.activityCount) = ([activity], 1)
            return text(of: single, title: title, limit: 200)
        }
        let rest = snapshot.activityCount - lines.count
        if rest > 0 { lines.append("\(title): \(rest) more") }
        return lines
    }
}

/// A value of `watch --format`: the syntax of a panel, or the table of all indicators.
enum WatchFormat: String, CaseIterable, ExpressibleByArgument {
    case waybar, i3bar, polybar, tmux, text, table

    /// A line, with its line break.
    ///
    /// - Parameter isOnly: whether no other one follows.
    func text(of line: PanelLine, isOnly: Bool = false) throws -> String {
        switch self {
        case .text, .table: line.text + "\n"
        // tmux(1), "FORMATS": also the output of a command is a format.
        case .tmux: line.text.replacing("#", with: "##") + "\n"
        // Begins a tag, and cannot be escaped (src/tags/parser.cpp).
        case .polybar: line.text.replacing("%{", with: "% {") + "\n"
        case .i3bar:
            try JSONLine.text(of: [I3Block(full_text: line.text, urgent: [.attention, .failed].contains(line.kind))])
                + (isOnly ? "\n" : ",\n")
        case .waybar: try JSONLine.text(of: WaybarLine(line)) + "\n"
        }
    }

    private struct I3Block: Encodable {
        let name = "indicator"
        var full_text: String
        var urgent: Bool
    }

    /// waybar-custom(5). The texts are Pango markup.
    private struct WaybarLine: Encodable {
        var text, tooltip: String
        var alt, `class`: PanelLine.Kind
        var percentage: Int?

        init(_ line: PanelLine) {
            (text, tooltip) = (SafeText.markup(line.text), SafeText.markup(line.tooltip))
            (alt, `class`, percentage) = (line.kind, line.kind, line.percentage)
        }
    }
}
