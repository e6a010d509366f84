import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

/// The content of a line of the log.
struct LogRecord: Sendable, Hashable {
    typealias Event = LogFileBackend.Event

    /// The activity of a line.
    enum Activity: Sendable, Hashable {
        case begun(label: String)
        case finished(FinishedActivity)
    }

    var time: LogTimestamp
    var event: Event
    var snapshot: IndicatorSnapshot
    /// The activity of ``Event/begin``, ``Event/end`` and ``Event/finished``.
    var activity: Activity?
    var processID: Int32
}

/// Lines that were never written, because they could not be written in time and the memory for waiting lines was full.
struct LogLoss: Sendable, Hashable {
    /// The number of lines.
    var count: Int
    /// The time of the first line.
    var first: LogTimestamp
    /// The time of the last line.
    var last: LogTimestamp
}

/// Formats records as lines.
///
/// A line has at most ``maximumLength`` bytes, regardless of the label. This is `PIPE_BUF`: up to this size, writes to
/// a FIFO are atomic, even without blocking (pipe(7)), so every line can be one `write(2)`.
struct LogLineFormatter: Sendable {
    /// The longest line in bytes, including its newline.
    static let maximumLength = 4096

    private static let maximumLabelLength = 3072
    private static let maximumApplicationLength = 512

    private let format: LogFileBackend.Format
    private let application: [UInt8]

    init(format: LogFileBackend.Format, applicationName: String) {
        self.format = format
        var application: [UInt8] = []
        if format == .text, !applicationName.isEmpty, applicationName.utf8.count <= 64,
            applicationName.utf8.allSatisfy(Self.needsNoQuotes)
        {
            application.append(contentsOf: applicationName.utf8)
        } else {
            application.appendQuoted(applicationName, limit: Self.maximumApplicationLength)
        }
        self.application = application
    }

    /// The line of an event, including the newline.
    func line(for record: LogRecord) -> [UInt8] {
        var fields: [(name: String, value: Value)] = []
        switch record.activity {
        case .begun(let label):
            fields = [("label", .text(label, limit: Self.maximumLabelLength))]
        case .finished(let finished):
            fields = [
                ("label", .text(finished.label, limit: Self.maximumLabelLength / 2)),
                ("outcome", .word(finished.outcome.name)),
                ("seconds", .number(Self.rounded(finished.duration / .seconds(1)))),
            ]
            if let message = finished.outcome.message {
                fields.append(("message", .text(message, limit: Self.maximumLabelLength / 2)))
            }
        case nil:
            let snapshot = record.snapshot
            fields = [
                ("state", .word(snapshot.state.rawValue)), ("visible", .number("\(snapshot.isVisible)")),
                ("count", .number("\(snapshot.activityCount)")),
            ]
            if let label = snapshot.label { fields.append(("label", .text(label, limit: Self.maximumLabelLength))) }
            if let progress = snapshot.progress, progress.isFinite {
                fields.append(("progress", .number(Self.rounded(progress))))
            }
        }
        // The label is last in the text format, because its length varies.
        if format == .text, let index = fields.firstIndex(where: { $0.name == "label" }) {
            fields.append(fields.remove(at: index))
        }
        return line(record.event.rawValue, at: record.time, fields, processID: record.processID)
    }

    /// The line that reports lost lines: how many, and the times of the last and the first.
    func line(for loss: LogLoss, processID: Int32) -> [UInt8] {
        let fields: [(String, Value)] = [("count", .number("\(loss.count)")), ("since", .time(loss.first))]
        return line("lost", at: loss.last, fields, processID: processID)
    }

    private enum Value {
        case word(String)
        case number(String)
        case text(String, limit: Int)
        case time(LogTimestamp)
    }

    private func line(
        _ event: String,
        at time: LogTimestamp,
        _ fields: [(name: String, value: Value)],
        processID: Int32
    ) -> [UInt8] {
        let isJSON = format == .json
        var line: [UInt8] = []
        line.reserveCapacity(256)
        line.append(isJSON ? "{\"time\":\"" : "")
        time.append(to: &line)
        if isJSON {
            line.append("\",\"event\":\"\(event)\"")
        } else {
            line.append(" ")
            line.append(contentsOf: application)
            line.append("[\(processID)] \(event)")
        }
        for (name, value) in fields {
            line.append(isJSON ? ",\"\(name)\":" : " \(name)=")
            switch value {
            case .word(let word): line.append(isJSON ? "\"\(word)\"" : word)
            case .number(let number): line.append(number)
            case .text(let text, let limit): line.appendQuoted(text, limit: limit)
            case .time(let time):
                if isJSON { line.append("\"") }
                time.append(to: &line)
                if isJSON { line.append("\"") }
            }
        }
        if isJSON {
            line.append(",\"app\":")
            line.append(contentsOf: application)
            line.append(",\"pid\":\(processID)}")
        }
        line.append("\n")
        return line
    }

    /// The number with at most 4 decimal places.
    private static func rounded(_ number: Double) -> String { "\((number * 10_000).rounded() / 10_000)" }

    private static func needsNoQuotes(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: String) {
        append(contentsOf: text.utf8)
    }

    /// Appends a text as a JSON string (RFC 8259, section 7), the quoting of both formats. The text is sanitized by
    /// ``SafeText``: it cannot imitate a line, or contain control sequences for the terminal that shows the log.
    ///
    /// - Parameter limit: the maximum number of bytes between the quotes, including escapes. A longer text is truncated
    ///   at a character and ends with an ellipsis.
    fileprivate mutating func appendQuoted(_ text: String, limit: Int) {
        let ellipsis = "…"
        append(UInt8(ascii: "\""))
        let start = count
        var cut = start
        for character in SafeText.singleLine(text, limit: limit) {
            for scalar in character.unicodeScalars {
                if scalar == "\"" || scalar == "\\" { append("\\") }
                append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                // Checked within the character: a single one can have megabytes of combining marks.
                if count - start > limit { break }
            }
            guard count - start <= limit else {
                removeSubrange(cut...)
                append(ellipsis)
                break
            }
            if count - start <= limit - ellipsis.utf8.count { cut = count }
        }
        append(UInt8(ascii: "\""))
    }
}
