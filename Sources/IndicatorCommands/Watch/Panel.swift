#if DBus
import IndicatorBackends
import IndicatorCore

/// All indicators on a bus in one line, as a panel shows it.
struct PanelLine: Sendable, Hashable {
    /// What a panel may highlight; waybar's `class`.
    enum Kind: String, Sendable, Hashable, Encodable {
        /// No indicator is shown.
        case idle
        case active
        /// An app waits for the user.
        case attention
        /// Work has ended, within the last seconds.
        case succeeded
        case failed
    }

    var kind = Kind.idle
    /// Empty if there is nothing to show.
    var text = ""
    /// A line for each activity.
    var tooltip = ""
    /// How much is done, on average of the apps that know.
    var percentage: Int?
}

/// Follows the indicators on a bus, and decides when a panel gets a new line: at once when an indicator is hidden,
/// otherwise at most ten times a second, and never the same line twice.
struct Panel: Sendable {
    /// How long the outcome of an activity is shown.
    static let outcomeTime: Duration = .seconds(5)
    /// The shortest success that is shown. Failures always are.
    static let shortestSuccess = 1.0
    /// The shortest time between two lines.
    static let interval: Duration = .milliseconds(100)

    private struct Outcome {
        var text: String
        var tooltip: String
        var isFailure: Bool
        var end: Duration
    }

    private struct Written {
        var line: PanelLine
        /// The indicators that it shows.
        var names: Set<String>
        var time: Duration
    }

    /// In the order in which they appeared.
    private var indicators: [WatchedIndicator] = []
    /// Whether those that existed at the beginning are known.
    private var isListed = false
    private var outcome: Outcome?
    private var written: Written?

    /// Takes an event of the watcher.
    mutating func receive(_ event: IndicatorWatcher.Event, at now: Duration) {
        if event == .listed { isListed = true }
        guard let indicator = WatchedIndicator(event) else { return }
        let index = indicators.firstIndex { $0.name == indicator.name }
        switch indicator.event {
        case .vanished: index.map { _ = indicators.remove(at: $0) }
        case .appeared, .changed:
            if let index { indicators[index] = indicator } else { indicators.append(indicator) }
        case .finished:
            guard let activity = indicator.finished, let index else { return }
            let isFailure = activity.outcome == "failed"
            guard isFailure || activity.outcome != "cancelled" && activity.seconds >= Self.shortestSuccess else {
                return
            }
            let message = activity.message.isEmpty ? "" : ": \(SafeText.singleLine(activity.message, limit: 60))"
            let label = SafeText.singleLine(activity.label, limit: 60)
            let text = "\(indicators[index].application): \(label) \(isFailure ? "failed" : "done")"
            outcome = Outcome(
                text: text + message,
                tooltip: "\(text) after \(activity.duration)\(message)",
                isFailure: isFailure,
                end: now + Self.outcomeTime
            )
        }
    }

    /// The next line to write, if it is time for one, and when to ask again.
    mutating func next(at now: Duration) -> (line: PanelLine?, wakeAt: Duration?) {
        guard isListed else { return (nil, nil) }
        if let end = outcome?.end, end <= now { outcome = nil }
        let shown = indicators.filter(\.isVisible)
        let line = line(of: shown)
        if let written, line != written.line, written.names.isSubset(of: shown.map(\.name)),
            now < written.time + Self.interval
        {
            return (nil, written.time + Self.interval)
        }
        let isNew = line != written?.line
        if isNew { written = Written(line: line, names: Set(shown.map(\.name)), time: now) }
        return (isNew ? line : nil, outcome?.end)
    }

    private func line(of shown: [WatchedIndicator]) -> PanelLine {
        // What the user is asked comes first: panels truncate long lines.
        let shown = shown.filter { $0.attention != nil } + shown.filter { $0.attention == nil }
        let outcome = outcome.flatMap { $0.isFailure || shown.isEmpty ? $0 : nil }
        var line = PanelLine()
        line.kind =
            if shown.first?.attention != nil {
                .attention
            } else if let outcome {
                outcome.isFailure ? .failed : .succeeded
            } else {
                shown.isEmpty ? .idle : .active
            }
        let texts = shown.map { Self.text(of: $0.snapshot, application: $0.application, limit: 60) }
        line.text = (texts + [outcome?.text].compactMap(\.self)).joined(separator: " · ")
        line.tooltip = (shown.flatMap(Self.tooltip) + [outcome?.tooltip].compactMap(\.self)).joined(separator: "\n")
        let known = shown.compactMap(\.progress)
        line.percentage = known.isEmpty ? nil : Percentage(known.reduce(0, +) / Double(known.count))?.value
        return line
    }

    private static let format = SnapshotFormat(pieces: [
        .placeholder(.app), .literal(": "), .placeholder(.label), .literal(" "), .placeholder(.progress),
        .literal(" ("), .placeholder(.count), .literal(")"),
    ])

    private static func text(of snapshot: IndicatorSnapshot, application: String, limit: Int) -> String {
        format.text(for: snapshot, applicationName: application, valueLimit: limit)
    }

    private static func tooltip(of indicator: WatchedIndicator) -> [String] {
        let snapshot = indicator.snapshot
        guard snapshot.activities.count > 1 else {
            return [text(of: snapshot, application: indicator.application, limit: 200)]
        }
        var lines = snapshot.activities.map { activity in
            var single = snapshot
            (single.activities, single.activityCount) = ([activity], 1)
            return text(of: single, application: indicator.application, limit: 200)
        }
        let rest = snapshot.activityCount - lines.count
        if rest > 0 { lines.append("\(indicator.application): \(rest) more") }
        return lines
    }
}

/// The syntax of a panel; a value of `watch --format`.
enum PanelFormat: String, CaseIterable {
    /// Plain text.
    case text
    case tmux
    case polybar
    case i3bar
    case waybar

    /// What comes before the first line.
    var header: String {
        // https://i3wm.org/docs/i3bar-protocol.html: an endless array.
        self == .i3bar ? "{\"version\":1}\n[\n" : ""
    }

    /// A line, with its line break.
    ///
    /// - Parameter isOnly: whether no other one follows.
    func text(of line: PanelLine, isOnly: Bool = false) throws -> String {
        switch self {
        case .text: line.text + "\n"
        // tmux(1), "FORMATS": also the output of a command is a format.
        case .tmux: line.text.replacing("#", with: "##") + "\n"
        // Begins a tag, and cannot be escaped (src/tags/parser.cpp).
        case .polybar: line.text.replacing("%{", with: "% {") + "\n"
        case .i3bar: try JSONLine.text(of: [I3Block(line)]) + (isOnly ? "\n" : ",\n")
        case .waybar: try JSONLine.text(of: WaybarLine(line)) + "\n"
        }
    }

    private struct I3Block: Encodable {
        var name = "indicator"
        var full_text: String
        var urgent: Bool

        init(_ line: PanelLine) {
            full_text = line.text
            urgent = line.kind == .attention || line.kind == .failed
        }
    }

    /// waybar-custom(5). The texts are Pango markup.
    private struct WaybarLine: Encodable {
        var text: String
        var alt: PanelLine.Kind
        var tooltip: String
        var `class`: PanelLine.Kind
        var percentage: Int?

        init(_ line: PanelLine) {
            (text, tooltip) = (Self.escaped(line.text), Self.escaped(line.tooltip))
            (alt, `class`) = (line.kind, line.kind)
            percentage = line.percentage
        }

        private static func escaped(_ text: String) -> String {
            let entities: [Character: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&apos;", "\"": "&quot;"]
            return text.map { entities[$0] ?? String($0) }.joined()
        }
    }
}
#endif
