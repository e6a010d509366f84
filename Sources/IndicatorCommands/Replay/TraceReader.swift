package import Foundation
import IndicatorBackends
package import IndicatorCore
import IndicatorTesting
import JSONScanning

/// Receives the contents of a trace in order.
package protocol TraceConsumer {
    /// Begins the trace with the delays of the file. Called once.
    mutating func begin(delays: TraceDelays) throws
    /// Applies an event.
    mutating func apply(_ event: TraceEvent) throws
    /// Writes buffered output: all available input was read, but more may follow.
    mutating func flush() throws
    /// Begins a log instead. Its activities follow, then when the indicator was shown and hidden.
    ///
    /// - Parameter origin: the wall-clock time of the trace's time 0.
    mutating func beginLog(origin: Date) throws
    /// The indicator was shown or hidden according to a log.
    mutating func note(_ change: VisibilityChange)
}

/// Reads a trace in either form: JSON Lines with one event per line, or an object with delays and a list of events; or
/// the log of the backend `logFile`.
///
/// Lines are processed as they arrive, in constant memory. An object and a log are held in memory.
package struct TraceReader {
    /// The maximum length of a line in bytes.
    package static let longestLine = 1 << 20
    /// The maximum size of an object in bytes.
    package static let largestObject = 256 << 20

    private let input: TraceInput

    /// Opens a trace; `-` is standard input.
    package init(path: String) throws(TraceError) {
        input = try TraceInput(path: path)
    }

    /// Reads the trace to its end.
    ///
    /// - Throws: ``TraceError`` with the number of the invalid line, or the error of the consumer.
    package func read(into consumer: inout some TraceConsumer) throws {
        try skipByteOrderMark()
        if try isLog() {
            try readLog(into: &consumer)
        } else if try isObject() {
            try readObject(into: &consumer)
        } else {
            try consumer.begin(delays: TraceDelays())
            try readLines(into: &consumer)
        }
    }

    private func skipByteOrderMark() throws(TraceError) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        while input.bytes.count < mark.count, mark.starts(with: input.bytes) {
            guard try input.fill(limit: Self.longestLine) else { return }
        }
        if input.bytes.starts(with: mark) { input.consume(mark.count) }
    }

    /// Whether the trace is an object: its first line is only a brace, or its first key is nearly a ``TraceObjectKey``.
    private func isObject() throws(TraceError) -> Bool {
        while true {
            if let answer = Self.isObject(input.bytes) { return answer }
            guard try input.fill(limit: Self.longestLine) else { return false }
        }
    }

    /// `nil` when more bytes are needed.
    private static func isObject(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool? {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
        guard let brace = bytes.firstIndex(where: { !isSpace($0) }) else { return nil }
        guard bytes[brace] == UInt8(ascii: "{") else { return false }
        let rest = bytes[(brace + 1)...]
        guard let quote = rest.firstIndex(where: { !isSpace($0) }) else { return nil }
        if rest[..<quote].contains(0x0A) { return true }
        guard rest[quote] == UInt8(ascii: "\"") else { return false }
        guard let base = bytes.baseAddress else { return nil }
        var scanner = JSONScanner(base, count: bytes.count)
        _ = scanner.skip(UInt8(ascii: "{"))
        guard let key = try? scanner.string() else { return nil }
        guard let text = try? scanner.text(of: key) else { return false }
        // 'event' is nearly 'events'.
        if TraceEvent.keys.contains(text) { return false }
        return TraceObjectKey(rawValue: text) != nil
            || NearestName.find(for: text, among: TraceObjectKey.suggested) != nil
    }

    /// Whether the file begins as a line of a log in JSON does.
    private func isLog() throws(TraceError) -> Bool {
        let start = Array(#"{"time":""#.utf8)
        while input.bytes.count < start.count, input.bytes.elementsEqual(start.prefix(input.bytes.count)) {
            guard try input.fill(limit: Self.longestLine) else { return false }
        }
        return input.bytes.starts(with: start)
    }

    /// What a replay needs of a line of a log: when a process showed or hid its indicator, and the end of an activity.
    private struct LogLine: Decodable {
        var time: String
        var event: String
        var label: String?
        var seconds: Double?
        var app: String?
        var pid: Int?
    }

    /// Reads the activities that have ended, and when the indicator was shown: nothing is computed, since the delays of
    /// the log's processes are not known.
    private func readLog(into consumer: inout some TraceConsumer) throws {
        while try input.fill(limit: Self.largestObject) {}
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let texts = input.bytes.split(separator: 0x0A)
        let lines = try texts.enumerated().compactMap { index, text -> (time: Date, line: LogLine)? in
            if let line = try? JSONDecoder().decode(LogLine.self, from: Data(text)),
                let time = try? style.parse(line.time)
            {
                return (time, line)
            }
            // The last one may be incomplete: a full disk, a copy of a file that grows.
            if index > 0, index == texts.count - 1 { return nil }
            throw error("not a line of a log: expected JSON with 'time' and 'event'", line: index + 1)
        }
        input.consume(input.bytes.count)
        let hasSeveralApps = Set(lines.compactMap(\.line.app)).count > 1
        func text(_ label: String, _ app: String?) -> String { hasSeveralApps ? "\(app ?? "?"): \(label)" : label }
        let ended = lines.compactMap { time, line -> (start: Date, end: Date, label: String)? in
            guard line.event == "finished", let label = line.label, let seconds = line.seconds else { return nil }
            return (time - seconds, time, text(label, line.app))
        }.sorted { $0.start < $1.start }
        let (shown, inProgress) = Self.shown(in: lines)
        let origin = [ended.first?.start, lines.first?.time].compactMap(\.self).min() ?? .distantPast
        try consumer.beginLog(origin: origin)

        func milliseconds(_ date: Date) -> Int { Int((date.timeIntervalSince(origin) * 1000).rounded()) }
        var events: [TraceEvent] = []
        // Several activities may have the same label at once.
        var ends: [String: Date] = [:]
        for (index, span) in ended.enumerated() {
            let isOnly = ends[span.label].map { $0 <= span.start } ?? true
            let id = isOnly ? span.label : "\(span.label) (\(index + 1))"
            ends[span.label] = max(ends[span.label] ?? span.end, span.end)
            events.append(TraceEvent(milliseconds: milliseconds(span.start), event: .start(id: id)))
            events.append(TraceEvent(milliseconds: milliseconds(span.end), event: .stop(id: id)))
        }
        events += inProgress.map {
            TraceEvent(milliseconds: milliseconds($0.time), event: .start(id: text($0.label, $0.app)))
        }
        for event in events.sorted(by: { $0.milliseconds < $1.milliseconds }) { try consumer.apply(event) }

        // Shown while any process shows it.
        var current: (start: Date, end: Date?)?
        func report() {
            guard let current else { return }
            consumer.note(VisibilityChange(isVisible: true, instant: .milliseconds(milliseconds(current.start))))
            guard let end = current.end else { return }
            consumer.note(VisibilityChange(isVisible: false, instant: .milliseconds(milliseconds(end))))
        }
        for span in shown.sorted(by: { $0.start < $1.start }) {
            guard let (start, end) = current, span.start <= end ?? span.start else {
                report()
                current = span
                continue
            }
            current = (start, end.flatMap { end in span.end.map { max(end, $0) } })
        }
        report()
        try consumer.flush()
    }

    /// When each process showed its indicator, without an end if it still does, and the labels of those.
    private static func shown(
        in lines: [(time: Date, line: LogLine)]
    ) -> (spans: [(start: Date, end: Date?)], inProgress: [(time: Date, label: String, app: String?)]) {
        var spans: [(start: Date, end: Date?)] = []
        var open: [Int?: (start: Date, latest: Date, line: LogLine)] = [:]
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
        var inProgress: [(time: Date, label: String, app: String?)] = []
        for (pid, span) in open {
            // A process that was killed has shown it at least until its last line.
            let isRunning = pid.map { kill(pid_t(truncatingIfNeeded: $0), 0) == 0 || errno != ESRCH } ?? false
            spans.append((span.start, isRunning ? nil : span.latest))
            if isRunning, let label = span.line.label { inProgress.append((span.start, label, span.line.app)) }
        }
        return (spans, inProgress)
    }

    private func readLines(into consumer: inout some TraceConsumer) throws {
        var number = 0
        var latest = 0
        var isAtEnd = false
        while !isAtEnd || !input.bytes.isEmpty {
            let bytes = input.bytes
            var length = bytes.count
            if let base = bytes.baseAddress, let newline = memchr(base, 0x0A, length) {
                length = UnsafeRawPointer(base).distance(to: UnsafeRawPointer(newline)) + 1
            } else if !isAtEnd {
                try consumer.flush()
                isAtEnd = try !input.fill(limit: Self.longestLine)
                if isAtEnd, input.bytes.count == Self.longestLine {
                    throw error("the line is longer than \(Self.longestLine) bytes", line: number + 1)
                }
                continue
            }
            number += 1
            if let base = bytes.baseAddress, let event = try event(in: base, count: length, line: number, after: latest)
            {
                latest = event.milliseconds
                try consumer.apply(event)
            }
            input.consume(length)
        }
        try consumer.flush()
    }

    /// The event in a line; `nil` when the line is blank.
    private func event(
        in base: UnsafePointer<UInt8>,
        count: Int,
        line: Int,
        after latest: Int
    ) throws(TraceError) -> TraceEvent? {
        do throws(JSONProblem) {
            var scanner = JSONScanner(base, count: count)
            guard !scanner.isAtEnd() else { return nil }
            let event = try scanner.traceEvent(after: latest)
            guard scanner.isAtEnd() else {
                throw scanner.problem("expected the end of the line, found \(scanner.found)")
            }
            return event
        } catch {
            throw self.error(message(of: error, in: UnsafeBufferPointer(start: base, count: count)), line: line)
        }
    }

    private func readObject(into consumer: inout some TraceConsumer) throws {
        while try input.fill(limit: Self.largestObject) {}
        let bytes = input.bytes
        guard bytes.count < Self.largestObject, let base = bytes.baseAddress else {
            throw TraceError(
                file: input.name,
                message: "is larger than \(Self.largestObject >> 20) MiB; use JSON Lines with one event per line"
            )
        }
        do {
            var scanner = JSONScanner(base, count: bytes.count)
            let delays = try scanner.traceObject()
            try consumer.begin(delays: delays)
            scanner = JSONScanner(base, count: bytes.count)
            try scanner.forEachEvent { try consumer.apply($0) }
        } catch let problem as JSONProblem {
            let line = 1 + bytes.prefix(problem.offset).count { $0 == 0x0A }
            throw error(message(of: problem, in: bytes), line: line)
        }
        try consumer.flush()
    }

    private func error(_ message: String, line: Int) -> TraceError {
        TraceError(file: input.name, line: line, message: message)
    }

    /// The message of a problem. Invalid UTF-8 comes first, because it explains all other problems.
    private func message(of problem: JSONProblem, in bytes: UnsafeBufferPointer<UInt8>) -> String {
        if String(validating: bytes, as: UTF8.self) == nil { return "not valid UTF-8" }
        let isTextLog = bytes.starts(with: Array("20".utf8)) && bytes.prefix(11).last == UInt8(ascii: "T")
        return isTextLog ? "a line of a log in text; only logs with 'format: json' can be replayed" : problem.message
    }
}

/// An error in a trace, or while reading it.
package struct TraceError: Error, Hashable, CustomStringConvertible {
    /// The file, as the user named it, or `standard input`.
    package var file: String
    /// The line, from 1; `nil` for an error of the whole file.
    package var line: Int?
    /// What is wrong, and what was expected.
    package var message: String

    package var description: String {
        "\(file):\(line.map { "\($0):" } ?? "") error: \(message)"
    }
}
