import IndicatorCore

/// What a line of the log reports.
struct LogRecord: Sendable, Hashable {
    typealias Event = LogFileBackend.Event

    /// An activity that a line is about.
    enum Activity: Sendable, Hashable {
        case begun(label: String)
        case finished(FinishedActivity)
    }

    var time: LogTimestamp
    var event: Event
    var snapshot: IndicatorSnapshot
    /// What ``Event/begin``, ``Event/end`` and ``Event/finished`` are about.
    var activity: Activity?
    var processID: Int32
}

extension ActivityOutcome {
    /// What the log and the bus call it.
    var name: String {
        switch self {
        case .unspecified: "unspecified"
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    /// Why it failed, if that was said.
    var message: String? {
        if case .failed(let message) = self, !message.isEmpty { message } else { nil }
    }
}

/// Lines that were never written, because there was no space for them and then no room to keep them waiting.
struct LogLoss: Sendable, Hashable {
    /// How many lines.
    var count: Int
    /// The time of the first of them.
    var first: LogTimestamp
    /// The time of the last of them.
    var last: LogTimestamp
}

/// Writes records as lines.
///
/// A line is at most ``maximumLength`` bytes, whatever the label: that is `PIPE_BUF`, up to which Linux writes a FIFO
/// all or nothing, even without blocking (pipe(7)). One line can then always be one `write(2)`.
struct LogLineFormatter: Sendable {
    /// The longest line, its newline included.
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

    /// The line of an event, newline included.
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
        // Last in text, where it is what varies in length.
        if format == .text, let index = fields.firstIndex(where: { $0.name == "label" }) {
            fields.append(fields.remove(at: index))
        }
        return line(record.event.rawValue, at: record.time, fields, processID: record.processID)
    }

    /// The line in the place of others that were lost: how many, and the times of the last and the first of them.
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

    /// The number with at most 4 digits after the point.
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

    /// Appends a text as a JSON string (RFC 8259, section 7), which is also how the text format quotes: as
    /// ``DisplayText`` leaves it, so that nothing in it can pass for a line, or for a command when the log is looked
    /// at.
    ///
    /// - Parameter limit: the most bytes between the quotes, escapes included. A longer text is cut between two
    ///   characters and ends in an ellipsis.
    fileprivate mutating func appendQuoted(_ text: String, limit: Int) {
        let ellipsis = "…"
        append(UInt8(ascii: "\""))
        let start = count
        var cut = start
        for character in DisplayText.singleLine(text, limit: limit) {
            for scalar in character.unicodeScalars {
                if scalar == "\"" || scalar == "\\" { append("\\") }
                append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                // Within the character already: a single one can be megabytes of combining marks.
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
