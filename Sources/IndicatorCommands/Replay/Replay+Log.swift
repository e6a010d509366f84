import Foundation
import IndicatorBackends
import IndicatorCore
import JSONScanning

extension Replay {
    /// A log of the backend `logFile`, in JSON.
    struct Log {
        /// What a replay needs of a line: when a process showed or hid its indicator, and the end of an activity.
        struct Line {
            var time: Date
            var event: String
            var label: String?
            var seconds: Double?
            var outcome = ActivityOutcome.unspecified
            var app: String?
            var pid: Int?
        }

        var lines: [Line] = []
        var unreadableLines: [Int] = []

        /// `nil` if the first line is not one of a log.
        init?(_ data: Data) {
            let isLog = Array(data).withUnsafeBufferPointer { bytes in
                var object = FlatObject()
                var number = 0
                for text in JSONLines(bytes) {
                    number += 1
                    if text.isEmpty { continue }
                    let line = (try? object.read(text)) == true ? try? Line(object) : nil
                    if let line {
                        lines.append(line)
                    } else if lines.isEmpty, unreadableLines.isEmpty, (try? object.text("time")) ?? nil == nil {
                        return false
                    } else {
                        // An incomplete one: after a full disk or a loss of power, in a copy of a file that grows.
                        unreadableLines.append(number)
                    }
                }
                return !lines.isEmpty || !unreadableLines.isEmpty
            }
            if !isLog { return nil }
        }
    }

    private typealias Activity = (start: Date, end: Date, label: String, outcome: ActivityOutcome)

    /// Reads the activities that have ended, and when the indicator was shown. Nothing is computed, since the delays of
    /// the log's processes are not known.
    init(_ log: Log) {
        let lines = log.lines
        let hasSeveralApps = Set(lines.compactMap(\.app)).count > 1
        func label(_ line: Log.Line) -> String? {
            line.label.map { hasSeveralApps ? "\(line.app ?? "?"): \($0)" : $0 }
        }
        let ended = lines.compactMap { line -> Activity? in
            guard line.event == "finished", let label = label(line), let seconds = line.seconds else { return nil }
            return (line.time - seconds, line.time, label, line.outcome)
        }.sorted { $0.start < $1.start }
        let origin = [ended.first?.start, lines.first?.time].compactMap(\.self).min() ?? .distantPast
        func time(_ date: Date) -> Duration {
            .milliseconds(Int((date.timeIntervalSince(origin) * 1000).rounded()))
        }
        let steps = ended.flatMap { start, end, label, outcome in
            [
                Step(time: time(start), id: label, growth: 1),
                Step(time: time(end), id: label, growth: -1, outcome: outcome),
            ]
        }
        // Of all processes: shown as long as any of them shows its indicator.
        let edges = Self.shown(in: lines).flatMap { [(time: $0.start, growth: 1), (time: $0.end, growth: -1)] }
            .sorted { ($0.time, $1.growth) < ($1.time, $0.growth) }
        var (count, changes): (Int, [VisibilityChange]) = (0, [])
        for edge in edges {
            if count == max(0, -edge.growth) {
                changes.append(VisibilityChange(isVisible: edge.growth > 0, instant: time(edge.time)))
            }
            count += edge.growth
        }
        (self.steps, self.changes) = (steps.sorted { $0.time < $1.time }, changes)
        (self.origin, unreadableLines) = (origin, log.unreadableLines)
    }

    /// When each process showed its indicator. One that was killed, or is running, at least until its last line.
    private static func shown(in lines: [Log.Line]) -> [(start: Date, end: Date)] {
        var spans: [(start: Date, end: Date)] = []
        var open: [Int?: (start: Date, end: Date)] = [:]
        for line in lines {
            if line.event == "shown" {
                // Another process with the same number, as in a container.
                if let earlier = open[line.pid] { spans.append(earlier) }
                open[line.pid] = (line.time, line.time)
            }
            open[line.pid]?.end = line.time
            if line.event == "hidden", let span = open.removeValue(forKey: line.pid) { spans.append(span) }
        }
        return spans + open.values
    }
}

extension Replay.Log.Line {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    fileprivate init(_ object: FlatObject) throws {
        guard let time = try object.text("time"), let event = try object.text("event") else {
            throw TraceError("'time' or 'event' is missing")
        }
        self.time = try Self.style.parse(time)
        self.event = event
        (label, app) = (try object.text("label"), try object.text("app"))
        switch try object.text("outcome") {
        case "succeeded": outcome = .succeeded
        case "failed": outcome = .failed(try object.text("message") ?? "")
        case "cancelled": outcome = .cancelled
        default: break
        }
        (seconds, pid) = (try object.number("seconds"), try object.number("pid").flatMap { Int(exactly: $0) })
        guard (0...3e9).contains(seconds ?? 0) else { throw TraceError("'seconds' is no duration") }
    }
}
