import IndicatorCore
import Foundation

/// Formats the lines of a log.
///
/// A line has at most ``maximumLength`` bytes, with three texts of ``SafeText/limit`` characters. This is `PIPE_BUF`:
/// up to this size, writes to a pipe are atomic (pipe(7)), so every line can be one `write(2)`. Texts are JSON strings
/// (RFC 8259, section 7) in both formats. They are safe: none can imitate a line, or contain control sequences for the
/// terminal that shows the log.
struct LogLineFormatter: Sendable {
    /// The longest line in bytes, including its newline.
    static let maximumLength = 4096

    private let isJSON: Bool
    private let application: String

    init(format: LogFileBackend.Format, applicationName: String) {
        isJSON = format == .json
        let isWord =
            (1...64).contains(applicationName.utf8.count)
            && applicationName.utf8.allSatisfy { $0 < 0x80 && (isalnum(Int32($0)) != 0 || "._-".utf8.contains($0)) }
        application = isWord && !isJSON ? applicationName : QuotedText.quoted(SafeText.singleLine(applicationName))
    }

    /// The line of an event, including the newline.
    ///
    /// - Parameter finished: the activity of ``LogFileBackend/Event/finished``.
    func line(
        _ event: LogFileBackend.Event,
        at time: LogTimestamp,
        of snapshot: IndicatorSnapshot,
        finished: FinishedActivity? = nil,
        processID: Int32 = getpid()
    ) -> [UInt8] {
        var fields: [(name: String, value: String)] = []
        var label: String?
        if let finished {
            label = QuotedText.quoted(finished.label)
            fields = [
                ("outcome", word(finished.outcome.name)), ("seconds", Self.rounded(finished.duration / .seconds(1))),
            ]
            if let message = finished.outcome.message { fields.append(("message", QuotedText.quoted(message))) }
        } else {
            label = snapshot.label.map(QuotedText.quoted)
            fields = [
                ("state", word(snapshot.state.rawValue)), ("visible", "\(snapshot.isVisible)"),
                ("count", "\(snapshot.activityCount)"),
            ]
            if let progress = snapshot.progress { fields.append(("progress", Self.rounded(progress))) }
        }
        // The label is last in the text format, because its length varies.
        if let label {
            fields.insert(("label", label), at: !isJSON ? fields.count : finished == nil ? 3 : 0)
        }
        return line(event.rawValue, at: time, fields, processID)
    }

    /// The line that reports how many lines were lost, and the times of the first and the last of them.
    func line(lost: Int, since: LogTimestamp, until: LogTimestamp, processID: Int32 = getpid()) -> [UInt8] {
        line("lost", at: until, [("count", "\(lost)"), ("since", word(since.text))], processID)
    }

    private func line(
        _ event: String,
        at time: LogTimestamp,
        _ fields: [(name: String, value: String)],
        _ processID: Int32
    ) -> [UInt8] {
        let text =
            isJSON
            ? "{\"time\":\"\(time.text)\",\"event\":\"\(event)\""
                + fields.map { ",\"\($0.name)\":\($0.value)" }.joined()
                + ",\"app\":\(application),\"pid\":\(processID)}\n"
            : "\(time.text) \(application)[\(processID)] \(event)" + fields.map { " \($0.name)=\($0.value)" }.joined()
                + "\n"
        return Array(text.utf8)
    }

    private func word(_ word: String) -> String { isJSON ? "\"\(word)\"" : word }

    /// The number with at most 4 decimal places.
    private static func rounded(_ number: Double) -> String { "\((number * 10_000).rounded() / 10_000)" }
}
