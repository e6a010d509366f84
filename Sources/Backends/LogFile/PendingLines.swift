import Foundation
package import IndicatorCore

/// Lines that wait to be written, a limited number; beyond that the oldest are lost, and counted.
///
/// The oldest, because the latest lines say what is the case now. The count takes the place of those that are lost: in
/// front of what is left, after what was written before.
package struct PendingLines: Sendable {
    /// How much may wait.
    package struct Limits: Sendable, Hashable {
        /// How many lines.
        package var lines: Int
        /// How many bytes, all lines together.
        package var bytes: Int

        package init(lines: Int = 4096, bytes: Int = 1 << 20) {
            self.lines = lines
            self.bytes = bytes
        }
    }

    package struct Line: Sendable, Hashable {
        package var bytes: [UInt8]
        package var time: LogTimestamp

        package init(bytes: [UInt8], time: LogTimestamp) {
            self.bytes = bytes
            self.time = time
        }
    }

    private let limits: Limits
    private var lines: [Line?] = []
    private var head = 0
    private var byteCount = 0

    /// What was lost and not reported yet.
    package private(set) var loss: LogLoss?

    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// How many lines wait, the one that reports a loss not counted.
    package var count: Int { lines.count - head }

    /// Whether nothing waits to be written.
    package var isEmpty: Bool { count == 0 && loss == nil }

    /// The line to write next, once no loss is to be reported.
    package var first: Line? { head < lines.count ? lines[head] : nil }

    package mutating func append(_ line: Line) {
        lines.append(line)
        byteCount += line.bytes.count
        while count > limits.lines || byteCount > limits.bytes { loseFirst() }
    }

    package mutating func removeFirst() {
        guard let line = first else { return }
        byteCount -= line.bytes.count
        lines[head] = nil
        head += 1
        if head == lines.count || head >= 1024 {
            lines.removeFirst(head)
            head = 0
        }
    }

    /// The loss was reported.
    package mutating func clearLoss() {
        loss = nil
    }

    /// Gives up every line that waits: they are a loss to report, should there be another chance.
    package mutating func loseAll() {
        while count > 0 { loseFirst() }
    }

    private mutating func loseFirst() {
        guard let line = first else { return }
        removeFirst()
        loss = LogLoss(count: (loss?.count ?? 0) + 1, first: loss?.first ?? line.time, last: line.time)
    }
}

/// Decides which snapshots are worth a line: the indicator was shown, or hidden, or its label changed while it was
/// visible.
package struct LogTransitions: Sendable {
    private struct Reported {
        var isVisible: Bool
        var since: Date?
        var label: String?
    }

    /// What the log says so far; `nil` when lines were lost, so that it may say anything.
    private var reported: Reported? = Reported(isVisible: false)

    package init() {}

    /// What has happened since the snapshot before; `nil` when nothing that is logged.
    ///
    /// A snapshot that is as visible as the one before, but since another time, means that those between were dropped
    /// on the way. It is an event too: the log does not pretend that the indicator was up all the time.
    package mutating func event(for snapshot: IndicatorSnapshot) -> LogRecord.Event? {
        let before = reported
        reported = Reported(isVisible: snapshot.isVisible, since: snapshot.since, label: snapshot.label)
        guard let before, before.isVisible == snapshot.isVisible, before.since == nil || before.since == snapshot.since
        else { return snapshot.isVisible ? .shown : .hidden }
        return snapshot.isVisible && before.label != snapshot.label ? .label : nil
    }

    /// Lines were lost: the next snapshot is an event whatever it says, and the log ends at the truth again.
    package mutating func forget() {
        reported = nil
    }
}
