import Foundation
import IndicatorCore

/// Puts into plain lines what activities begin and end, for logs and screen readers.
///
/// An activity that lasts is reported when it has lasted as long as ``patience``, and when it has ended; one that
/// failed or that the settings ask for is reported at its end in any case. There is at most one line a second: what
/// comes meanwhile is put together into the next one, failures first.
struct ProgressReport: Sendable {
    /// How long an activity lasts before it is reported: the default start delay.
    static let patience: Duration = .seconds(1)
    /// How much time there is between two lines.
    static let interval: Duration = .seconds(1)
    /// How much time there is between two reports of progress to a screen reader.
    static let progressInterval: Duration = .seconds(10)
    /// How many reports a line has; it says how many more there are.
    private static let longestLine = 5

    private let settings: TerminalProgressSettings
    private let look: ProgressLines.Look
    /// The activities in progress that were reported.
    private var reported: Set<UInt64> = []
    private var pending: [(text: String, isFailure: Bool)] = []
    private var omittedCount = 0
    private var nextLine: Duration?
    private var nextProgress: Duration = .zero

    init(settings: TerminalProgressSettings, look: ProgressLines.Look) {
        self.settings = settings
        self.look = look
    }

    /// Takes in a snapshot, and returns the line to write now.
    ///
    /// - Parameters:
    ///   - finished: what has ended, of what the snapshot lists.
    ///   - date: the time by the wall clock.
    ///   - now: the time by the clock that lines are timed with.
    mutating func line(
        for snapshot: IndicatorSnapshot,
        finished: [FinishedActivity],
        date: Date,
        at now: Duration
    ) -> String? {
        for finished in finished where isReported(finished) { add(end(of: finished), finished.outcome.isFailure) }
        omittedCount += snapshot.omittedFinishedCount
        let patience = Self.patience / .seconds(1)
        for activity in snapshot.activities where date.timeIntervalSince(activity.since) >= patience {
            guard let label = activity.label, reported.insert(activity.id).inserted else { continue }
            add("\(look.text(label))\(settings.accessible ? " has started." : ": started")", false)
            nextProgress = max(nextProgress, now + Self.progressInterval)
        }
        reported.formIntersection(snapshot.activities.map(\.id))
        if settings.accessible, now >= nextProgress, let label = snapshot.label,
            let percent = Percentage(snapshot.progress)
        {
            nextProgress = now + Self.progressInterval
            add("\(look.text(label)) is \(percent.value) percent done.", false)
        }
        // What is left when the indicator is hidden is not kept for the next time that it is shown.
        if snapshot.isVisible, let nextLine, now < nextLine { return nil }
        return takeLine(at: now)
    }

    /// What has not been written yet.
    mutating func takeLine(at now: Duration) -> String? {
        guard !pending.isEmpty || omittedCount > 0 else { return nil }
        nextLine = now + Self.interval
        let sorted = pending.filter(\.isFailure) + pending.filter { !$0.isFailure }
        var texts = sorted.prefix(Self.longestLine).map(\.text)
        let more = sorted.count - texts.count + omittedCount
        if more > 0 { texts.append("and \(more) more\(settings.accessible ? "." : "")") }
        (pending, omittedCount) = ([], 0)
        return texts.joined(separator: settings.accessible ? " " : "; ") + "\n"
    }

    private mutating func add(_ text: String, _ isFailure: Bool) {
        if pending.count < 64 { pending.append((text, isFailure)) } else { omittedCount += 1 }
    }

    private func isReported(_ finished: FinishedActivity) -> Bool {
        finished.duration >= Self.patience || settings.finished.includes(finished.outcome)
    }

    private func end(of finished: FinishedActivity) -> String {
        let label = look.text(finished.label)
        let time = ProgressLines.time(finished.duration)
        if settings.accessible {
            return switch finished.outcome {
            case .failed(let message) where !message.isEmpty:
                "\(label) has failed after \(time): \(look.text(message))."
            case .failed: "\(label) has failed after \(time)."
            case .cancelled: "\(label) was cancelled after \(time)."
            case .unspecified, .succeeded: "\(label) is done after \(time)."
            }
        }
        let failed =
            look.usesColor ? LiveLine.Style.failure.sequence + "failed" + LiveLine.Style.plain.sequence : "failed"
        return switch finished.outcome {
        case .failed(let message) where !message.isEmpty: "\(label): \(failed): \(look.text(message)) (\(time))"
        case .failed: "\(label): \(failed) (\(time))"
        case .cancelled: "\(label): cancelled (\(time))"
        case .unspecified, .succeeded: "\(label): done (\(time))"
        }
    }
}

extension ActivityOutcome {
    /// Whether it did not do what it was to do.
    var isFailure: Bool {
        if case .failed = self { true } else { false }
    }
}
