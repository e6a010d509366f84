import Foundation
import IndicatorBackends
import IndicatorCore

extension Replay {
    /// A log of the backend `logFile`, in JSON.
    struct Log {
        /// What a replay needs of a line: when a process showed or hid its indicator, and the end of an activity.
        struct Line: Decodable {
            var time: String
            var event: String
            var label: String?
            var seconds: Double?
            var app: String?
            var pid: Int?
        }

        var lines: [(time: Date, line: Log.Line)] = []
        var unreadableLines: [Int] = []

        /// `nil` if the first line is not one of a log.
        init?(_ data: Data) {
            let (decoder, style) = (JSONDecoder(), Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            for (index, text) in data.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
                if text.isEmpty { continue }
                let line = try? decoder.decode(Line.self, from: text)
                let time = line.flatMap { try? style.parse($0.time) }
                if time == nil, lines.isEmpty, unreadableLines.isEmpty { return nil }
                if let line, let time, (0...3e9).contains(line.seconds ?? 0) {
                    lines.append((time, line))
                } else {
                    // An incomplete one: after a full disk or a loss of power, in a copy of a file that grows.
                    unreadableLines.append(index + 1)
                }
            }
            if lines.isEmpty, unreadableLines.isEmpty { return nil }
        }
    }

    private typealias Span = (start: Date, end: Date?)
    private typealias Activity = (start: Date, end: Date?, label: String)

    /// Reads the activities that have ended, and when the indicator was shown. Nothing is computed, since the delays of
    /// the log's processes are not known.
    init(_ log: Log) {
        let lines = log.lines
        let hasSeveralApps = Set(lines.compactMap(\.line.app)).count > 1
        func label(_ line: Log.Line) -> String? {
            line.label.map { hasSeveralApps ? "\(line.app ?? "?"): \($0)" : $0 }
        }
        let ended = lines.compactMap { time, line -> Activity? in
            guard line.event == "finished", let label = label(line), let seconds = line.seconds else { return nil }
            return (time - seconds, time, label)
        }.sorted { $0.start < $1.start }
        let (shown, running) = Self.shown(in: lines)
        let inProgress = running.compactMap { time, line in label(line).map { (time, nil, $0) as Activity } }
        let origin = [ended.first?.start, lines.first?.time].compactMap(\.self).min() ?? .distantPast
        func time(_ date: Date) -> Duration {
            .milliseconds(Int((date.timeIntervalSince(origin) * 1000).rounded()))
        }
        var steps: [Step] = []
        // Several activities may have the same label at once.
        var ends: [String: Date] = [:]
        for (index, (start, end, label)) in (ended + inProgress).enumerated() {
            let isOnly = end == nil || ends[label].map { $0 <= start } ?? true
            let id = isOnly ? label : "\(label) (\(index + 1))"
            steps.append(Step(time: time(start), id: id, growth: 1))
            guard let end else { continue }
            ends[label] = max(ends[label] ?? end, end)
            steps.append(Step(time: time(end), id: id, growth: -1))
        }
        // Of all processes: shown as long as any of them shows its indicator.
        let edges = shown.flatMap { start, end in [(time: start, growth: 1)] + (end.map { [($0, -1)] } ?? []) }
            .sorted { ($0.time, $1.growth) < ($1.time, $0.growth) }
        var (count, changes): (Int, [VisibilityChange]) = (0, [])
        for edge in edges {
            if count == max(0, -edge.growth) {
                changes.append(VisibilityChange(isVisible: edge.growth > 0, instant: time(edge.time)))
            }
            count += edge.growth
        }
        self.init(
            steps: steps.sorted { $0.time < $1.time },
            changes: changes,
            origin: origin,
            unreadableLines: log.unreadableLines
        )
    }

    /// When each process showed its indicator, without an end if it still does, and what those began with.
    private static func shown(
        in lines: [(time: Date, line: Log.Line)]
    ) -> (spans: [Span], running: [(time: Date, line: Log.Line)]) {
        var spans: [Span] = []
        var open: [Int?: (start: Date, latest: Date, line: Log.Line)] = [:]
        for (time, line) in lines {
            if line.event == "shown" {
                // Another process with the same number, as in a container.
                if let earlier = open[line.pid] { spans.append((earlier.start, earlier.latest)) }
                open[line.pid] = (time, time, line)
            }
            open[line.pid]?.latest = time
            if line.event == "hidden", let span = open.removeValue(forKey: line.pid) {
                spans.append((span.start, time))
            }
        }
        var running: [(time: Date, line: Log.Line)] = []
        for (pid, span) in open {
            // A process that was killed has shown it at least until its last line.
            let isRunning = pid.map { kill(pid_t(truncatingIfNeeded: $0), 0) == 0 || errno != ESRCH } ?? false
            spans.append((span.start, isRunning ? nil : span.latest))
            if isRunning { running.append((span.start, span.line)) }
        }
        return (spans, running)
    }
}
