import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
import IndicatorThreads

/// Lines that wait to be written, limited in bytes. Beyond the limit the oldest are dropped and counted.
///
/// The oldest, because the latest lines describe the current state. The report of the loss takes their place, before
/// the remaining lines.
struct PendingLines: Sendable {
    struct Line: Sendable, Hashable {
        var bytes: [UInt8]
        var time: LogTimestamp
    }

    /// The limit in bytes, all lines together.
    private let limit: Int
    private var lines = Fifo<Line>()
    private var byteCount = 0

    /// The loss that was not reported yet.
    private(set) var loss: LogLoss?

    init(limit: Int = 1 << 20) {
        self.limit = limit
    }

    /// The number of waiting lines, without the report of a loss.
    var count: Int { lines.count }

    /// Whether nothing is waiting.
    var isEmpty: Bool { lines.isEmpty && loss == nil }

    /// The line to write after a loss was reported.
    var first: Line? { lines.first }

    mutating func append(_ line: Line) {
        lines.append(line)
        byteCount += line.bytes.count
        while byteCount > limit { dropOldest() }
    }

    @discardableResult
    mutating func removeFirst() -> Line? {
        let line = lines.popFirst()
        byteCount -= line?.bytes.count ?? 0
        return line
    }

    /// Records that the loss was reported.
    mutating func clearLoss() {
        loss = nil
    }

    /// Drops every waiting line and counts it as lost.
    mutating func dropAll() {
        while count > 0 { dropOldest() }
    }

    private mutating func dropOldest() {
        guard let line = removeFirst() else { return }
        loss = LogLoss(count: (loss?.count ?? 0) + 1, first: loss?.first ?? line.time, last: line.time)
    }
}

/// Decides which snapshots get a line: the indicator was shown or hidden, or its label changed while it was visible.
struct LogTransitions: Sendable {
    private struct Reported {
        var isVisible: Bool
        var id: IndicatorSnapshot.VisibilityID?
        var label: String?
    }

    /// The state according to the log; `nil` if unknown because lines were lost.
    private var reported: Reported? = Reported(isVisible: false)

    /// The event since the previous snapshot; `nil` if there is nothing to log.
    ///
    /// If the visibility is the same as before but of another period, snapshots in between were dropped. This is an
    /// event too, so that the log does not suggest that nothing changed.
    ///
    /// - Parameter mayReportLabel: whether a new label is an event now; if not, a later call reports it.
    mutating func event(for snapshot: IndicatorSnapshot, mayReportLabel: Bool = true) -> LogRecord.Event? {
        let before = reported
        reported = Reported(isVisible: snapshot.isVisible, id: snapshot.visibilityID, label: snapshot.label)
        guard let before, before.isVisible == snapshot.isVisible, before.id == nil || before.id == snapshot.visibilityID
        else { return snapshot.isVisible ? .shown : .hidden }
        guard snapshot.isVisible, before.label != snapshot.label else { return nil }
        if mayReportLabel { return .label }
        reported?.label = before.label
        return nil
    }

    /// Whether the log does not have the label of this snapshot, the last one passed to ``event(for:mayReportLabel:)``.
    func lacksLabel(of snapshot: IndicatorSnapshot) -> Bool {
        snapshot.isVisible && reported.map { $0.label != snapshot.label } ?? false
    }

    /// Makes the next snapshot an event in any case, because lines were lost: the log then has the current state again.
    mutating func forget() {
        reported = nil
    }
}
