import BackendConfiguration
import IndicatorCore
import Foundation

/// Reports the beginnings and ends of activities as plain lines, for logs and screen readers.
///
/// An activity is reported when it has lasted the start delay, and when it ends; a failure also when it ends sooner,
/// and what it asks the user for, once. Every ten seconds, the progress is reported, whatever else is: that of groups,
/// or if there are none, of the first activity. There is at most one line a second while the indicator is visible:
/// reports in between are combined in the next one, this progress first, then failures and questions.
struct ProgressReport: Sendable {
    /// The shortest time between two lines.
    static let interval: Duration = .seconds(1)
    /// The shortest time between two reports of the progress.
    static let progressInterval: Duration = .seconds(10)
    /// The largest number of reports in a line; the others are counted.
    private static let longestLine = 5

    private enum Kind { case total, question, failure, end, beginning }

    private let settings: TerminalProgressSettings
    private let look: TextLook
    /// The activities in progress that were reported.
    private var reported: Set<UInt64> = []
    /// What these activities ask the user for, as reported.
    private var questions: [UInt64: String] = [:]
    private var pending: [(id: UInt64, text: String, kind: Kind)] = []
    private var omittedCount = 0
    private var nextLine: Duration = .zero
    private var nextProgress: Duration?

    init(settings: TerminalProgressSettings, look: TextLook) {
        self.settings = settings
        self.look = look
    }

    /// Processes a snapshot, and returns the line to write now, if any.
    ///
    /// - Parameters:
    ///   - finished: the finished activities to consider.
    ///   - omitted: how many more have ended.
    ///   - date: the wall-clock time.
    ///   - now: the time of the clock that schedules the lines.
    mutating func line(
        for snapshot: IndicatorSnapshot,
        finished: [FinishedActivity],
        omitted: Int = 0,
        date: Date,
        at now: Duration
    ) -> String? {
        let wanted = finished.filter {
            settings.finished != .none && ($0.duration >= snapshot.startDelay || $0.outcome.isFailure)
        }
        for finished in wanted {
            // Failures come first in a line, but none before its beginning.
            pending.removeAll { $0.id == finished.id && ($0.kind == .beginning || $0.kind == .total) }
            add(finished.id, end(of: finished), finished.outcome.isFailure ? .failure : .end)
        }
        // The outcomes of omitted activities are unknown: they are counted if any of the listed ones is wanted.
        if !wanted.isEmpty { omittedCount += omitted }
        for activity in snapshot.activities where activity.attention != questions[activity.id] {
            questions[activity.id] = activity.attention
            guard let attention = activity.attention, let label = activity.label else { continue }
            // The question stands for the beginning, too.
            reported.insert(activity.id)
            let asks = settings.accessible ? " asks: " : ": asks: "
            add(activity.id, look.shown(label) + asks + look.shown(attention), .question)
        }
        // The wall clock, if only that is known, differs a little from the clock that measures the start delay.
        let least = snapshot.startDelay / .seconds(1) - 0.01
        for activity in snapshot.activities where activity.elapsed(at: date) >= least {
            guard let label = activity.label, reported.insert(activity.id).inserted else { continue }
            add(activity.id, "\(look.shown(label))\(settings.accessible ? " has started." : ": started")", .beginning)
        }
        // Not at each snapshot: members of groups may displace an activity from the list for a while.
        if reported.count > 1024 { reported.formIntersection(snapshot.activities.map(\.id)) }
        if questions.count > 1024 { questions = questions.filter { id, _ in reported.contains(id) } }
        addTotals(of: snapshot.activities, date: date, at: now)
        // While it is hidden, the next snapshot may never come.
        return snapshot.isVisible && now < nextLine ? nil : takeLine(at: now)
    }

    private mutating func addTotals(of activities: [ActivityDetails], date: Date, at now: Duration) {
        guard let first = activities.first(where: { reported.contains($0.id) }) else { return nextProgress = nil }
        if let nextProgress, now < nextProgress { return }
        defer { nextProgress = now + Self.progressInterval }
        if nextProgress == nil { return }
        var groups = zip(activities, activities.dropFirst()).filter { $0.depth == 0 && $1.depth > 0 }.map(\.0)
        groups.removeAll { !reported.contains($0.id) }
        for activity in groups.isEmpty ? [first] : groups { add(activity.id, progress(of: activity, at: date), .total) }
    }

    /// Returns the pending reports as a line, and clears them.
    mutating func takeLine(at now: Duration) -> String? {
        guard !pending.isEmpty || omittedCount > 0 else { return nil }
        nextLine = now + Self.interval
        func rank(_ kind: Kind) -> Int { kind == .total ? 0 : kind == .failure || kind == .question ? 1 : 2 }
        let sorted = (0...2).flatMap { wanted in pending.filter { rank($0.kind) == wanted } }
        var texts = sorted.prefix(Self.longestLine).map(\.text)
        let more = sorted.count - texts.count + omittedCount
        if more > 0 { texts.append("and \(more) more\(settings.accessible ? "." : "")") }
        (pending, omittedCount) = ([], 0)
        return texts.joined(separator: settings.accessible ? " " : "; ") + "\n"
    }

    private mutating func add(_ id: UInt64, _ text: String, _ kind: Kind) {
        // Totals come first in a line, whatever else there is.
        if kind == .total || pending.count < 64 { pending.append((id, text, kind)) } else { omittedCount += 1 }
    }

    private func progress(of activity: ActivityDetails, at date: Date) -> String {
        let label = look.shown(activity.label ?? "")
        let left = activity.remaining.map { SnapshotFormat.time($0 / .seconds(1)) }
        let lasted = SnapshotFormat.time(activity.elapsed(at: date))
        guard let percentage = Percentage(activity.progress) else {
            return settings.accessible ? "\(label) has lasted \(lasted)." : "\(label): \(lasted)"
        }
        return settings.accessible
            ? "\(label) is \(percentage.value) percent done\(left.map { ", \($0) left" } ?? "")."
            : "\(label): \(percentage.text()), \(left.map { "\($0) left" } ?? lasted)"
    }

    private func end(of finished: FinishedActivity) -> String {
        let label = look.shown(finished.label)
        let message = look.shown(finished.listedMessage)
        let (word, sentence) =
            switch finished.outcome {
            case .failed: ("failed", "failed")
            case .cancelled: ("cancelled", "was cancelled")
            case .succeeded: ("done", "finished")
            case .unspecified: ("ended", "ended")
            }
        let reason = finished.outcome.isFailure && !message.isEmpty ? ": \(message)" : ""
        if settings.accessible { return "\(label) \(sentence) after \(look.time(finished.duration))\(reason)." }
        let shown = finished.outcome.isFailure ? look.styled(word, .failure) : word
        return "\(label): \(shown)\(reason) (\(look.summary(of: finished)))"
    }
}
