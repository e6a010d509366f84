import IndicatorCore
import Foundation

/// The activities of what programs have reported: one for the programs themselves, and its members.
///
/// Each report replaces what the one before has said of the same record.
struct ReportedWork {
    /// How many members are in progress at most. Beyond that many records, those that have ended are forgotten.
    static var memberLimit: Int { 64 }

    /// That of the programs themselves.
    private var root: ManagedActivity
    /// Its label while no report has one.
    private let label: String?
    /// Each outlasts its end, so that an end that is repeated changes nothing.
    private var members: [String: ManagedActivity] = [:]
    /// How many reports were about members beyond the limit.
    private(set) var omittedCount = 0

    init(_ activity: ManagedActivity) { (root, label) = (activity, activity.label) }

    /// Applies the lines of a datagram: reports of the protocol, and what sd_notify(3) assigns. All else is ignored.
    mutating func apply(_ datagram: [UInt8]) {
        for line in datagram.split(separator: UInt8(ascii: "\n")) {
            func text(after prefix: String) -> String? {
                guard line.starts(with: prefix.utf8) else { return nil }
                return String(validating: line.dropFirst(prefix.utf8.count), as: UTF8.self)
            }
            if let status = ProgramStatus(line) {
                apply(status)
            } else if let text = text(after: "STATUS=") {
                root.label = ActivityDetails.safe(text) ?? label
            } else if let text = text(after: "X_INDICATOR_PROGRESS="),
                text.isEmpty || (0...100).contains(Double(text) ?? -1)
            {
                root.progress = Double(text).map { $0 / 100 }
            }
        }
    }

    private mutating func apply(_ status: ProgramStatus) {
        if status.state == .clear { takeMembers(below: status.id).forEach { $0.end(nil) } }
        let message = ActivityDetails.safe(status.message)
        var (outcome, detail, attention): (ActivityOutcome?, String?, String?)
        switch (status.state, status.kind) {
        case (.working, _): detail = message
        case (.blocked, .permission): attention = message ?? "asks for permission"
        case (.blocked, .question): attention = message ?? "has a question"
        case (.blocked, .auth): attention = message ?? "asks for a login"
        case (.blocked, nil): attention = message ?? "waits for you"
        case (.done, _): outcome = .succeeded
        case (.error, _): outcome = .failed(message ?? "it has reported an error")
        case (.idle, _), (.clear, _): break
        }
        let last = status.id.map { members[$0] } ?? root
        let isEnd = !status.isOpen && status.state != .clear
        // What was done last is no name for a success that says what it is.
        let keepsLabel = isEnd && (status.state != .done || message == nil)
        let ownLabel = status.id.map { String($0.split(separator: "/").last ?? "") } ?? label
        var label = ActivityDetails.safe(status.title) ?? (keepsLabel ? last?.label : nil) ?? ownLabel
        // What has ended does not end again, but a part may only say how it has ended.
        let mayBegin = status.isOpen || last == nil && outcome != nil
        let current = last.flatMap { $0.hasEnded ? nil : $0 } ?? (mayBegin ? begin(status.id, label: label) : nil)
        guard let current else { return }
        // A success has no message of its own.
        if status.state == .done, let message { label = label.map { "\($0): \(message)" } ?? message }
        current.update { details in
            details.progress = status.progress.map { Double($0) / 100 }
            // A text that is set is made safe, which takes longer than to compare it.
            if details.label != label { details.label = label }
            if details.detail != detail { details.detail = detail }
            if details.attention != attention { details.attention = attention }
        }
        if isEnd { current.end(outcome) }
    }

    /// Begins the activity of a record; `nil` if there is no room.
    private mutating func begin(_ id: String?, label: String?) -> ManagedActivity? {
        guard let id else {
            root = ManagedActivity(label, in: root.indicator)
            return root
        }
        if members.count >= Self.memberLimit { members = members.filter { !$0.value.hasEnded } }
        guard members.count < Self.memberLimit else {
            omittedCount += 1
            return nil
        }
        // Without the programs' own, it is an activity of the indicator.
        let member = ManagedActivity(label, in: root.hasEnded ? root.indicator : root)
        members[id] = member
        return member
    }

    /// Ends everything.
    mutating func end(_ outcome: ActivityOutcome) { root.end(outcome, after: takeMembers(below: nil)) }

    /// Removes the records of a member and of those below it, or of all.
    private mutating func takeMembers(below id: String?) -> [ManagedActivity] {
        let taken = members.filter { key, _ in id.map { "\(key)/".hasPrefix("\($0)/") } ?? true }
        for key in taken.keys { members[key] = nil }
        return Array(taken.values)
    }
}
