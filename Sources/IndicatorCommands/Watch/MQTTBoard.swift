#if MQTT
import Foundation
import IndicatorBackends
import IndicatorThreads

/// All indicators on one or more brokers, as they are now, and how many activities have finished.
struct MQTTBoard: Sendable {
    private struct Key: Hashable {
        /// The number of the watcher.
        var source: Int
        var topic: MQTTTopic
    }

    private struct Group: Hashable {
        var host: String
        var app: String

        init(_ topic: MQTTTopic) { (host, app) = (topic.host, topic.app) }
    }

    private struct Entry {
        var report: MQTTReport?
        var isLost: Bool

        var state: String { isLost ? "lost" : report?.state ?? "lost" }
    }

    /// The maximum number of pairs of host and app whose finished activities are counted. Other clients choose them.
    private static let groupLimit = 20_000

    private var entries: [Key: Entry] = [:]
    private var finished: [Group: [String: Int]] = [:]

    mutating func receive(_ event: MQTTRoster.Event, from source: Int) {
        switch event {
        case .appeared(let topic, let report), .changed(let topic, let report):
            entries[Key(source: source, topic: topic)] = Entry(report: report, isLost: false)
        case .lost(let topic, let report):
            entries[Key(source: source, topic: topic)] = Entry(report: report, isLost: true)
        case .vanished(let topic): entries[Key(source: source, topic: topic)] = nil
        case .finished(let topic, let events):
            guard finished.count < Self.groupLimit || finished[Group(topic)] != nil else { return }
            for item in events.finished { finished[Group(topic), default: [:]][item.outcome, default: 0] += 1 }
        }
    }

    /// A line for each indicator, in alphabetical order.
    var lines: [MQTTWatchLine] {
        entries.sorted { $0.key.topic.state < $1.key.topic.state }.map { key, entry in
            if !entry.isLost, let report = entry.report { return MQTTWatchLine(.appeared(key.topic, report)) }
            return MQTTWatchLine(.lost(key.topic, entry.report))
        }
    }

    /// A table of all indicators.
    func table(width: Int) -> String {
        let rows = lines.map { line in
            [
                MQTTWatchLine.shown(line.host), MQTTWatchLine.shown(line.app), MQTTWatchLine.shown(line.instance),
                line.event == "lost" ? "lost" : line.state?.state ?? "", line.state?.count.map { String($0) } ?? "",
                line.progress ?? "", MQTTWatchLine.shown(line.state?.label ?? ""),
            ]
        }
        return Self.table([["HOST", "APP", "INSTANCE", "STATE", "COUNT", "DONE", "LABEL"]] + rows)
    }

    /// The numbers of all indicators, of those of each app, and of those of each host.
    var summary: String { summary(rows: .max) }

    /// - Parameter rows: the number of lines at most.
    func summary(rows: Int) -> String {
        let header = ["SHOWN", "HIDDEN", "LOST", "ACTIVITIES", "FAILED"]
        var lines = [["TOTAL"] + header, [""] + numbers { _ in true }]
        for (title, name) in [("APP", \Group.app), ("HOST", \Group.host)] {
            lines.append([title] + header)
            let groups = entries.keys.map { Group($0.topic) } + finished.keys
            let names = Dictionary(grouping: groups) { $0[keyPath: name] }.keys.sorted()
            let room = title == "APP" ? (rows - lines.count) / 2 : rows - lines.count - 1
            let shown = names.prefix(max(room, 1))
            let counted = numbers(by: name)
            lines += shown.map { [MQTTWatchLine.shown($0)] + (counted[$0] ?? header.map { _ in "0" }) }
            if shown.count < names.count { lines.append(["… and \(names.count - shown.count) more"]) }
        }
        return Self.table(lines)
    }

    private struct Numbers {
        var shown = 0
        var hidden = 0
        var lost = 0
        var activities = 0
        var failed = 0

        mutating func add(_ entry: Entry) {
            if entry.isLost {
                lost += 1
            } else {
                if entry.report?.visible == true { shown += 1 } else { hidden += 1 }
                activities = activities.addingReportingOverflow(entry.report?.count ?? 0).partialValue
            }
        }

        var texts: [String] { [shown, hidden, lost, activities, failed].map { String($0) } }
    }

