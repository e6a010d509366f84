import Foundation
package import IndicatorCore

/// Tells which snapshots are worth a line: the indicator was shown, or hidden, or its label changed while it was
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
