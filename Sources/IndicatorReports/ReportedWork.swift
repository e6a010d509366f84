import DisplayText
import Foundation
import IndicatorCore

/// The activities of what programs have reported: one for the programs themselves, and its members.
///
/// Each report replaces what the one before has said of the same record.
struct ReportedWork {
    /// It outlasts its end, so that a report that is repeated changes nothing.
    private struct Record {
        var activity: ManagedActivity
        /// The last one; `nil` if something else was reported since.
        var report: ProgramStatus?
    }

    /// How many members are in progress at most.
    static var memberLimit: Int { 64 }
    /// How many records of members are kept. Those that have ended are forgotten beyond that.
    static var recordLimit: Int { 256 }

    /// That of the programs themselves.
    private var root: Record
    /// When it began. The clock does not step, unlike that of ``ManagedActivity/since``.
    private var began: ContinuousClock.Instant
    /// Its label while no report has one.
    private let label: String?
    private var members: [String: Record] = [:]
    /// How many reports were about members beyond the limit.
    private(set) var omittedCount = 0

    init(_ activity: ManagedActivity, began: ContinuousClock.Instant) {
        (root, label, self.began) = (Record(activity: activity), activity.label, began)
    }

    /// Applies a report.
    ///
    /// - Returns: the programs' own work, if it has ended by this report.
    mutating func apply(_ report: ProgramReport) -> FinishedActivity? {
        switch report {
        case .label(let text): (root.activity.label, root.report) = (Self.visible(text) ?? label, nil)
        case .progress(let progress): (root.activity.progress, root.report) = (progress, nil)
        case .status(let status): return apply(status)
        }
        return nil
    }

    private mutating func apply(_ status: ProgramStatus) -> FinishedActivity? {
        if status.state == .clear {
            takeMembers(below: status.id).forEach { $0.end() }
            if status.id == nil { show(status, on: root.activity, label: label) }
            return nil
        }
        let record = status.id.map { members[$0] } ?? root
        if status == record?.report { return nil }
        let ownLabel = status.id.map { String($0.split(separator: "/").last ?? "") } ?? label
        let current = record.flatMap { $0.activity.hasEnded ? nil : $0.activity }
        guard let activity = current ?? begin(status, label: ownLabel) else { return nil }
        // What was done last is no name for a success that says what it is.
        let keepsLabel = !status.isOpen && (status.state != .done || status.message == nil)
        show(status, on: activity, label: keepsLabel ? activity.label : ownLabel)
        if status.isOpen { return nil }
        let end = end(activity, Self.outcome(of: status))
        return status.id == nil ? end : nil
    }

    /// Begins the activity of a record; `nil` if there is nothing to show, or no room.
    private mutating func begin(_ status: ProgramStatus, label: String?) -> ManagedActivity? {
        let label = Self.visible(status.title) ?? label
        guard status.id != nil else {
            // What has ended does not end again.
            guard status.isOpen else { return nil }
            began = .now
            return ManagedActivity(label, in: root.activity.indicator)
        }
        // A part may only say how it has ended.
        if status.state == .idle { return nil }
        guard members.values.count(where: { !$0.activity.hasEnded }) < Self.memberLimit else {
            omittedCount += 1
            return nil
        }
        // Without the programs' own, it is an activity of the indicator.
        return ManagedActivity(label, in: root.activity.hasEnded ? root.activity.indicator : root.activity)
    }

    /// Ends everything.
    ///
    /// - Returns: the programs' own work, unless it had ended before.
    mutating func end(_ outcome: ActivityOutcome) -> FinishedActivity? {
        let hadEnded = root.activity.hasEnded
        let end = end(root.activity, outcome, after: takeMembers(below: nil))
        return hadEnded ? nil : end
    }

    private func end(
        _ activity: ManagedActivity,
        _ outcome: ActivityOutcome,
        after members: [ManagedActivity] = []
    ) -> FinishedActivity {
        let label = activity.label ?? ""
        activity.end(outcome, after: members)
        return FinishedActivity(label: label, outcome: outcome, duration: began.duration(to: .now))
    }

    /// Removes the records of a member and of those below it, or of all.
    private mutating func takeMembers(below id: String?) -> [ManagedActivity] {
        let taken = members.filter { key, _ in id.map { key == $0 || key.hasPrefix("\($0)/") } ?? true }
        for key in taken.keys { members[key] = nil }
        return taken.values.map(\.activity)
    }

    private mutating func show(_ status: ProgramStatus, on activity: ManagedActivity, label: String?) {
        let detail = status.state == .working ? status.message : nil
        let attention = status.state == .blocked ? Self.attention(of: status) : nil
        var label = Self.visible(status.title) ?? label
        // A success has no message of its own.
        if status.state == .done, let message = status.message { label = label.map { "\($0): \(message)" } ?? message }
        activity.update { details in
            details.progress = status.progress.map { Double($0) / 100 }
            // A text that is set is made safe, which takes longer than to compare it.
            if details.label != label { details.label = label }
            if details.detail != detail { details.detail = detail }
            if details.attention != attention { details.attention = attention }
        }
        let record = Record(activity: activity, report: status)
        guard let id = status.id else { return root = record }
        if members.count >= Self.recordLimit { members = members.filter { !$0.value.activity.hasEnded } }
        members[id] = record
    }

    /// A text; `nil` if nothing of it can be seen.
    private static func visible(_ text: String?) -> String? {
        guard let text, let first = text.utf8.first else { return nil }
        return (0x21...0x7E).contains(first) || !SafeText.singleLine(text).isEmpty ? text : nil
    }

    private static func attention(of status: ProgramStatus) -> String {
        if let message = visible(status.message) { return message }
        return switch status.kind {
        case .permission: "asks for permission"
        case .question: "has a question"
        case .auth: "asks for a login"
        case nil: "waits for you"
        }
    }

    private static func outcome(of status: ProgramStatus) -> ActivityOutcome {
        switch status.state {
        case .done: .succeeded
        case .error: .failed(status.message ?? "it has reported an error")
        // No surface notifies of it, as of what the user has cancelled.
        case .idle, .working, .blocked, .clear: .cancelled
        }
    }
}