    private func numbers(by name: KeyPath<Group, String>) -> [String: [String]] {
        var result: [String: Numbers] = [:]
        for (key, entry) in entries { result[Group(key.topic)[keyPath: name], default: Numbers()].add(entry) }
        for (group, outcomes) in finished {
            result[group[keyPath: name], default: Numbers()].failed += outcomes["failed"] ?? 0
        }
        return result.mapValues(\.texts)
    }

    private func numbers(_ isCounted: (Group) -> Bool) -> [String] {
        var sum = Numbers()
        for (key, entry) in entries where isCounted(Group(key.topic)) { sum.add(entry) }
        for (group, outcomes) in finished where isCounted(group) { sum.failed += outcomes["failed"] ?? 0 }
        return sum.texts
    }

    private static func table(_ rows: [[String]]) -> String {
        var widths: [Int] = []
        for row in rows {
            for (column, text) in row.enumerated() {
                let width = TextWidth.columns(of: text)
                if column == widths.count { widths.append(width) } else { widths[column] = max(widths[column], width) }
            }
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, text in
                let padding = column == row.count - 1 ? 0 : widths[column] - TextWidth.columns(of: text)
                return text + String(repeating: " ", count: padding)
            }
            return cells.joined(separator: "  ") + "\n"
        }.joined()
    }

    /// The metrics in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats).
    var metrics: String {
        var instances: [String: Int] = [:]
        var activities: [String: Int] = [:]
        for (key, entry) in entries {
            let labels = Self.labels(Group(key.topic))
            instances["\(labels),state=\"\(entry.state)\"", default: 0] += 1
            if !entry.isLost {
                let count = activities[labels, default: 0].addingReportingOverflow(entry.report?.count ?? 0)
                activities[labels] = count.partialValue
            }
        }
        var outcomes: [String: Int] = [:]
        for (group, numbers) in finished {
            for (outcome, number) in numbers { outcomes["\(Self.labels(group)),outcome=\"\(outcome)\""] = number }
        }
        return Self.metric("indicator_instances", "gauge", "Processes with an indicator, by state.", instances)
            + Self.metric("indicator_activities", "gauge", "Activities in progress.", activities)
            + Self.metric("indicator_finished_total", "counter", "Activities that ended while watched.", outcomes)
    }

    private static func labels(_ group: Group) -> String {
        "host=\"\(escaped(group.host))\",app=\"\(escaped(group.app))\""
    }

    private static func escaped(_ text: String) -> String {
        MQTTWatchLine.shown(text).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    private static func metric(_ name: String, _ type: String, _ help: String, _ values: [String: Int]) -> String {
        let lines = values.sorted { $0.key < $1.key }.map { "\(name){\($0.key)} \($0.value)\n" }
        return "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n" + lines.joined()
    }
}

/// The board that several watchers share.
final class MQTTSharedBoard: Sendable {
    private struct Printed {
        var time: ContinuousClock.Instant?
        var lineCount = 0
    }

    let state = Locked(MQTTBoard())
    private let printed = Locked(Printed())
    private let isPrinting = Locked(false)

    /// Prints the summary, in the place of the last one on a terminal, at most once a second.
    func printSummary(isLive: Bool) throws {
        let interval = Duration.seconds(1)
        // The last change in an interval is printed after it.
        let isDue = printed.withLock { printed in
            if let time = printed.time, .now < time + interval { return false }
            printed.time = .now
            return true
        }
        guard isDue else { return later(interval, isLive: isLive) }
        try printNow(isLive: isLive)
    }

    private func later(_ interval: Duration, isLive: Bool) {
        guard
            isPrinting.withLock({ isPrinting in
                defer { isPrinting = true }; return !isPrinting
            })
        else { return }
        let time = ServiceThread.now + interval.wholeNanoseconds
        _ = ServiceThread.shared.call(at: time) { [self] in
            isPrinting.withLock { $0 = false }
            try? printNow(isLive: isLive)
        }
    }

    private func printNow(isLive: Bool) throws {
        let board = state.withLock { $0 }
        guard isLive else { return try Output.standard.write(board.summary + "\n") }
        let rows = TerminalStyle.standardOutputRows
        let text = board.summary(rows: rows - 1)
        let count = text.count { $0 == "\n" }
        let old = printed.withLock { printed in
            defer { printed.lineCount = count }
            return printed.lineCount
        }
        // Up to the first line of the last summary, and clear the rest of the screen.
        try Output.standard.write((old == 0 ? "" : "\u{1B}[\(old)F\u{1B}[J") + text)
    }
}
#endif
