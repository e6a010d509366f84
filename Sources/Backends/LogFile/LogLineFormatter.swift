import IndicatorCore

/// Writes records as lines.
///
/// A line is at most ``maximumLength`` bytes, whatever the label: that is `PIPE_BUF`, up to which Linux writes a FIFO
/// all or nothing, even without blocking (pipe(7)). One line can then always be one `write(2)`.
package struct LogLineFormatter: Sendable {
    /// The longest line, its newline included.
    package static let maximumLength = 4096

    private static let maximumLabelLength = 3072
    private static let maximumApplicationLength = 512

    private let format: LogFileBackend.Format
    private let application: [UInt8]

    package init(format: LogFileBackend.Format, applicationName: String) {
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
    package func line(for record: LogRecord) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        switch format {
        case .json:
            line.append("{\"time\":\"")
            record.time.append(to: &line)
            line.append("\",\"event\":\"\(record.event.rawValue)\",\"state\":\"\(record.state.rawValue)\"")
            line.append(",\"visible\":\(record.state.isVisible),\"count\":\(record.activityCount)")
            if let label = record.label {
                line.append(",\"label\":")
                line.appendQuoted(label, limit: Self.maximumLabelLength)
            }
            if let progress = record.progress, progress.isFinite { line.append(",\"progress\":\(progress)") }
            line.append(",\"app\":")
            line.append(contentsOf: application)
            line.append(",\"pid\":\(record.processID)}\n")
        case .text:
            record.time.append(to: &line)
            line.append(" ")
            line.append(contentsOf: application)
            line.append("[\(record.processID)] \(record.event.rawValue) state=\(record.state.rawValue)")
            line.append(" visible=\(record.state.isVisible) count=\(record.activityCount)")
            if let progress = record.progress, progress.isFinite { line.append(" progress=\(progress)") }
            if let label = record.label {
                line.append(" label=")
                line.appendQuoted(label, limit: Self.maximumLabelLength)
            }
            line.append("\n")
        }
        return line
    }

    /// The line that stands where others were lost: how many, and the times of the last and the first of them.
    package func line(for loss: LogLoss, processID: Int32) -> [UInt8] {
        var line: [UInt8] = []
        switch format {
        case .json:
            line.append("{\"time\":\"")
            loss.last.append(to: &line)
            line.append("\",\"event\":\"lost\",\"count\":\(loss.count),\"since\":\"")
            loss.first.append(to: &line)
            line.append("\",\"app\":")
            line.append(contentsOf: application)
            line.append(",\"pid\":\(processID)}\n")
        case .text:
            loss.last.append(to: &line)
            line.append(" ")
            line.append(contentsOf: application)
            line.append("[\(processID)] lost count=\(loss.count) since=")
            loss.first.append(to: &line)
            line.append("\n")
        }
        return line
    }

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

    /// Appends a JSON string (RFC 8259, section 7), which is also how the text format quotes.
    ///
    /// Escaped is more than JSON asks for: whatever a terminal or an editor would take for the end of a line or for a
    /// command when the log is looked at: DEL, the C1 controls, the separators U+2028 and U+2029, and the controls that
    /// turn the direction of the text around.
    ///
    /// - Parameter limit: the most bytes between the quotes, escapes included. A longer text is cut between two
    ///   characters and ends in an ellipsis.
    fileprivate mutating func appendQuoted(_ text: String, limit: Int) {
        let ellipsis = "…"
        append(UInt8(ascii: "\""))
        let start = count
        var cut = start
        for character in text {
            for scalar in character.unicodeScalars {
                appendEscaped(scalar)
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

    private mutating func appendEscaped(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0x22: append("\\\"")
        case 0x5C: append("\\\\")
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0C: append("\\f")
        case 0x0D: append("\\r")
        case 0x00..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069:
            append("\\u")
            for shift in stride(from: 12, through: 0, by: -4) {
                append(Self.hexadecimalDigits[Int(scalar.value >> UInt32(shift)) & 0xF])
            }
        default: append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
    }

    private static var hexadecimalDigits: [UInt8] { Array("0123456789abcdef".utf8) }
}
