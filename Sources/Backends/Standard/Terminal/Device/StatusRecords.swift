import BackendConfiguration
import IndicatorCore
import Foundation

/// The indicator by the Program Status Protocol (OSC 7501): a record for all, and one below it for each activity.
///
/// Their identifiers are this process's own, so that what a program reports of itself stays.
struct StatusRecords: Sendable {
    /// How many activities that have ended are kept. With those in progress, it is less than the 64 records that each
    /// terminal has.
    static let endedLimit = 16

    /// The records to show, the one for all first. After the end of the work, only that is left: with its outcome, if
    /// that is a success or a failure.
    private(set) var all: [ProgramStatus] = []

    /// What stays when the indicator is not shown.
    var lasting: [ProgramStatus] { all.first?.isOpen == true ? [] : all }

    private let app: String
    private let id = "indicator.\(getpid())"
    private var ended: [ProgramStatus] = []
    /// The latest failure since the indicator was shown, or else the latest success.
    private var outcome: ProgramStatus?

    init(app: String) { self.app = app }

    /// Changes the records to what an update says.
    mutating func follow(_ update: IndicatorUpdate) {
        let snapshot = update.snapshot
        let wasVisible = all.first?.isOpen == true
        // What ended before the first record belongs to an earlier time.
        if wasVisible { update.finished.forEach { finish($0) } } else { (ended, outcome) = ([], nil) }
        if snapshot.isVisible {
            let children = snapshot.activities.map { details in
                var status = ProgramStatus(details.attention == nil ? .working : .blocked, id: "\(id)/\(details.id)")
                status.progress = Percentage(details.progress)?.value
                (status.title, status.message) = (details.label, details.attention ?? details.detail)
                return status
            }
            var whole = children.first { $0.state == .blocked } ?? ProgramStatus(.working)
            (whole.id, whole.app, whole.title) = (id, app, snapshot.label)
            whole.progress = Percentage(snapshot.progress)?.value
            all = [whole] + children + ended
        } else if wasVisible {
            // Not if the work goes on, because it was disabled or is being shut down.
            let hasEnded = snapshot.activityCount == 0 || snapshot.state == .delayingStart
            all = hasEnded ? [outcome].compactMap(\.self) : []
        }
    }

    /// Keeps how a listed activity has ended, and what that says of the whole. One without an outcome has no record.
    private mutating func finish(_ activity: FinishedActivity) {
        var status = ProgramStatus(.idle, id: "\(id)/\(activity.id)")
        status.title = activity.label
        switch activity.outcome {
        case .succeeded: status.state = .done
        case .failed(let text): (status.state, status.message) = (.error, text)
        case .cancelled: break
        case .unspecified: return
        }
        if all.contains(where: { $0.id == status.id }) { ended = (ended + [status]).suffix(Self.endedLimit) }
        if !activity.isMember, status.state == .error || status.state == .done && outcome?.state != .error {
            (status.id, status.app) = (id, app)
            outcome = status
        }
    }

    /// The reports that change the records of a terminal.
    static func reports(from shown: [ProgramStatus], to wanted: [ProgramStatus]) -> String {
        if shown == wanted { return "" }
        // When the work has ended, the record for all, with which those below it go.
        let isEnd = wanted.first?.isOpen != true
        let gone = shown.filter { status in isEnd ? status.id == shown[0].id : !wanted.contains { $0.id == status.id } }
        let changed = wanted.filter { isEnd || !shown.contains($0) }
        return (gone.map { ProgramStatus(.clear, id: $0.id) } + changed).map(\.sequence).joined()
    }
}

extension ProgramStatus {
    /// Writes the report to the process's terminal, as far as that accepts it now, and if it is known to show it.
    package func writeToTerminal() {
        let environment = ProcessInfo.processInfo.environment
        guard KnownTerminal.isOne(of: KnownTerminal.recognize(by: environment).status, in: environment) else { return }
        // Also from the background: `stty tostop` does not stop a process that has blocked the signal.
        withSignalsBlocked { _ = try? TerminalDevice.controlling?.write(Array(sequence.utf8)[...]) }
    }
}
