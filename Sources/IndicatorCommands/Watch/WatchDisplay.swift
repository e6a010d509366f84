import IndicatorBackends
import IndicatorCore

/// Prints what is reported.
protocol WatchDisplay {
    /// Whether to print nothing before all indicators that there are have been reported.
    static var waitsForList: Bool { get }

    mutating func receive(_ event: WatchEvent, at now: Duration) throws

    /// What to print now, and when to ask again even if nothing is reported until then.
    mutating func next(at now: Duration) throws -> (text: String, wakeAt: Duration?)

    /// What to print when the bus or the broker is lost.
    func farewell() throws -> String
}

extension WatchDisplay {
    static var waitsForList: Bool { true }

    func farewell() -> String { "" }
}

/// A line for each event.
struct WatchLines: WatchDisplay {
    static let waitsForList = false

    let isJSON: Bool
    private var pending = ""
    /// The last line of each indicator: it is unchanged after a change of what is not printed.
    private var lines: [String: String] = [:]

    init(isJSON: Bool) { self.isJSON = isJSON }

    mutating func receive(_ event: WatchEvent, at now: Duration) throws {
        let line = try isJSON ? event.json : event.text
        if !isJSON, event.event != .finished {
            guard lines.updateValue(line, forKey: event.source.name) != line else { return }
            if event.event == .vanished { lines[event.source.name] = nil }
        }
        pending += line + "\n"
    }

    mutating func next(at now: Duration) -> (text: String, wakeAt: Duration?) { (exchange(&pending, with: ""), nil) }
}

/// All indicators as they are now: once, in a table or one a line as JSON; or in a table that is kept up to date.
struct WatchTable: WatchDisplay {
    /// The shortest time between two tables.
    static let interval = Duration.seconds(1)

    let isJSON: Bool
    /// Whether there is only one.
    let isOnly: Bool
    /// The size of the terminal on which a table replaces the one before; unknown elsewhere.
    let size: () -> TerminalDevice.Size
    private var events: [String: WatchEvent] = [:]
    private var failedCount = 0
    private var isChanged = true
    private var writtenAt: Duration?
    /// The last table, and for which size it is.
    private var written: (lines: [String], size: TerminalDevice.Size) = ([], .init())

    init(isJSON: Bool = false, isOnly: Bool, size: @escaping () -> TerminalDevice.Size = { .init() }) {
        (self.isJSON, self.isOnly, self.size) = (isJSON, isOnly, size)
    }

    mutating func receive(_ event: WatchEvent, at now: Duration) {
        isChanged = true
        switch event.event {
        case .vanished: events[event.source.name] = nil
        case .finished: if event.finished?.outcome == "failed" { failedCount += 1 }
        default: events[event.source.name] = event
        }
    }

    mutating func next(at now: Duration) throws -> (text: String, wakeAt: Duration?) {
        if isOnly { return (isJSON ? try sorted.map { try $0.json + "\n" }.joined() : table(), nil) }
        let size = size()
        guard isChanged || size != written.size else { return ("", nil) }
        if size == written.size, let end = writtenAt.map({ $0 + Self.interval }), now < end { return ("", end) }
        (isChanged, writtenAt) = (false, now)
        guard size.isKnown else { return (table() + "\n", nil) }
        // Longer lines would wrap, and the next table would then not be drawn over the first one.
        let lines = table(rows: max(size.rows - 4, 1)).split(separator: "\n").map {
            SafeText.fitted(String($0), to: size.columns, ellipsis: "")
        }
        // A window that has become narrower has wrapped the lines of the last table.
        let rows = written.lines.reduce(0) { $0 + max(SafeText.columns(of: $1) - 1, 0) / size.columns + 1 }
        written = (lines, size)
        // Up to its first line, and clear the rest of the screen.
        return ((rows == 0 ? "" : "\u{1B}[\(rows)F\u{1B}[J") + lines.map { $0 + "\n" }.joined(), nil)
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
