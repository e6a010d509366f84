import IndicatorBackends
import IndicatorCore

/// Prints what is reported.
protocol WatchDisplay: Sendable {
    /// The size of the terminal; unknown elsewhere.
    var size: TerminalDevice.Size { get set }

    mutating func receive(_ event: WatchEvent, at now: Duration)

    /// What to print now, and when to ask again even if nothing is reported until then.
    mutating func next(at now: Duration) throws -> (text: String, wakeAt: Duration?)
}

/// A line for each event.
struct WatchLines: WatchDisplay {
    /// How many events that the output has not taken are kept as they are. Of each indicator, there are then one more
    /// state and one more end.
    static let limit = 1000

    let isJSON: Bool
    var size = TerminalDevice.Size()
    private var pending: [WatchEvent] = []
    /// Where these are, by the name of the indicator, and whether it is an end.
    private var latest: [Bool: [String: Int]] = [:]
    /// The last line of each indicator: it is unchanged after a change of what is not printed.
    private var lines: [String: String] = [:]

    init(isJSON: Bool) { self.isJSON = isJSON }

    mutating func receive(_ event: WatchEvent, at now: Duration) {
        let (name, isEnd) = (event.source.name, event.event == .finished)
        guard pending.count >= Self.limit, let index = latest[isEnd]?[name] else {
            if pending.count >= Self.limit { latest[isEnd, default: [:]][name] = pending.count }
            return pending.append(event)
        }
        var merged = event
        if isEnd {
            merged.omitted = [pending[index], event].reduce(0) { $0 + ($1.finished == nil ? 0 : 1) + ($1.omitted ?? 0) }
            merged.finished = nil
        } else if pending[index].event == .appeared, event.event == .changed {
            merged.event = .appeared
        }
        pending[index] = merged
    }

    mutating func next(at now: Duration) throws -> (text: String, wakeAt: Duration?) {
        latest = [:]
        var text = ""
        for event in exchange(&pending, with: []) {
            let line = try isJSON ? JSONLine.text(of: event) : event.text
            if !isJSON, event.event != .finished {
                guard lines.updateValue(line, forKey: event.source.name) != line else { continue }
                if event.event == .vanished { lines[event.source.name] = nil }
            }
            text += line + "\n"
        }
        return (text, nil)
    }
}

/// All indicators as they are now: once, in a table or one a line as JSON; or in a table that is kept up to date.
struct WatchTable: WatchDisplay {
    /// The shortest time between two tables.
    static let interval = Duration.seconds(1)

    let isJSON: Bool
    /// Whether there is only one.
    let isOnly: Bool
    /// A table replaces the one before on a terminal.
    var size = TerminalDevice.Size()
    /// Whether a window that becomes narrower wraps the lines that are in it.
    var wrapsAgain = KnownTerminal.wrapsAgain
    private var events: [String: WatchEvent] = [:]
    private var failedCount = 0
    private var isChanged = true
    private var writtenAt: Duration?
    /// The last table, and for which size it is.
    private var written: (lines: [String], size: TerminalDevice.Size) = ([], .init())

    init(isJSON: Bool = false, isOnly: Bool) { (self.isJSON, self.isOnly) = (isJSON, isOnly) }

    mutating func receive(_ event: WatchEvent, at now: Duration) {
        isChanged = true
        switch event.event {
        case .vanished: events[event.source.name] = nil
        case .finished: if event.finished?.outcome == "failed" { failedCount += 1 }
        default: events[event.source.name] = event
        }
    }

    mutating func next(at now: Duration) throws -> (text: String, wakeAt: Duration?) {
        if isOnly { return (isJSON ? try sorted.map { try JSONLine.text(of: $0) + "\n" }.joined() : table(), nil) }
        guard isChanged || size != written.size else { return ("", nil) }
        if size == written.size, let end = writtenAt.map({ $0 + Self.interval }), now < end { return ("", end) }
        (isChanged, writtenAt) = (false, now)
        guard size.isKnown else { return (table() + "\n", nil) }
        // Longer lines would wrap, and the next table would then not be drawn over the first one.
        let lines = table(rows: max(size.rows - 4, 1)).split(separator: "\n").map {
            SafeText.fitted(String($0), to: size.columns, ellipsis: "")
        }
        let rows = written.lines.reduce(0) {
            $0 + (wrapsAgain ? max(SafeText.columns(of: $1) - 1, 0) / size.columns : 0) + 1
        }
        written = (lines, size)
        // Up to its first line. Not all is cleared from there: tmux would keep it.
        if rows == 0 { return (lines.map { $0 + "\n" }.joined(), nil) }
        return ("\u{1B}[\(rows)F" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J", nil)
    }

    private var sorted: [WatchEvent] { events.values.sorted { $0.source.name < $1.source.name } }

    /// - Parameter rows: the number of indicators at most.
    func table(rows: Int = .max) -> String {
        let shown = sorted.prefix(rows)
        let hasHosts = shown.contains { $0.source.host != nil }
        let header = ["HOST", "APP", "INSTANCE", "STATE", "COUNT", "DONE", "LABEL"]
        let cells = shown.map { event in
            let (source, state) = (event.source, event.state)
            return [
                source.host ?? "", source.app, source.instance ?? "", Self.word(for: event),
                state?.count.map { String($0) } ?? "", Percentage(state?.progress)?.text() ?? "",
                event.problem ?? state?.label ?? "",
            ]
        }
        var lines = TextWidth.aligned(([header] + cells).map { hasHosts ? $0 : Array($0.dropFirst()) })
        if shown.count < events.count { lines.append("… and \(events.count - shown.count) more") }
        return (lines + [footer]).map { $0 + "\n" }.joined()
    }

    private static func word(for event: WatchEvent) -> String {
        if [.lost, .broken].contains(event.event) { return event.event.rawValue }
        return event.state?.visible == true ? "shown" : "hidden"
    }

    private var footer: String {
        let counts = Dictionary(events.values.map { (Self.word(for: $0), 1) }, uniquingKeysWith: +)
        // On a bus, none is lost.
        let parts = [("shown", 0), ("hidden", 0), ("lost", nil), ("broken", nil)].compactMap { word, least in
            (counts[word] ?? least).map { "\($0) \(word)" }
        }
        let known = events.values.filter { ![.lost, .broken].contains($0.event) }
        let activities = known.reduce(0) { $0 &+ ($1.state?.count ?? 0) }
        return "\(parts.joined(separator: ", ")); \(activities) in progress, \(failedCount) failed"
    }
}
