import Foundation
import IndicatorCore

/// The activities of what programs have reported: one for the programs themselves, and its members.
///
/// Each report replaces what the one before has said of the same record.
struct ReportedWork {
    /// A record with an identifier. It outlasts its end, so that a report that is repeated changes nothing.
    private struct Record {
        var report: ProgramStatus
        var activity: ManagedActivity?
    }

    /// How many members are in progress at most.
    static var memberLimit: Int { 64 }
    /// How many records are kept. Those that have ended are forgotten beyond that.
    static var recordLimit: Int { 256 }

    /// The activity of the programs themselves. It may have ended.
    private(set) var root: ManagedActivity
    /// When it began. The clock does not step, unlike that of ``ManagedActivity/since``.
    private var began: ContinuousClock.Instant
    /// Its label while no report has one.
    private let label: String?
    private var rootReport: ProgramStatus?
    private var records: [String: Record] = [:]
    /// How many reports were about members beyond the limit.
    private(set) var omittedCount = 0

    init(_ activity: ManagedActivity, began: ContinuousClock.Instant = .now) {
        (root, self.began) = (activity, began)
        label = activity.label
    }

    /// Applies a report.
    ///
    /// - Returns: the programs' own work, if it has ended with an outcome by this report.
    mutating func apply(_ report: ProgramReport) -> FinishedActivity? {
        switch report {
        case .label(let text): (root.label, rootReport) = (text ?? label, nil)
        case .progress(let progress): (root.progress, rootReport) = (progress, nil)
        case .status(let status):
            if let id = status.id { apply(status, to: id) } else { return apply(status) }
        }
        return nil
    }

    private mutating func apply(_ status: ProgramStatus) -> FinishedActivity? {
        if status == rootReport { return nil }
        rootReport = status
        switch status.state {
        case .working, .blocked:
            if root.hasEnded { (root, began) = (ManagedActivity(status.title ?? label, besides: root), .now) }
            Self.show(status, on: root, label: label)
        case .clear:
            for id in records.keys { end(id, .unspecified) }
            records = [:]
            Self.show(status, on: root, label: label)
        case .idle, .done, .error:
            guard !root.hasEnded else { return nil }
            // What was done last is no name for a success that says what it is.
            let isNamed = status.state == .done && status.message != nil
            Self.show(status, on: root, label: isNamed ? label : root.label)
            let finished = finish(Self.outcome(of: status))
            return status.state == .idle ? nil : finished
        }
        return nil
    }

    private mutating func apply(_ status: ProgramStatus, to id: String) {
        if status == records[id]?.report { return }
        var activity = records[id]?.activity
        switch status.state {
        case .clear:
            for below in records.keys where below == id || below.hasPrefix("\(id)/") {
                end(below, .unspecified)
                records[below] = nil
            }
            return
        case .idle where activity == nil: break
        default:
            let label = String(id.split(separator: "/").last ?? "")
            if activity == nil {
                guard records.values.count(where: { $0.activity != nil }) < Self.memberLimit else {
                    omittedCount += 1
                    return
                }
                // Without the programs' own, it is an activity of the indicator.
                activity =
                    root.hasEnded
                    ? ManagedActivity(status.title ?? label, besides: root)
                    : ManagedActivity(status.title ?? label, in: root)
            }
            if let activity { Self.show(status, on: activity, label: status.isEnd ? activity.label : label) }
        }
        if status.isEnd {
            activity?.end(Self.outcome(of: status))
            activity = nil
        }
        if records.count >= Self.recordLimit { records = records.filter { $0.value.activity != nil } }
        records[id] = Record(report: status, activity: activity)
    }

    /// Ends everything.
    ///
    /// - Returns: the programs' own work, unless it had ended before.
    mutating func end(_ outcome: ActivityOutcome) -> FinishedActivity? {
        for id in records.keys { end(id, .unspecified) }
        records = [:]
        return root.hasEnded ? nil : finish(outcome)
    }

    private func finish(_ outcome: ActivityOutcome) -> FinishedActivity {
        let label = root.label ?? ""
        root.end(outcome)
        return FinishedActivity(label: label, outcome: outcome, duration: began.duration(to: .now))
    }

    private mutating func end(_ id: String, _ outcome: ActivityOutcome) {
        records[id]?.activity?.end(outcome)
        records[id]?.activity = nil
    }

    private static func show(_ status: ProgramStatus, on activity: ManagedActivity, label: String?) {
        let detail = status.state == .working ? status.message : nil
        let attention = status.state == .blocked ? attention(of: status) : nil
        var label = status.title ?? label
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

    private static func attention(of status: ProgramStatus) -> String {
        if let message = status.message, !SafeText.singleLine(message).isEmpty { return message }
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
        case .idle, .working, .blocked, .clear: .unspecified
        }
    }
}

extension ProgramStatus {
    /// Whether it ends the work of its record.
    fileprivate var isEnd: Bool { state != .working && state != .blocked }
}
