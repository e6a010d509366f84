import IndicatorCore
import Foundation

/// The activities of what programs have reported: one for the programs themselves, and its members.
///
/// Each report replaces what the one before has said of the same record.
struct ReportedWork {
    /// How many members are in progress at most.
    static var memberLimit: Int { 64 }
    /// How many records of members are kept. Those that have ended are forgotten beyond that.
    static var recordLimit: Int { 256 }

    /// That of the programs themselves.
    private var root: ManagedActivity
    /// Its label while no report has one.
    private let label: String?
    /// Each outlasts its end, so that an end that is repeated changes nothing.
    private var members: [String: ManagedActivity] = [:]
    /// How many reports were about members beyond the limit.
    private(set) var omittedCount = 0

    init(_ activity: ManagedActivity) { (root, label) = (activity, activity.label) }

    /// Applies a report.
    mutating func apply(_ report: ProgramReport) {
        switch report {
        case .label(let text): root.label = Self.visible(text) ?? label
        case .progress(let progress): root.progress = progress
        case .status(let status) where status.state == .clear:
            takeMembers(below: status.id).forEach { $0.end(nil) }
            if status.id == nil { Self.show(status, on: root, label: label) }
        case .status(let status): apply(status)
        }
    }

    private mutating func apply(_ status: ProgramStatus) {
        let last = status.id.map { members[$0] } ?? root
        let ownLabel = status.id.map { String($0.split(separator: "/").last ?? "") } ?? label
        // What has ended does not end again, but a part may only say how it has ended.
        let mayBegin = status.isOpen || last == nil && status.state != .idle
        let current = last.flatMap { $0.hasEnded ? nil : $0 } ?? (mayBegin ? begin(status, label: ownLabel) : nil)
        guard let current else { return }
        // What was done last is no name for a success that says what it is.
        let keepsLabel = !status.isOpen && (status.state != .done || status.message == nil)
        Self.show(status, on: current, label: keepsLabel ? current.label : ownLabel)
        switch status.state {
        case .done: current.end(.succeeded)
        case .error: current.end(.failed(status.message ?? "it has reported an error"))
        case .idle: current.end(nil)
        case .working, .blocked, .clear: break
        }
    }

    /// Begins the activity of a record; `nil` if there is no room.
    private mutating func begin(_ status: ProgramStatus, label: String?) -> ManagedActivity? {
        let label = Self.visible(status.title) ?? label
        guard let id = status.id else {
            root = ManagedActivity(label, in: root.indicator)
            return root
        }
        guard members.values.count(where: { !$0.hasEnded }) < Self.memberLimit else {
            omittedCount += 1
            return nil
        }
        if members.count >= Self.recordLimit { members = members.filter { !$0.value.hasEnded } }
        // Without the programs' own, it is an activity of the indicator.
        let member = ManagedActivity(label, in: root.hasEnded ? root.indicator : root)
        members[id] = member
        return member
    }

    /// Ends everything.
    mutating func end(_ outcome: ActivityOutcome) { root.end(outcome, after: takeMembers(below: nil)) }

    /// Removes the records of a member and of those below it, or of all.
    private mutating func takeMembers(below id: String?) -> [ManagedActivity] {
        let taken = members.filter { key, _ in id.map { key == $0 || key.hasPrefix("\($0)/") } ?? true }
        for key in taken.keys { members[key] = nil }
        return Array(taken.values)
    }

    private static func show(_ status: ProgramStatus, on activity: ManagedActivity, label: String?) {
        let detail = status.state == .working ? status.message : nil
        let attention = status.state == .blocked ? attention(of: status) : nil
        var label = visible(status.title) ?? label
        // A success has no message of its own.
        if status.state == .done, let message = status.message { label = label.map { "\($0): \(message)" } ?? message }
        activity.update { details in
            details.progress = status.progress.map { Double($0) / 100 }
            // A text that is set is made safe, which takes longer than to compare it.
            if details.label != label { details.label = label }
            if details.detail != detail { details.detail = detail }
            if details.attention != attention { details.attention = attention }
        }
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
}
