import DequeModule
import Foundation
import IndicatorCore

/// Lines that wait to be written, a limited number of bytes; beyond that the oldest are lost, and counted.
///
/// The oldest, because the latest lines say what is the case now. The count takes the place of those that are lost: in
/// front of what is left, after what was written before.
struct PendingLines: Sendable {
    struct Line: Sendable, Hashable {
        var bytes: [UInt8]
        var time: LogTimestamp
    }

    /// How many bytes may wait, all lines together.
    private let limit: Int
    private var lines: Deque<Line> = []
    private var byteCount = 0

    /// What was lost and not reported yet.
    private(set) var loss: LogLoss?

    init(limit: Int = 1 << 20) {
        self.limit = limit
    }

    /// How many lines wait, the one that reports a loss not counted.
    var count: Int { lines.count }

    /// Whether nothing waits to be written.
    var isEmpty: Bool { lines.isEmpty && loss == nil }

    /// The line to write next, once no loss is to be reported.
    var first: Line? { lines.first }

    mutating func append(_ line: Line) {
        lines.append(line)
        byteCount += line.bytes.count
        while byteCount > limit { loseFirst() }
    }

    @discardableResult
    mutating func removeFirst() -> Line? {
        let line = lines.popFirst()
        byteCount -= line?.bytes.count ?? 0
        return line
    }

    /// The loss was reported.
    mutating func clearLoss() {
        loss = nil
    }

    /// Gives up every line that waits: they are a loss to report, should there be another chance.
    mutating func loseAll() {
        while count > 0 { loseFirst() }
    }

    private mutating func loseFirst() {
        guard let line = removeFirst() else { return }
        loss = LogLoss(count: (loss?.count ?? 0) + 1, first: loss?.first ?? line.time, last: line.time)
    }
}

/// Decides which snapshots are worth a line: the indicator was shown, or hidden, or its label changed while it was
/// visible.
struct LogTransitions: Sendable {
    private struct Reported {
        var isVisible: Bool
        var since: Date?
        var label: String?
    }

    /// What the log says so far; `nil` when lines were lost, so that it may say anything.
    private var reported: Reported? = Reported(isVisible: false)

    /// What has happened since the snapshot before; `nil` when nothing that is logged.
    ///
    /// A snapshot that is as visible as the one before, but since another time, means that those between were dropped
    /// on the way. It is an event too: the log does not pretend that the indicator was up all the time.
    ///
    /// - Parameter mayReportLabel: whether a new label is an event now; if not, it is one of a later call.
    mutating func event(for snapshot: IndicatorSnapshot, mayReportLabel: Bool = true) -> LogRecord.Event? {
        let before = reported
        reported = Reported(isVisible: snapshot.isVisible, since: snapshot.since, label: snapshot.label)
        guard let before, before.isVisible == snapshot.isVisible, before.since == nil || before.since == snapshot.since
        else { return snapshot.isVisible ? .shown : .hidden }
        guard snapshot.isVisible, before.label != snapshot.label else { return nil }
        if mayReportLabel { return .label }
        reported?.label = before.label
        return nil
    }

    /// Whether the log does not have the label of the snapshot that was asked about last.
    func lacksLabel(of snapshot: IndicatorSnapshot) -> Bool {
        snapshot.isVisible && reported.map { $0.label != snapshot.label } ?? false
    }

    /// Lines were lost: the next snapshot is an event whatever it says, and the log ends at the truth again.
    mutating func forget() {
        reported = nil
    }
}
